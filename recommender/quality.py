"""How far recommendations are from what containers use.

Spec: recommender 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoscaling.resources import CPU
from autoscaling.vpa import UpdateMode
from recommender.aggregation import UPDATE_MODES, AggregateTable
from recommender.container_table import ContainerTable
from recommender.doubling_buckets import DoublingBuckets, Tally
from recommender.kernels.columns import readable
from recommender.kernels.comparing import LANES, Samples, Tallies
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


@dataclass(frozen=True, slots=True, eq=False)
class UsageQuality:
    """Samples of one resource beside the last uncapped targets of their containers.

    Only containers count that a VPA scales.

    Args:
        resource: ``cpu`` or ``memory``.
        is_oom: Whether the samples show the need of killed containers, not use.
        feeding: Aggregate of each sample.
        amounts: int64[n], millicores or bytes.
        unit: Amounts in one unit of the targets.
        modes: int8[rows], codes of the update modes of all aggregates, as places in ``UPDATE_MODES``.
        targets: float64[rows], cores or bytes, of all aggregates; 0 where nothing is recommended.
        kernels: What compares samples and counts what comes of it; numpy does where there are none.
    """

    resource: str
    is_oom: bool
    feeding: Occurrences
    amounts: Integers
    unit: float
    modes: NDArray[np.int8]
    targets: Floats
    kernels: Kernels | None = None

    def of_aggregates(self, chosen: Flags) -> UsageQuality:
        """Return the samples of some aggregates; the same object where these are all.

        Args:
            chosen: bool[rows], whether an aggregate's samples are.
        """
        some = chosen.take(self.feeding.distinct)
        if some.all():
            return self
        if not some.any():
            return replace(self, feeding=Occurrences.of(self.feeding.rows[:0]), amounts=self.amounts[:0])
        samples = chosen.take(self.feeding.rows)
        feeding = Occurrences.of(self.feeding.rows.compress(samples))
        return replace(self, feeding=feeding, amounts=self.amounts.compress(samples))

    def by_mode(self) -> Iterator[tuple[UpdateMode | None, UsageQuality]]:
        """Yield the samples of each update mode that occurs."""
        modes = self.modes.take(self.feeding.distinct)
        # There are few modes: looking for each takes a third of counting all.
        codes = [code for code in range(len(UPDATE_MODES)) if (modes == code).any()]
        for code in codes:
            yield UPDATE_MODES[code], self if len(codes) == 1 else self.of_aggregates(self.modes == code)

    def recommended(self) -> UsageQuality:
        """Return the samples of containers that have a recommendation."""
        return self.of_aggregates(self.targets > 0)

    def missing(self) -> UsageQuality:
        """Return the samples of containers without one."""
        return self.of_aggregates(self.targets == 0)

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
    everyone = UsageQuality(
        resource,
        is_oom,
        samples.feeding or containers.feeding(samples.containers),
        samples.amounts,
        unit,
        aggregates.update_mode[used],
        last[used] / unit,
        aggregates.kernels,
    )
    return everyone.of_aggregates(aggregates.is_under_vpa[used] & aggregates.is_scaled[used])
