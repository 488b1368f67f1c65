"""What is remembered of each container of each pod, as arrays.

Spec: recommender 2.1, 2.2.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.instants import NEVER
from recommender.kernels.columns import readable
from recommender.rows import Occurrences, RowPool, doubled, grown

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_AGGREGATE: Final = -1
"""Stands for the aggregate of a container whose aggregate was collected: the next sample makes a new one."""

NO_CONTAINER: Final = -2
"""Stands there in rows that are not in use."""


class ContainerTable:
    """State of all containers; row r of every array belongs to container r. Owned by one task.

    Attributes:
        rows: Which rows are in use.
        aggregate: int64[rows], row of the aggregate that takes the samples, or ``NO_AGGREGATE``; changed by ``feed``.
        last_cpu: int64[rows], instant of the last CPU sample taken in, ``NEVER`` before.
        last_memory: int64[rows], instant of the last memory sample taken in, ``NEVER`` before.
        window_end: int64[rows], end of the running memory window, ``NEVER`` before the first sample.
        peak: int64[rows], bytes, what stands for the window in the histogram: its largest use, or the need that an
            OOM kill showed.
        memory_peak: int64[rows], bytes, the last peak of the window that was use.
        memory_request: int64[rows], bytes.
        is_held: bool[rows], whether the aggregate is kept although it was collected (recommender 13, item 13).
    """

    def __init__(self, capacity: int = 64) -> None:
        self.rows = RowPool()
        self._aggregate: Integers = np.full(capacity, NO_CONTAINER, dtype=np.int64)
        self.aggregate: Integers = readable(self._aggregate)
        self.last_cpu: Integers = np.zeros(capacity, dtype=np.int64)
        self.last_memory: Integers = np.zeros(capacity, dtype=np.int64)
        self.window_end: Integers = np.full(capacity, NEVER, dtype=np.int64)
        self.peak: Integers = np.zeros(capacity, dtype=np.int64)
        self.memory_peak: Integers = np.zeros(capacity, dtype=np.int64)
        self.memory_request: Integers = np.zeros(capacity, dtype=np.int64)
        self.is_held: Flags = np.zeros(capacity, dtype=np.bool_)
        self._marks: Integers = np.zeros(capacity, dtype=np.int64)
        # Most fetches are about the same containers as the one before.
        self._found_distinct: Integers = np.empty(0, dtype=np.int64)
        self._found_places: slice | Integers = self._found_distinct
        self._last_feeding = Occurrences.of(self._found_distinct)
        # What the columns say, as long as nothing has changed in them.
        self._is_feeding_the_last = True
        self._is_any_bare: bool | None = False

    def create(self, aggregate: int) -> int:
        """Return the row of a container that has seen nothing yet.

        Args:
            aggregate: Row of the aggregate that takes its samples.
        """
        row = self.rows.take()
        if row >= len(self.aggregate):
            self._grow(row + 1)
        self.feed(row, aggregate)
        self.last_cpu[row] = self.last_memory[row] = self.window_end[row] = NEVER
        self.peak[row] = self.memory_peak[row] = self.memory_request[row] = 0
        self.is_held[row] = False
        return row

    def release(self, row: int) -> None:
        """Forget a container."""
        self.feed(row, NO_CONTAINER)
        self.window_end[row] = NEVER
        self.rows.release(row)

    def feed(self, rows: int | Integers | Flags, aggregates: int | Integers) -> None:
        """Say what takes the samples of containers from now on.

        Args:
            rows: One row, int64[n], or bool[rows] for those chosen.
            aggregates: int64[n], or one for all.
        """
        self._aggregate[rows] = aggregates
        self._is_feeding_the_last, self._is_any_bare = False, None

    def is_untouched(self, row: int) -> bool:
        """Say whether a container has had no memory sample yet."""
        return bool(self.last_memory[row] == NEVER)

    def _grow(self, needed: int) -> None:
        capacity = doubled(len(self.aggregate), needed)
        self._aggregate = grown(self._aggregate, capacity, NO_CONTAINER)
        self.aggregate = readable(self._aggregate)
        self.last_cpu = grown(self.last_cpu, capacity, 0)
        self.last_memory = grown(self.last_memory, capacity, 0)
        self.window_end = grown(self.window_end, capacity, NEVER)
        self.peak = grown(self.peak, capacity, 0)
        self.memory_peak = grown(self.memory_peak, capacity, 0)
        self.memory_request = grown(self.memory_request, capacity, 0)
        self.is_held = grown(self.is_held, capacity, 0)
        self._marks = grown(self._marks, capacity, 0)

    def are_distinct(self, rows: Integers) -> bool:
        """Say whether no row occurs twice.

        Args:
            rows: int64[n], containers; not to be changed any more.
        """
        if rows is self._found_distinct or len(rows) <= 1:
            return True
        if np.array_equal(rows, self._found_distinct):
            self._found_distinct = rows
            return True
        numbers = np.arange(len(rows))
        self._marks[rows] = numbers
        are_distinct = bool((self._marks.take(rows) == numbers).all())
        if are_distinct:
            self._found_distinct, self._is_feeding_the_last = rows, False
            follow = bool((rows - rows[0] == numbers).all())
            self._found_places = slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows
        return are_distinct

    def places(self, rows: Integers) -> slice | Integers:
        """Return where containers are in the arrays.

        Args:
            rows: int64[n], containers.

        Returns:
            A slice, which is read without a copy, where it is known that the rows follow one another; else the rows.
        """
        return self._found_places if rows is self._found_distinct else rows

    def is_any_bare(self) -> bool:
        """Say whether the aggregate of any container was collected."""
        if self._is_any_bare is None:
            # Rows that are not in use stand out no less, and a minimum is found several times faster than one number.
            used = self.aggregate[: self.rows.end]
            self._is_any_bare = len(used) > 0 and used.min() < 0 and bool((used == NO_AGGREGATE).any())
        return self._is_any_bare

    def feeding(self, rows: Integers) -> Occurrences:
        """Return the aggregates of containers; the same object where those of the last fetch still feed the same.

        Args:
            rows: int64[n], containers.

        Raises:
            ValueError: A container has no aggregate.
        """
        if rows is not self._found_distinct:
            return Occurrences.of(self.aggregate.take(rows))
        if not self._is_feeding_the_last:
            aggregates = self.aggregate[self.places(rows)]
            if not np.array_equal(aggregates, self._last_feeding.rows):
                self._last_feeding = Occurrences.of(aggregates.copy())
            self._is_feeding_the_last = True
        return self._last_feeding
