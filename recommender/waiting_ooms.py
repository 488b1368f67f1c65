"""OOM kills that wait to be taken in: of pods that are not known yet, and those from before the first round.

Events and pods come by two watches, and either may be ahead of the other; so a kill of an unknown pod is held for a few
rounds. What happened while no recommender ran shows in the pods when it starts.

Spec: beyond:B-5, case:12, recommender 13 (5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recommender.checkpoint import ContainerCheckpoint
from recommender.cluster_model import ClusterModel
from recommender.oom import OomOutcome, OomRecord
from recommender.samples import SampleColumns

ROUNDS_HELD: Final = 2

_UNKNOWN = frozenset({OomOutcome.UNKNOWN_POD, OomOutcome.UNKNOWN_CONTAINER})


@dataclass(frozen=True, slots=True)
class WaitingOom:
    """A kill whose pod or container was not known.

    Args:
        record: The kill.
        rounds: Rounds in which it was tried.
    """

    record: OomRecord
    rounds: int


@dataclass(frozen=True, slots=True)
class SettledOoms:
    """What became of kills in one round.

    Args:
        outcomes: Each kill that was taken in or given up, in order.
        waiting: Those that are tried again in the next round.
        needs: The needs of those that were recorded, in bytes.
    """

    outcomes: tuple[tuple[OomRecord, OomOutcome], ...]
    waiting: tuple[WaitingOom, ...]
    needs: SampleColumns


def settle(
    model: ClusterModel, waiting: Sequence[WaitingOom], fresh: Sequence[OomRecord], now: datetime, rounds_held: int
) -> SettledOoms:
    """Take in the kills that wait, then new ones.

    Args:
        model: Takes them in.
        waiting: What the round before left over.
        fresh: Kills noticed since.
        now: Creation time of aggregates that are made anew.
        rounds_held: Rounds in which a kill of an unknown pod is tried again; 0 to give up at once, as upstream does.
    """
    tried = [*waiting, *(WaitingOom(record, 0) for record in fresh)]
    taken = model.take_ooms([each.record for each in tried], now)
    outcomes: list[tuple[OomRecord, OomOutcome]] = []
    still: list[WaitingOom] = []
    for each, outcome in zip(tried, taken.outcomes, strict=True):
        if outcome in _UNKNOWN and each.rounds < rounds_held:
            still.append(WaitingOom(each.record, each.rounds + 1))
        else:
            outcomes.append((each.record, outcome))
    return SettledOoms(tuple(outcomes), tuple(still), taken.needs)


def missed_kills(
    model: ClusterModel, kills: Sequence[OomRecord], stored: Iterable[ContainerCheckpoint]
) -> tuple[WaitingOom, ...]:
    """Return the kills, out of those that show in pods at the start, that no recommender has taken in.

    Those are later than the last checkpoint of their container: what came before is in there, or in the window that is
    kept with it. Of a container without a checkpoint nothing tells what was taken in, so its kills are left out.

    Args:
        model: Its pods and VPAs are known.
        kills: The last kill of each container.
        stored: All checkpoints.
    """
    if not kills:
        return ()
    written = {(each.namespace, each.vpa_name, each.container_name): each.updated for each in stored}
    missed: list[WaitingOom] = []
    for kill in kills:
        pod = model.pods.get((kill.namespace, kill.pod))
        vpas = () if pod is None else pod.label_set.vpas
        times = [written.get((*tracked.key, kill.container)) for tracked in vpas]
        if times and all(time is not None and kill.at > time for time in times):
            missed.append(WaitingOom(kill, 0))
    return tuple(missed)
