"""Memory use to one peak per container and interval.

A container's first sample opens a window of one interval; later windows follow on without a gap in their grid. The
largest sample of a window stands in the histogram, dated at the window's end; a larger one takes its place. A window
that began with a use of zero is no exception, unless upstream's way is asked for, which keeps the zero for all of it.

Spec: recommender 2.2; beyond:B-4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.container_table import NO_AGGREGATE, ContainerTable
from recommender.instants import NEVER
from recommender.kernels.columns import readable
from recommender.kernels.intake import Peaks, Windows
from recommender.kernels.suite import Kernels
from recommender.rows import run_starts
from recommender.samples import SampleColumns, is_in_order, turns

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_LOOKS: Final = 8
"""How often what is not larger than the sample before is left out."""

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class PeakChanges:
    """What one turn asks of the histograms.

    Args:
        order: int64[n], sorts the changes of all turns of a batch.
        rows: int64[n], aggregates.
        peaks: int64[n], bytes.
        instants: int64[n], ends of the windows.
        taken: bool[n], whether the peak is taken away.
    """

    order: Integers
    rows: Integers
    peaks: Integers
    instants: Integers
    taken: Flags

    def placed(self, numbers: Integers) -> PeakChanges:
        """Return the changes in the order of a whole batch.

        Args:
            numbers: int64[turn], place of each sample of the turn in the batch.
        """
        return replace(self, order=numbers[self.order // 2] * 2 + self.order % 2)

    def select(self, chosen: Flags | Integers) -> PeakChanges:
        """Return the chosen changes, in the order in which they are chosen."""
        return PeakChanges(
            self.order[chosen], self.rows[chosen], self.peaks[chosen], self.instants[chosen], self.taken[chosen]
        )

    @classmethod
    def of(cls, parts: list[PeakChanges]) -> PeakChanges:
        """Return the changes of several turns, in the order of a whole batch."""
        if len(parts) == 1:
            return parts[0]
        whole = cls(
            np.concatenate([part.order for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.peaks for part in parts]),
            np.concatenate([part.instants for part in parts]),
            np.concatenate([part.taken for part in parts]),
        )
        is_in_order = bool((whole.order[1:] > whole.order[:-1]).all())
        return whole if is_in_order else whole.select(np.argsort(whole.order))


_TAKEN_THEN_ADDED = np.array([True, False])
_NO_ROWS = np.empty(0, dtype=np.int64)
_NO_CHANGES = PeakChanges(_NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS, np.empty(0, dtype=np.bool_))


def accepted_memory(containers: ContainerTable, samples: SampleColumns) -> Flags:
    """Say which usage samples may count: not negative, and none older than the container's last one.

    Within a batch that holds a container more than once, ``take_memory`` looks again.

    Returns:
        bool[n].
    """
    latest = containers.last_memory[containers.places(samples.containers)]
    return (samples.amounts >= 0) & (samples.instants >= latest)


def take_memory(
    containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns, split: Sequence[Integers] | None
) -> Flags:
    """Take in samples of memory use, in this order.

    Args:
        containers: Their windows and peaks move on.
        aggregates: Takes the peaks; every container whose sample counts must have its aggregate.
        samples: Bytes in use.
        split: The turns of the batch.

    Returns:
        bool[n], which samples were taken in.
    """
    accepted, changes = accept_memory(containers, aggregates, samples, split)
    aggregates.change_peaks(*changes)
    return accepted


def accept_memory(
    containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns, split: Sequence[Integers] | None
) -> tuple[Flags, Peaks]:
    """Find the samples of memory use that count, and what they ask of the histograms.

    Args:
        containers: Their windows and peaks move on.
        aggregates: Tells their intervals; every container whose sample counts must have its aggregate.
        samples: Bytes in use, in the order in which they are taken in.
        split: The turns of the batch.

    Returns:
        bool[n], which samples count, and the peaks that are left to be added and taken.
    """
    if aggregates.kernels is not None:
        return _accept_by(aggregates.kernels, containers, aggregates, samples)
    if split is not None and _are_all_newer(containers, samples):
        notable = _notable(containers, aggregates, samples)
        if len(notable) < len(samples):
            few = samples.select(notable)
            _, peaks = accept_memory(containers, aggregates, few, turns(containers, few.containers))
            is_last = np.append(run_starts(samples.containers)[1:], True)
            containers.last_memory[samples.containers[is_last]] = samples.instants[is_last]
            return np.ones(len(samples), dtype=np.bool_), peaks
    if split is None:
        accepted = accepted_memory(containers, samples)
        return accepted, in_order([move_windows(containers, aggregates, samples.those(accepted))])
    accepted = np.zeros(len(samples), dtype=np.bool_)
    changes: list[PeakChanges] = []
    for positions in split:
        turn = samples.select(positions)
        counts = accepted_memory(containers, turn)
        accepted[positions] = counts
        moved = move_windows(containers, aggregates, turn.those(counts))
        if len(moved.rows):
            changes.append(moved.placed(positions[counts]))
    return accepted, in_order(changes)


def _accept_by(
    kernels: Kernels, containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns
) -> tuple[Flags, Peaks]:
    """Find what counts, and what it asks of the histograms, as kernels do."""
    count = len(samples)
    windows = Windows(
        containers.last_memory,
        containers.window_end,
        containers.peak,
        containers.memory_peak,
        readable(containers.aggregate),
        readable(aggregates.interval),
        not aggregates.settings.zero_peaks_give_way,
    )
    accepted = np.empty(count, dtype=np.bool_)
    rows, peaks, ends = (np.empty(2 * count, dtype=np.int64) for _ in range(3))
    taken = np.empty(2 * count, dtype=np.bool_)
    changed = kernels.move_windows(samples.readable(), windows, accepted, Peaks(rows, peaks, ends, taken))
    return accepted, Peaks(rows[:changed], peaks[:changed], ends[:changed], taken[:changed])


def _are_all_newer(containers: ContainerTable, samples: SampleColumns) -> bool:
    """Say whether a batch is in order, and none of its samples is negative or older than the container's last."""
    is_sound = (samples.amounts >= 0).all() and accepted_memory(containers, samples).all()
    return bool(is_sound) and is_in_order(containers, samples, run_starts(samples.containers))


def _notable(containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns) -> Integers:
    """Return the samples that may change a window or a peak, some others among them.

    Those are the first of each window, and those larger than all before in the window. Looking only at the one before
    and leaving out what is not larger, again and again, comes near that, and most is left out at once.

    Args:
        containers: The table.
        aggregates: Tells each container's interval.
        samples: A batch in order, without a sample that does not count.

    Returns:
        Their positions, ascending.
    """
    starts = run_starts(samples.containers)
    _mark_windows(containers, aggregates, samples, starts)
    rises = starts.copy()
    rises[1:] |= samples.amounts[1:] > samples.amounts[:-1]
    notable = np.flatnonzero(rises)
    for _ in range(_LOOKS):
        amounts = samples.amounts[notable]
        # The first sample of a window is never left out, so every other one stands behind one of its own window.
        rises = starts[notable]
        rises[1:] |= amounts[1:] > amounts[:-1]
        if rises.all():
            break
        notable = notable[rises]
    return notable


def _mark_windows(
    containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns, starts: Flags
) -> None:
    """Mark the first sample of each window, too, where the samples of each container begin.

    Args:
        containers: The table.
        aggregates: Tells each container's interval.
        samples: A batch in order.
        starts: bool[n], its ``run_starts``; changed.
    """
    first = np.flatnonzero(starts)
    rows = samples.containers[first]
    window = containers.window_end[rows]
    sizes = np.diff(first, append=len(starts))
    if (samples.instants[first + sizes - 1] < window).all():
        return
    begin = np.where(window == NEVER, samples.instants[first], window)
    interval = np.repeat(aggregates.interval[containers.aggregate[rows]], sizes)
    windows = (samples.instants - np.repeat(begin, sizes)) // interval
    starts[1:] |= windows[1:] != windows[:-1]


def move_windows(
    containers: ContainerTable, aggregates: AggregateTable, turn: SampleColumns, *, is_oom: bool = False
) -> PeakChanges:
    """Move the windows and peaks of containers of which each occurs once.

    Args:
        containers: Changed.
        aggregates: Tells each container's interval.
        turn: Samples that count.
        is_oom: Whether the samples show the need of killed containers, not use.

    Returns:
        What is left to be brought to the histograms, in the order of the turn.
    """
    instants, here = turn.instants, containers.places(turn.containers)
    # A kill that is told of late moves this back in upstream, so that older kills and samples get in after it.
    stays = is_oom and aggregates.settings.oom_needs_count
    containers.last_memory[here] = np.maximum(containers.last_memory[here], instants) if stays else instants
    window, old_peak = containers.window_end[here], containers.peak[here]
    opens = instants >= window
    # Few samples do either, and only these are looked at any further.
    places = np.flatnonzero(opens | (turn.amounts > old_peak))
    if not aggregates.settings.zero_peaks_give_way:
        places = places[opens[places] | (old_peak[places] != 0)]
    if not len(places):
        return _NO_CHANGES
    counted, opens = turn.select(places), opens[places]
    window, old_peak = window[places], old_peak[places]
    if opens.any():
        window[opens] = _open_windows(containers, aggregates, counted.select(opens), window[opens])
    containers.peak[counted.containers] = counted.amounts
    if not is_oom:
        containers.memory_peak[counted.containers] = counted.amounts
    changes = PeakChanges(
        _in_pairs(places * 2, places * 2 + 1),
        np.repeat(containers.aggregate[counted.containers], 2),
        _in_pairs(old_peak, counted.amounts),
        np.repeat(window, 2),
        np.tile(_TAKEN_THEN_ADDED, len(places)),
    )
    # A window that opens has no peak yet that could be taken away.
    return changes.select(_in_pairs(~opens, np.ones_like(opens))) if opens.any() else changes


def _in_pairs(first: NDArray[_Scalar], second: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return the elements of two columns by turns."""
    return np.stack((first, second), axis=1).ravel()


def _open_windows(
    containers: ContainerTable, aggregates: AggregateTable, turn: SampleColumns, window: Integers
) -> Integers:
    """Start the window that each sample falls into and return its end."""
    rows = turn.containers
    interval = aggregates.interval[containers.aggregate[rows]]
    begin = np.where(window == NEVER, turn.instants, window)
    end: Integers = begin + (turn.instants - begin) // interval * interval + interval
    containers.window_end[rows] = end
    containers.peak[rows] = 0
    containers.memory_peak[rows] = 0
    return end


def carry_peaks(containers: ContainerTable, aggregates: AggregateTable, rows: Integers, heirs: Integers) -> None:
    """Move the peaks that stand for the last windows of containers to the aggregates that these are about to feed.

    A larger peak later takes them away there, which must not hit what others have shown.

    Args:
        containers: The table; their aggregates are still the former ones.
        aggregates: Changed.
        rows: int64[n], containers.
        heirs: int64[n], the new aggregates.

    Spec: beyond:B-3.
    """
    former = containers.aggregate[rows]
    moved = (former != NO_AGGREGATE) & (containers.window_end[rows] != NEVER)
    rows, former, heirs = rows[moved], former[moved], heirs[moved]
    aggregates.change_peaks(
        np.concatenate((former, heirs)),
        np.tile(containers.peak[rows], 2),
        np.tile(containers.window_end[rows], 2),
        np.arange(2 * len(rows)) < len(rows),
    )


def in_order(changes: list[PeakChanges]) -> Peaks:
    """Return the changes of all turns in the order of their samples."""
    whole = PeakChanges.of(changes) if changes else _NO_CHANGES
    return Peaks(whole.rows, whole.peaks, whole.instants, whole.taken)
