"""One fetch as columns, and how CPU samples are taken in.

Spec: recommender 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.container_table import ContainerTable
from recommender.instants import NEVER
from recommender.kernels.columns import readable
from recommender.kernels.intake import Samples
from recommender.kernels.suite import Kernels
from recommender.rows import Occurrences, ranks, run_starts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MISSING: Final = -(2**63)
"""Amount of a resource of which a fetch says nothing; like every negative amount it is no sample."""

_SMALL: Final = 2**16
"""Numbers below are small."""


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """Samples of one resource, in the order in which they are taken in.

    Args:
        containers: int64[n], container row of each sample; a container may occur more than once.
        instants: int64[n], nanoseconds since the epoch.
        amounts: int64[n], millicores or bytes.
        feeding: Aggregate of each sample, if that has been looked up; no container occurs twice then.
    """

    containers: Integers
    instants: Integers
    amounts: Integers
    feeding: Occurrences | None = None

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.containers)

    def readable(self) -> Samples:
        """Return them as kernels read them."""
        return Samples(readable(self.containers), readable(self.instants), readable(self.amounts))

    def select(self, chosen: Flags | Integers) -> SampleColumns:
        """Return the chosen samples, in order."""
        return SampleColumns(self.containers[chosen], self.instants[chosen], self.amounts[chosen])

    def those(self, flags: Flags) -> SampleColumns:
        """Return the samples whose flag is set, in order; the same object where all are.

        Args:
            flags: bool[n].
        """
        return self if flags.all() else self.select(flags)

    def as_usage(self, *, is_cpu: bool) -> UsageColumns:
        """Return the samples as a fetch that says nothing of the other resource."""
        nothing = np.full(len(self), MISSING, dtype=np.int64)
        cpu, memory = (self.amounts, nothing) if is_cpu else (nothing, self.amounts)
        return UsageColumns(self.containers, self.instants, cpu, memory)


@dataclass(frozen=True, slots=True)
class UsageColumns:
    """One fetch: a CPU and a memory sample of each container.

    Args:
        containers: int64[n], container row.
        instants: int64[n], nanoseconds since the epoch.
        cpu: int64[n], millicores, or ``MISSING``.
        memory: int64[n], bytes, or ``MISSING``.
        are_distinct: Whether it is known that no container occurs twice; else that is looked up.
        feeding: Aggregate of each container, if that has been looked up; no container occurs twice then.
    """

    containers: Integers
    instants: Integers
    cpu: Integers
    memory: Integers
    are_distinct: bool = False
    feeding: Occurrences | None = None

    def cpu_samples(self) -> SampleColumns:
        """Return the CPU samples."""
        return SampleColumns(self.containers, self.instants, self.cpu, self.feeding)

    def memory_samples(self) -> SampleColumns:
        """Return the memory samples."""
        return SampleColumns(self.containers, self.instants, self.memory, self.feeding)

    def with_feeding(self, containers: ContainerTable) -> UsageColumns:
        """Return the fetch with the aggregates that its containers feed.

        Args:
            containers: Of which each has its aggregate.
        """
        return replace(self, feeding=containers.feeding(self.containers))

    def only(self, cpu: Flags, memory: Flags) -> UsageColumns:
        """Return the fetch without the samples whose flag is not set.

        Args:
            cpu: bool[n].
            memory: bool[n].
        """
        return replace(self, cpu=np.where(cpu, self.cpu, MISSING), memory=np.where(memory, self.memory, MISSING))


@dataclass(frozen=True, slots=True)
class UsageOutcome:
    """Which samples of a fetch were taken in.

    Args:
        cpu: bool[n].
        memory: bool[n].
        usage: The fetch.
    """

    cpu: Flags
    memory: Flags
    usage: UsageColumns

    def cpu_samples(self) -> SampleColumns:
        """Return the CPU samples that were taken in."""
        return self.usage.cpu_samples().those(self.cpu)

    def memory_samples(self) -> SampleColumns:
        """Return the memory samples that were taken in."""
        return self.usage.memory_samples().those(self.memory)


class Turns(Sequence[Integers]):
    """Turns of a batch in which every container occurs at most once; they are found when they are first asked for.

    Args:
        containers: The table.
        rows: int64[n], containers of the batch.
    """

    def __init__(self, containers: ContainerTable, rows: Integers) -> None:
        self._containers = containers
        self._rows = rows

    @cached_property
    def _turns(self) -> list[Integers]:
        starts = run_starts(self._rows)
        stand_together = self._containers.are_distinct(self._rows[starts])
        rank = _ranks_in_runs(starts) if stand_together else ranks(self._rows)
        sizes = np.bincount(rank)
        # Small numbers are sorted several times as fast.
        order = np.argsort(rank.astype(np.uint16) if len(sizes) <= _SMALL else rank, kind="stable")
        return np.split(order, np.cumsum(sizes)[:-1])

    def __len__(self) -> int:
        """Number of turns."""
        return len(self._turns)

    @overload
    def __getitem__(self, place: int) -> Integers: ...
    @overload
    def __getitem__(self, place: slice) -> list[Integers]: ...
    def __getitem__(self, place: int | slice) -> Integers | list[Integers]:
        """Return positions of one turn's samples, ascending."""
        return self._turns[place]


def turns(containers: ContainerTable, rows: Integers) -> Turns | None:
    """Cut a batch into turns in which every container occurs at most once.

    Args:
        containers: The table.
        rows: int64[n], containers of the batch.

    Returns:
        The turns; None where one takes all.
    """
    return None if containers.are_distinct(rows) else Turns(containers, rows)


def _ranks_in_runs(starts: Flags) -> Integers:
    """Return for each element how many stand before it in its run, int64[n]."""
    places = np.arange(len(starts))
    first = np.flatnonzero(starts)
    return places - np.repeat(first, np.diff(first, append=len(starts)))


def accept_cpu(
    containers: ContainerTable, samples: SampleColumns, split: Sequence[Integers] | None, kernels: Kernels | None
) -> Flags:
    """Find the CPU samples that count: not negative, and each later than the container's last one.

    Args:
        containers: Their last CPU instants move on.
        samples: The batch.
        split: Its turns.
        kernels: What looks through the batch; numpy does where there are none.

    Returns:
        bool[n].
    """
    if kernels is not None:
        accepted = np.empty(len(samples), dtype=np.bool_)
        kernels.accept_cpu(samples.readable(), containers.last_cpu, accepted)
        return accepted
    accepted = _accepted_cpu(containers, samples, split)
    counted = samples.those(accepted)
    if split is None:
        # Each is later than its container's last one, and stands alone: nothing to compare.
        containers.last_cpu[containers.places(counted.containers)] = counted.instants
    else:
        np.maximum.at(containers.last_cpu, counted.containers, counted.instants)
    return accepted


def _accepted_cpu(containers: ContainerTable, samples: SampleColumns, split: Sequence[Integers] | None) -> Flags:
    """Return which CPU samples count, bool[n]."""
    usable = samples.amounts >= 0
    latest = containers.last_cpu[containers.places(samples.containers)]
    if split is not None:
        starts = run_starts(samples.containers)
        if usable.all() and is_in_order(containers, samples, starts):
            before = np.where(starts[1:], NEVER, samples.instants[:-1])
            latest = np.append(latest[:1], np.maximum(latest[1:], before))
        else:
            latest = np.maximum(latest, _latest_before(samples, usable, split))
    usable &= samples.instants > latest
    return usable


def is_in_order(containers: ContainerTable, samples: SampleColumns, starts: Flags) -> bool:
    """Say whether the samples of each container stand together and in the order of time, as those of history do.

    Args:
        containers: The table.
        samples: The batch.
        starts: Its ``run_starts``.
    """
    ascends = starts[1:] | (samples.instants[1:] >= samples.instants[:-1])
    return bool(ascends.all()) and containers.are_distinct(samples.containers[starts])


def _latest_before(samples: SampleColumns, usable: Flags, split: Sequence[Integers]) -> Integers:
    """Return for each sample the latest usable instant among the earlier samples of its container in the batch."""
    before = np.full(len(samples), NEVER, dtype=np.int64)
    previous = np.empty(0, dtype=np.int64)
    for turn in split:
        # A turn's containers are among the turn before; both are brought into the order of their rows.
        turn_order = turn[np.argsort(samples.containers[turn])]
        if len(previous):
            earlier = previous[np.isin(samples.containers[previous], samples.containers[turn_order])]
            taken = np.where(usable[earlier], samples.instants[earlier], NEVER)
            before[turn_order] = np.maximum(before[earlier], taken)
        previous = turn_order
    return before


def take_cpu(containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns) -> None:
    """Take in accepted CPU samples.

    Args:
        containers: The table.
        aggregates: Takes the samples; every container must have its aggregate.
        samples: Samples that ``accept_cpu`` let pass.
    """
    aggregates.add_cpu_of(samples.feeding or containers.feeding(samples.containers), samples.amounts, samples.instants)


def count_fetches(
    containers: ContainerTable, aggregates: AggregateTable, usage: UsageColumns, memory_taken: Flags
) -> None:
    """Count what told of memory but not of CPU among the CPU samples, without a use.

    How long and how dense a history is goes by its CPU samples alone. A history of memory only would otherwise never
    be trusted, and be thrown away as empty.

    Args:
        containers: Their last CPU instants move on.
        aggregates: Count the fetches.
        usage: A fetch whose CPU samples were taken in.
        memory_taken: bool[n], which of its memory samples were.

    Spec: recommender 3.4, 4.2, 13 (14).
    """
    if usage.cpu.min(initial=0) >= 0:
        return
    alone = memory_taken & (usage.cpu == MISSING)
    if not alone.any():
        return
    alone &= usage.instants > containers.last_cpu.take(usage.containers)
    rows, first = np.unique(usage.containers[alone], return_index=True)
    instants = usage.instants[alone][first]
    containers.last_cpu[rows] = instants
    aggregates.count_samples(Occurrences.of(containers.aggregate[rows]), instants)
