"""Which kinds of cases make up which lab, and in what proportion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from e2e.parity.admission.cappings import CAPPING
from e2e.parity.admission.quantities import QUANTITIES
from e2e.parity.admission.reviews import REVIEW
from e2e.parity.kinds import Kind
from e2e.parity.recommender.external import EXTERNAL
from e2e.parity.recommender.histograms import HISTOGRAM
from e2e.parity.recommender.rounds import ROUNDS
from e2e.parity.updater.judgements import JUDGEMENT
from e2e.parity.updater.unboosts import UNBOOST
from e2e.parity.updater.updates import UPDATE


@dataclass(frozen=True, slots=True)
class Lab:
    """Cases about one process.

    Args:
        shares: Of the lab's cases, how many in a hundred are of each kind.
        cases: How many there are unless told otherwise.
    """

    shares: Mapping[str, int]
    cases: int

    def counts(self, cases: int) -> dict[str, int]:
        """Return how many cases of each kind make up so many; the last kind takes what rounding leaves."""
        counts = {kind: cases * share // 100 for kind, share in self.shares.items()}
        counts[next(reversed(counts))] += cases - sum(counts.values())
        return counts


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {kind.name: kind for kind in (HISTOGRAM, ROUNDS, EXTERNAL, REVIEW, CAPPING, QUANTITIES, JUDGEMENT, UNBOOST, UPDATE)}
)

LABS: Final[Mapping[str, Lab]] = MappingProxyType(
    {
        "recommender": Lab({HISTOGRAM.name: 45, EXTERNAL.name: 5, ROUNDS.name: 50}, 20_000),
        "updater": Lab({JUDGEMENT.name: 35, UNBOOST.name: 15, UPDATE.name: 50}, 5_000),
        "admission": Lab({CAPPING.name: 45, QUANTITIES.name: 10, REVIEW.name: 45}, 10_000),
    }
)


def counts_of(only: str | None, cases: int | None) -> dict[str, int]:
    """Return how many cases of each kind to run.

    Args:
        only: One lab; None for all.
        cases: How many in all, shared out as by default; None for the default.
    """
    chosen = {only: LABS[only]} if only else dict(LABS)
    usual = sum(lab.cases for lab in chosen.values())
    counts: dict[str, int] = {}
    left = usual if cases is None else cases
    for name, lab in chosen.items():
        is_last = name == next(reversed(chosen))
        count = left if is_last else (lab.cases if cases is None else cases * lab.cases // usual)
        counts |= lab.counts(count)
        left -= count
    return counts
