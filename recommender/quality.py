"""How far recommendations are from what containers use.

Spec: recommender 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoscaling.resources import CPU
from autoscaling.vpa import UpdateMode
from recommender.aggregation import UPDATE_MODES, AggregateTable
from recommender.container_table import ContainerTable
from recommender.doubling_buckets import DoublingBuckets, Tally
from recommender.kernels.columns import readable
from recommender.kernels.comparing import LANES, Groups, Samples, Tallies
from recommender.kernels.suite import Kernels
from recommender.rising_buckets import RisingBuckets
from recommender.rows import Occurrences, chunks
from recommender.samples import SampleColumns

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

_LARGEST_SIZE_CLASS = 20
_MILLICORES_PER_CORE = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """How samples stand to their targets.

    Args:
        below: By how much use stays below targets, where it does, in cores or bytes.
        above: By how much it reaches or exceeds them, where it does.
        relative: Use minus target, by the target.
    """

    below: Tally
    above: Tally
    relative: Tally


class Standing(NamedTuple):
    """What samples are told apart by.

    Args:
        mode: The update mode that the VPA of their containers states.
        is_recommended: Whether their containers have a recommendation.
    """

    mode: UpdateMode | None
    is_recommended: bool


STANDINGS: Final = tuple(Standing(mode, has) for mode in UPDATE_MODES for has in (False, True))
"""What numbers of standings stand for."""

NO_STANDING: Final = -1
"""Stands for samples of containers that no VPA scales: they do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class UsageQuality:
    """Samples of one resource beside the last uncapped targets of their containers.

    Args:
        resource: ``cpu`` or ``memory``.
        is_oom: Whether the samples show the need of killed containers, not use.
        feeding: Aggregate of each sample.
        amounts: int64[n], millicores or bytes.
        unit: Amounts in one unit of the targets.
        standings: int8[rows], places in ``STANDINGS`` of all aggregates, or ``NO_STANDING``.
        targets: float64[rows], cores or bytes, of all aggregates; 0 where nothing is recommended.
        kernels: What compares samples and counts what comes of it; numpy does where there are none.
    """

    resource: str
    is_oom: bool
    feeding: Occurrences
    amounts: Integers
    unit: float
    standings: NDArray[np.int8]
    targets: Floats
    kernels: Kernels | None = None

    def by_standing(self) -> Iterator[tuple[Standing, UsageQuality]]:
        """Yield the samples of each standing that occurs."""
        found = self.standings.take(self.feeding.distinct)
        codes = np.unique(found).tolist() if len(found) and found.min() != found.max() else found[:1].tolist()
        for code in codes:
            if code != NO_STANDING:
                yield STANDINGS[code], self if len(codes) == 1 else self._of(self.standings == code)

    def _of(self, chosen: Flags) -> UsageQuality:
        """Return the samples of some aggregates.

        Args:
            chosen: bool[rows], whether an aggregate's samples are.
        """
        samples = chosen.take(self.feeding.rows)
        feeding = Occurrences.of(self.feeding.rows.compress(samples))
        return replace(self, feeding=feeding, amounts=self.amounts.compress(samples))

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.amounts)

    def pairs(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the samples, piece by piece, and the target that each of them stands beside.

        Yields:
            float64[piece] each, cores or bytes.
        """
        for piece in chunks(len(self)):
            usage = self.amounts[piece].astype(np.float64)
            if self.unit != 1.0:
                usage /= self.unit
            yield usage, self.targets.take(self.feeding.rows[piece])

    def comparisons(self, absolute: DoublingBuckets, relative: RisingBuckets) -> Iterator[Comparison]:
        """Yield, piece by piece, how samples stand to their targets, which must all be above 0.

        Args:
            absolute: Buckets of what is between samples and targets.
            relative: Buckets of the same by the target.
        """
        if self.kernels is None:
            for usage, targets in self.pairs():
                differences = np.subtract(usage, targets, out=usage)
                below, above = absolute.by_sign(differences)
                yield Comparison(below, above, relative.tally(np.divide(differences, targets, out=targets)))
            return
        for piece in chunks(len(self)):
            amounts, rows = readable(self.amounts[piece]), readable(self.feeding.rows[piece])
            samples = Samples(amounts, rows, readable(self.targets), self.unit)
            by_sign, ratios = Tallies.empty(absolute.buckets, 2 * LANES), Tallies.empty(relative.buckets)
            self.kernels.compare(samples, absolute.buckets, by_sign, relative.buckets, ratios)
            below, above = absolute.tallies_of(by_sign.counts, by_sign.sums)
            yield Comparison(below, above, relative.tally_of(ratios.counts, ratios.sums))

    def stood_beside(self, buckets: DoublingBuckets) -> Tally:
        """Count the targets, each as often as samples stand beside it.

        Args:
            buckets: Those of the targets.
        """
        rows, times = self.feeding.distinct, self.feeding.counts
        if self.kernels is None:
            return buckets.repeated(self.targets.take(rows), times)
        found = Tallies.empty(buckets.buckets)
        self.kernels.count_repeated(
            readable(self.targets), Groups(readable(rows), readable(times)), buckets.buckets, found
        )
        return buckets.tally_of(found.counts, found.sums)


@dataclass(frozen=True, slots=True)
class Members:
    """Aggregates in the order in which their VPAs are recommended for; those of several VPAs occur once for each.

    Args:
        rows: int64[n], aggregate rows.
        vpas: int64[n], place of each one's VPA in ``Groups.vpas``.
    """

    rows: Integers
    vpas: Integers


@dataclass(frozen=True, slots=True)
class TargetChanges:
    """New uncapped targets of one resource relative to those before, of aggregates that had one.

    Args:
        resource: ``cpu`` or ``memory``.
        vpas: int64[n], place of each aggregate's VPA in ``Groups.vpas``.
        relative: float64[n], new by old, minus one.
    """

    resource: str
    vpas: Integers
    relative: Floats


def replace_targets(resource: str, last: Integers, members: Members, new: Integers, controlled: Flags) -> TargetChanges:
    """Keep new targets in the place of the last ones and compare them.

    An aggregate of several VPAs takes the target of each in turn, as upstream's does.

    Args:
        resource: ``cpu`` or ``memory``.
        last: int64[rows], last targets in millicores or bytes, 0 for none; changed.
        members: The aggregates.
        new: int64[n], targets likewise.
        controlled: bool[n], of which a change counts; the others have no target of this resource.
    """
    order = np.argsort(members.rows, kind="stable")
    again = np.flatnonzero(np.diff(members.rows[order]) == 0)
    old = last[members.rows]
    old[order[again + 1]] = new[order[again]]
    last[members.rows] = new
    kept = controlled & (old > 0)
    return TargetChanges(resource, members.vpas[kept], new[kept] / old[kept] - 1.0)


def size_class(pods: int) -> int:
    """Return the binary logarithm of a number of pods, rounded down: 0 for none, at most 20."""
    return min(max(pods.bit_length() - 1, 0), _LARGEST_SIZE_CLASS)


def usage_quality(
    containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns, resource: str, *, is_oom: bool
) -> UsageQuality:
    """Put samples beside the recommendations of their containers.

    Args:
        containers: The containers.
        aggregates: Their aggregates, with the last uncapped targets.
        samples: Samples that were taken in, in millicores or bytes.
        resource: ``cpu`` or ``memory``.
        is_oom: Whether the samples are the needs of killed containers.
    """
    unit, last = (_MILLICORES_PER_CORE, aggregates.last_cpu) if resource == CPU else (1.0, aggregates.last_memory)
    used = slice(aggregates.rows.end)
    targets, counts = last[used], aggregates.is_under_vpa[used] & aggregates.is_scaled[used]
    return UsageQuality(
        resource,
        is_oom,
        samples.feeding or containers.feeding(samples.containers),
        samples.amounts,
        unit,
        np.where(counts, aggregates.update_mode[used] * 2 + (targets > 0), NO_STANDING).astype(np.int8, copy=False),
        targets / unit,
        aggregates.kernels,
    )
