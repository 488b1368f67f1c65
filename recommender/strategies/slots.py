"""Amounts by slots of time, of which so many are kept as a ring holds (spec: quality Q-15, Q-16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from recommender.rows import doubled, grown, run_starts
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Column, packed, unpacked

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_FIRST_WIDTH: Final = 16
_BEGIN: Final = "begin"


@dataclass(frozen=True, slots=True)
class Plane:
    """One of the amounts that a slot has; 0 where there is none.

    Args:
        name: What it is saved as.
        combine: How an amount joins what is in its slot.
        dtype: Type of what is kept.
    """

    name: str
    combine: np.ufunc
    dtype: DTypeLike


@dataclass(frozen=True, slots=True)
class SlotForm:
    """What a ring holds.

    Args:
        seconds: Length of a slot; one that ends at a moment has the samples that end then, but not those at its begin.
        room: How many slots are kept.
        planes: What is kept of each.
    """

    seconds: int
    room: int
    planes: tuple[Plane, ...]

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
        self._kept: list[Column] = [np.zeros((0, _FIRST_WIDTH), dtype=plane.dtype) for plane in form.planes]
        self._width = _FIRST_WIDTH
        # The first and one past the newest slot of each row; equal where it has seen nothing.
        self._begin: Integers = np.zeros(0, dtype=np.int64)
        self._end: Integers = np.zeros(0, dtype=np.int64)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._kept = [grown(kept, rows, 0) for kept in self._kept]
        self._begin, self._end = grown(self._begin, rows, 0), grown(self._end, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._begin[rows] = self._end[rows] = 0
        for kept in self._kept:
            kept[rows] = 0

    def add(self, rows: Integers, seconds: Floats, amounts: Sequence[Column]) -> None:
        """Put amounts into their slots; what is older than the ring is left out.

        Args:
            rows: int64[n], ascending; those of one row are of the same second.
            seconds: float64[n], when.
            amounts: [n] for each plane.
        """
        slots = self._form.slots(seconds)
        first = np.flatnonzero(run_starts(rows))
        self._advance(rows[first], slots[first])
        held = np.flatnonzero(slots >= np.maximum(self._begin[rows], self._end[rows] - self._form.room))
        rows, places = rows[held], self._places(rows[held], slots[held])
        for plane, kept, column in zip(self._form.planes, self._kept, amounts, strict=True):
            plane.combine.at(kept, (rows, places), column[held])

    def _advance(self, rows: Integers, slots: Integers) -> None:
        """Have slots up to these, the new ones empty; each row occurs once."""
        is_new = self._begin[rows] == self._end[rows]
        self._begin[rows[is_new]] = self._end[rows[is_new]] = slots[is_new]
        self._widen(int((slots + 1 - self._begin[rows]).max()))
        counts = np.clip(slots + 1 - self._end[rows], 0, self._form.room)
        self._end[rows] = np.maximum(self._end[rows], slots + 1)
        owners = np.repeat(rows, counts)
        if len(owners):
            numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
            places = self._places(owners, np.repeat(slots, counts) - numbers)
            for kept in self._kept:
                kept[owners, places] = 0

    def _widen(self, needed: int) -> None:
        """Have so many places, or as many as are ever kept."""
        wanted = min(doubled(self._width, needed), self._form.room)
        if wanted > self._width:
            for number, kept in enumerate(self._kept):
                self._kept[number] = np.zeros((len(kept), wanted), dtype=kept.dtype)
                self._kept[number][:, : self._width] = kept
            self._width = wanted

    def _places(self, rows: Integers, slots: Integers) -> Integers:
        """Return where slots are; before the ring is full none is overwritten, whatever its width."""
        found: Integers = (slots - self._begin[rows]) % self._form.room
        return found

    def window(self, rows: Integers, begin: Integers, count: int) -> tuple[Column, ...]:
        """Return what is in some slots in a row.

        Args:
            rows: int64[n].
            begin: int64[n], the first slot for each.
            count: How many slots, no more than are kept.

        Returns:
            [n, count] of each plane, 0 where there is nothing, or nothing any more.
        """
        numbers = np.arange(count)
        first = np.maximum(self._begin[rows], self._end[rows] - self._form.room) - begin
        is_held = (numbers >= first[:, np.newaxis]) & (numbers < (self._end[rows] - begin)[:, np.newaxis])
        places = self._places(rows, begin)[:, np.newaxis] + numbers
        places -= np.where(places >= self._form.room, self._form.room, 0)
        # What is outside is taken from wherever and counts nothing; one number for each place is the fastest way.
        places += rows[:, np.newaxis] * self._width
        return tuple(kept.take(places, mode="clip") * is_held for kept in self._kept)

    def save(self, row: int) -> JsonObject:
        """Return all slots of a row."""
        end = int(self._end[row])
        begin = max(int(self._begin[row]), end - self._form.room)
        found = self.window(np.array([row]), np.array([begin]), end - begin)
        columns = {plane.name: column[0] for plane, column in zip(self._form.planes, found, strict=True)}
        return packed({_BEGIN: np.array([begin], dtype=np.int64), **columns})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, {_BEGIN: np.int64, **{plane.name: plane.dtype for plane in self._form.planes}})
        begin = found.pop(_BEGIN).astype(np.int64)
        (count, *others) = {len(column) for column in found.values()}
        if others or count > self._form.room or len(begin) != 1 or not 0 <= begin[0] < np.iinfo(np.int32).max:
            raise ValueError("saved state of a row: there are too many slots, other numbers of them, or no first one")
        amounts = [column.astype(np.float64) for column in found.values()]
        if not all(np.isfinite(each).all() and (each >= 0.0).all() for each in amounts):
            raise ValueError("saved state of a row: a slot has an impossible amount")
        self._widen(count)
        for kept, column in zip(self._kept, found.values(), strict=True):
            kept[row, :count] = column
        self._begin[row], self._end[row] = begin[0], begin[0] + count
