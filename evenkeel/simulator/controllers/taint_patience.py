"""How long a pod may stay on a node whose taints drive pods away: pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.controllers.node_fit import Effect, tolerates


def driving_taints(taints: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the taints with the effect NoExecute."""
    return [taint for taint in taints if text(taint, "effect") == Effect.NO_EXECUTE]


def patience(taints: Sequence[JsonObject], tolerations: Sequence[JsonObject]) -> timedelta | None:
    """Return for how long a pod tolerates all of a node's taints.

    Of several tolerations that meet a taint the first one counts; of several taints the one that is tolerated for the
    shortest time.

    Args:
        taints: Taints with the effect NoExecute.
        tolerations: The pod's.

    Returns:
        None for ever, as without any taint; nothing where one of them is not tolerated at all.
    """
    limits: list[timedelta] = []
    for taint in taints:
        toleration = next((one for one in tolerations if tolerates(one, taint)), None)
        if toleration is None:
            return timedelta(0)
        seconds = toleration.get("tolerationSeconds")
        if isinstance(seconds, int):
            limits.append(timedelta(seconds=max(0, seconds)))
    return min(limits, default=None)
