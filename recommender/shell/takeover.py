"""Stored history of VPAs that come under this recommender while it runs (spec: beyond:B-1, case:18)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import structlog

from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpointing import load_checkpoints
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.vanishing_targets import late_checkpoints, newly_served

log = structlog.get_logger()


def take_over(
    model: ClusterModel, stored: Iterable[ContainerCheckpoint], before: Collection[NamespacedName], now: datetime
) -> None:
    """Load what another recommender has stored of VPAs that are new to a model.

    Args:
        model: Its new VPAs take the history.
        stored: All checkpoints.
        before: VPAs that are not new.
        now: The time of the round.
    """
    fresh = newly_served(model, before)
    if not fresh:
        return
    taken = late_checkpoints(fresh, stored)
    failures = load_checkpoints(model, taken, now)
    model.strategies.take_up(model.groups(), taken)
    for failure in failures:
        log.warning("checkpoint not loaded", object=str(failure.checkpoint), error=str(failure.error))
    if taken:
        log.info("history taken over", checkpoints=len(taken) - len(failures), vpas=len(fresh))
