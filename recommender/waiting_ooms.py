"""OOM kills of pods that are not known yet: held for a few rounds, and taken in when the pod shows up.

Events and pods come by two watches, and either may be ahead of the other.

Spec: beyond:B-5, case:12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

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
