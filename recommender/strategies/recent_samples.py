"""A percentile of the samples of a sliding window of time, each of which counts once.

A row keeps its samples as they are while the window has no more of them than there is room for. From then on the
largest of each cell of time stands for all that ended in it, and so for the busiest of several pods.

Spec: quality Q-12, Q-15, Q-16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import CHUNK, grown, run_starts
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Forms, packed, unpacked
from recommender.strategies.steps import Samples, Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Moments = NDArray[np.uint32]
Flags = NDArray[np.bool_]

_FIRST_WIDTH: Final = 16
_LATEST_SECOND: Final = 2.0**32 - 1.0
_TINY: Final = 1e-9
"""Share of a sample by which a rank may be off before it is rounded up: what is lost in a product of floats."""

_FORMS: Final[Forms] = {"seconds": np.uint32, "amounts": np.float64, "is_merged": np.uint8}


@dataclass(frozen=True, slots=True)
class Window:
    """Which samples count.

    Args:
        seconds: Length of the window; a sample as old as this is outside.
        cell_seconds: Length of a cell.
        room: Samples that a row has room for, a power of two; at least two more than there are cells in a window.
    """

    seconds: int
    cell_seconds: int
    room: int


class RecentSamples:
    """The percentile of each row: of m samples the one of rank ⌈share · m⌉.

    Args:
        window: Which samples count.
        share: 0.95 for the 95th percentile.
        rows: How many rows there are at first.
    """

    def __init__(self, window: Window, share: float, rows: int) -> None:
        self._window = window
        self._share = share
        self._seconds: Moments = np.zeros((0, _FIRST_WIDTH), dtype=np.uint32)
        # Minus infinity where there is no sample, so that a look for the percentile need not tell places apart.
        self._amounts: Floats = np.zeros((0, _FIRST_WIDTH))
        self._head: Integers = np.zeros(0, dtype=np.int64)
        self._count: Integers = np.zeros(0, dtype=np.int64)
        self._is_merged: Flags = np.zeros(0, dtype=np.bool_)
        # The percentile as it was found last, and how many samples are above it and equal to it now.
        self._found: Floats = np.zeros(0)
        self._above: Integers = np.zeros(0, dtype=np.int64)
        self._equal: Integers = np.zeros(0, dtype=np.int64)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._seconds, self._amounts = grown(self._seconds, rows, 0), grown(self._amounts, rows, -np.inf)
        self._head, self._count = grown(self._head, rows, 0), grown(self._count, rows, 0)
        self._above, self._equal = grown(self._above, rows, 0), grown(self._equal, rows, 0)
        self._found, self._is_merged = grown(self._found, rows, 0), grown(self._is_merged, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for column in (self._head, self._count, self._above, self._equal):
            column[rows] = 0
        self._found[rows], self._is_merged[rows] = 0.0, False
        self._amounts[rows] = -np.inf

    def take(self, step: Step) -> None:
        """Take in samples; what comes late counts as if it came with the last one before."""
        self._expire(step.rows, step.seconds)
        sizes = np.diff(step.first, append=len(step.samples.rows))
        # To make room may take to cells, and those have one amount for all samples of a step.
        self._make_room(step.rows, sizes)
        is_merged = self._is_merged[step.rows]
        self._append(step.samples.those(np.flatnonzero(np.repeat(~is_merged, sizes))))
        if is_merged.any():
            self._merge_in(step.rows[is_merged], step.seconds[is_merged], step.largest[is_merged])

    def _append(self, samples: Samples) -> None:
        """Put samples at the end of their rows, where there is room for them; rows ascend."""
        rows = samples.rows
        first = np.flatnonzero(run_starts(rows))
        sizes = np.diff(first, append=len(rows))
        numbers = np.arange(len(rows)) - np.repeat(first, sizes)
        places = self._place(rows, self._count[rows] + numbers)
        last = np.where(self._count[rows] > 0, self._seconds[rows, self._last_place(rows)], 0)
        self._seconds[rows, places], self._amounts[rows, places] = (
            np.maximum(_moments(samples.seconds), last),
            samples.amounts,
        )
        np.add.at(self._above, rows, samples.amounts > self._found[rows])
        np.add.at(self._equal, rows, samples.amounts == self._found[rows])
        self._count[rows[first]] += sizes

    def _merge_in(self, rows: Integers, seconds: Floats, amounts: Floats) -> None:
        """Let the cell of a time have at least an amount; each row occurs once."""
        places = self._last_place(rows)
        cells = seconds // self._window.cell_seconds
        is_same = (self._count[rows] > 0) & (cells <= self._seconds[rows, places] // self._window.cell_seconds)
        same, places = rows[is_same], places[is_same]
        before = self._amounts[same, places]
        after = np.maximum(before, amounts[is_same])
        self._uncount(same, before)
        self._above[same] += after > self._found[same]
        self._equal[same] += after == self._found[same]
        self._amounts[same, places] = after
        # A cell is as old as its last sample.
        self._seconds[same, places] = np.maximum(self._seconds[same, places], _moments(seconds[is_same]))
        new = ~is_same
        self._append(Samples(rows[new], seconds[new], np.zeros(int(new.sum())), amounts[new]))

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return the percentile of each row's window that ends at its moment, float64[rows], NaN where it is empty."""
        self._expire(np.arange(len(self._count)), moments_seconds)
        most_above = self._count - self._rank(self._count)
        is_found = (self._above <= most_above) & (most_above < self._above + self._equal)
        lost = np.flatnonzero(~is_found & (self._count > 0))
        at_once = max(1, CHUNK // self._amounts.shape[1])
        for begin in range(0, len(lost), at_once):
            self._find(lost[begin : begin + at_once])
        return np.where(self._count > 0, self._found, np.nan)

    def _rank(self, counts: Integers) -> Integers:
        """Return the rank of the percentile among so many samples, from 1."""
        found: Floats = np.maximum(np.ceil(self._share * counts - _TINY), 1.0)
        return found.astype(np.int64)

    def _find(self, rows: Integers) -> None:
        """Look for the percentile among all samples of some rows that have any."""
        counts, in_order = self._count[rows], np.sort(self._amounts[rows], axis=1)
        found = in_order[np.arange(len(rows)), in_order.shape[1] - counts + self._rank(counts) - 1]
        self._found[rows] = found
        self._above[rows] = np.count_nonzero(in_order > found[:, np.newaxis], axis=1)
        self._equal[rows] = np.count_nonzero(in_order == found[:, np.newaxis], axis=1)

    def _expire(self, rows: Integers, seconds: Floats) -> None:
        """Leave out what is too old by then."""
        oldest = seconds - self._window.seconds
        while len(rows):
            is_old = (self._count[rows] > 0) & (self._seconds[rows, self._head[rows]] <= oldest)
            rows, oldest = rows[is_old], oldest[is_old]
            places = self._head[rows]
            self._uncount(rows, self._amounts[rows, places])
            self._amounts[rows, places] = -np.inf
            self._head[rows] = (self._head[rows] + 1) % self._amounts.shape[1]
            self._count[rows] -= 1

    def _uncount(self, rows: Integers, amounts: Floats) -> None:
        """Count an amount less for each row; each occurs once."""
        self._above[rows] -= amounts > self._found[rows]
        self._equal[rows] -= amounts == self._found[rows]

    def _place(self, rows: Integers, numbers: Integers) -> Integers:
        """Return where samples are, counted from the oldest."""
        found: Integers = (self._head[rows] + numbers) % self._amounts.shape[1]
        return found

    def _last_place(self, rows: Integers) -> Integers:
        return self._place(rows, self._count[rows] - 1)

    def _make_room(self, rows: Integers, sizes: Integers) -> None:
        """Let each row have room for so many more samples, or for one where it has cells."""
        while True:
            needed = self._count[rows] + np.where(self._is_merged[rows], 1, sizes)
            short = rows[needed > self._amounts.shape[1]]
            if not len(short):
                return
            if self._amounts.shape[1] < self._window.room:
                self._widen()
            else:
                at_once = max(1, CHUNK // self._amounts.shape[1])
                for begin in range(0, len(short), at_once):
                    self._merge(short[begin : begin + at_once])

    def _widen(self) -> None:
        """Have room for twice as many samples."""
        width = self._amounts.shape[1]
        places = (self._head[:, np.newaxis] + np.arange(width)) % width
        seconds = np.zeros((len(places), 2 * width), dtype=np.uint32)
        amounts = np.full((len(places), 2 * width), -np.inf)
        seconds[:, :width] = np.take_along_axis(self._seconds, places, axis=1)
        amounts[:, :width] = np.take_along_axis(self._amounts, places, axis=1)
        self._seconds, self._amounts = seconds, amounts
        self._head[:] = 0

    def _merge(self, rows: Integers) -> None:
        """Go over from samples to the largest of each cell."""
        width, counts = self._amounts.shape[1], self._count[rows]
        places = (self._head[rows, np.newaxis] + np.arange(width)) % width
        is_kept = np.arange(width) < counts[:, np.newaxis]
        seconds = np.take_along_axis(self._seconds[rows], places, axis=1)
        amounts = np.take_along_axis(self._amounts[rows], places, axis=1)
        cells = seconds // np.uint32(self._window.cell_seconds)
        is_first = is_kept.copy()
        is_first[:, 1:] &= cells[:, 1:] != cells[:, :-1]
        cell_counts = np.count_nonzero(is_first, axis=1)
        # The samples of all rows in one line, and of each cell the first one's place in it.
        first = np.flatnonzero(is_first[is_kept])
        owners = np.repeat(np.arange(len(rows)), cell_counts)
        numbers = np.arange(len(owners)) - np.repeat(np.cumsum(cell_counts) - cell_counts, cell_counts)
        self._amounts[rows] = -np.inf
        self._amounts[rows[owners], numbers] = np.maximum.reduceat(amounts[is_kept], first)
        self._seconds[rows[owners], numbers] = np.maximum.reduceat(seconds[is_kept], first)
        self._head[rows], self._count[rows], self._is_merged[rows] = 0, cell_counts, True
        self._find(rows[cell_counts > 0])

    def save(self, row: int) -> JsonObject:
        """Return all samples of a row."""
        places = self._place(np.array([row]), np.arange(self._count[row]))
        is_merged = np.array([self._is_merged[row]], dtype=np.uint8)
        seconds, amounts = self._seconds[row, places], self._amounts[row, places]
        return packed({"seconds": np.diff(seconds, prepend=np.uint32(0)), "amounts": amounts, "is_merged": is_merged})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, _FORMS)
        amounts, count = found["amounts"].astype(np.float64), len(found["amounts"])
        seconds = np.cumsum(found["seconds"].astype(np.int64))
        if count != len(seconds) or count > self._window.room or len(found["is_merged"]) != 1:
            raise ValueError("saved state of a row: a window has too many samples, or other numbers of them")
        if not np.isfinite(amounts).all() or (seconds > _LATEST_SECOND).any():
            raise ValueError("saved state of a row: a window has impossible samples")
        while self._amounts.shape[1] < count:
            self._widen()
        self._seconds[row, :count], self._amounts[row, :count] = seconds, amounts
        self._head[row], self._count[row], self._is_merged[row] = 0, count, bool(found["is_merged"][0])
        if count:
            self._find(np.array([row]))


def _moments(seconds: Floats) -> Moments:
    """Return whole seconds as they are kept."""
    return np.clip(seconds, 0.0, _LATEST_SECOND).astype(np.uint32)
