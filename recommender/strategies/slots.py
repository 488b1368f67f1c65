"""Amounts by slots of time, of which so many are kept as a ring holds (spec: quality Q-15, Q-16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from recommender.rows import doubled, grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import packed, unpacked

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_FIRST_WIDTH: Final = 16


@dataclass(frozen=True, slots=True)
class SlotForm:
    """What a ring holds.

    Args:
        seconds: Length of a slot; one that ends at a moment has the samples that end then, but not those at its begin.
        room: How many slots are kept.
        combine: How an amount joins those that are in its slot.
        empty: What is in a slot that has none.
        dtype: Type of what is kept.
    """

    seconds: int
    room: int
    combine: np.ufunc
    empty: float
    dtype: DTypeLike

    def slots(self, seconds: Floats) -> Integers:
        """Return the slots that moments are in, int64[n]."""
        return np.ceil(seconds / self.seconds).astype(np.int64)


class SlotRing:
    """The slots of each row, from the newest one that has had a sample backwards.

    Args:
        form: What is held.
        rows: How many rows there are at first.
    """

    def __init__(self, form: SlotForm, rows: int) -> None:
        self._form = form
        self._kept: NDArray[np.generic] = np.zeros((0, _FIRST_WIDTH), dtype=form.dtype)
        # The first and one past the newest slot of each row; equal where it has seen nothing.
        self._begin: Integers = np.zeros(0, dtype=np.int64)
        self._end: Integers = np.zeros(0, dtype=np.int64)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._kept = grown(self._kept, rows, self._form.empty)
        self._begin, self._end = grown(self._begin, rows, 0), grown(self._end, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._begin[rows] = self._end[rows] = 0
        self._kept[rows] = self._form.empty

    def add(self, rows: Integers, seconds: Floats, amounts: NDArray[np.generic]) -> None:
        """Put amounts into their slots; what is older than the ring is left out.

        Args:
            rows: int64[n], each maybe more than once, then all of the same second.
            seconds: float64[n], when.
            amounts: [n].
        """
        slots = self._form.slots(seconds)
        self._advance(rows, slots)
        is_held = (slots >= self._begin[rows]) & (slots >= self._end[rows] - self._form.room)
        rows, places = rows[is_held], self._places(rows[is_held], slots[is_held])
        self._form.combine.at(self._kept, (rows, places), amounts[is_held])

    def _advance(self, rows: Integers, slots: Integers) -> None:
        """Have slots up to these, the new ones empty."""
        is_new = self._begin[rows] == self._end[rows]
        self._begin[rows[is_new]] = self._end[rows[is_new]] = slots[is_new]
        rows, places = np.unique(rows, return_index=True)
        slots = slots[places]
        counts = np.clip(slots + 1 - self._end[rows], 0, self._form.room)
        self._widen(int((slots + 1 - self._begin[rows]).max()))
        owners = np.repeat(rows, counts)
        numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._kept[owners, self._places(owners, np.repeat(slots, counts) - numbers)] = self._form.empty
        self._end[rows] = np.maximum(self._end[rows], slots + 1)

    def _widen(self, needed: int) -> None:
        """Have so many places, or as many as are ever kept."""
        width = self._kept.shape[1]
        wanted = min(doubled(width, needed), self._form.room) if needed > width else width
        if wanted > width:
            wider = np.full((len(self._kept), wanted), self._form.empty, dtype=self._form.dtype)
            wider[:, :width] = self._kept
            self._kept = wider

    def _places(self, rows: Integers, slots: Integers) -> Integers:
        """Return where slots are; before the ring is full none is overwritten, whatever its width."""
        found: Integers = (slots - self._begin[rows]) % self._form.room
        return found

    def window(self, rows: Integers, begin: Integers, count: int) -> NDArray[np.generic]:
        """Return what is in some slots in a row.

        Args:
            rows: int64[n].
            begin: int64[n], the first slot for each.
            count: How many slots.

        Returns:
            [n, count], empty where there is nothing, or nothing any more.
        """
        numbers = np.arange(count)
        first = np.maximum(self._begin[rows], self._end[rows] - self._form.room) - begin
        is_held = (numbers >= first[:, np.newaxis]) & (numbers < (self._end[rows] - begin)[:, np.newaxis])
        places = self._places(rows, begin)[:, np.newaxis] + numbers
        places -= np.where(places >= self._form.room, self._form.room, 0)
        kept = self._kept[rows[:, np.newaxis], np.where(is_held, places, 0)]
        return np.where(is_held, kept, np.array(self._form.empty, dtype=self._form.dtype))

    def save(self, row: int) -> JsonObject:
        """Return all slots of a row."""
        begin, end = int(self._begin[row]), int(self._end[row])
        begin = max(begin, end - self._form.room)
        kept = self.window(np.array([row]), np.array([begin]), end - begin)[0]
        return packed({"kept": kept, "begin": np.array([begin])})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, {"kept": self._form.dtype, "begin": np.int64})
        kept, begin = found["kept"], found["begin"].astype(np.int64)
        if len(kept) > self._form.room or len(begin) != 1 or abs(int(begin[0])) > np.iinfo(np.int32).max * 100:
            raise ValueError("saved state of a row: there are too many slots, or no first one")
        if np.isinf(kept.astype(np.float64)).any() or (kept.astype(np.float64) < 0.0).any():
            raise ValueError("saved state of a row: a slot has an impossible amount")
        self._widen(len(kept))
        self._kept[row, : len(kept)] = kept
        self._begin[row], self._end[row] = begin[0], begin[0] + len(kept)
