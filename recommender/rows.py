"""Row numbers of tables that are held as arrays: handed out, taken back, and grown by doubling.

Spec: performance R-5, R-9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_Scalar = TypeVar("_Scalar", bound=np.generic)
_USABLE_BITS: Final = 63

CHUNK: Final = 131072
"""Elements worked on at a time where a batch can be cut: fewer cost more in calls than they save in memory traffic."""


class RowPool:
    """Which rows of a table are in use; a released row is the next one handed out."""

    def __init__(self) -> None:
        self._released: list[int] = []
        self._end = 0

    def __len__(self) -> int:
        """Number of rows in use."""
        return self._end - len(self._released)

    @property
    def end(self) -> int:
        """One past the highest row that was ever in use."""
        return self._end

    def take(self) -> int:
        """Hand out one row."""
        if self._released:
            return self._released.pop()
        self._end += 1
        return self._end - 1

    def release(self, row: int) -> None:
        """Take one row back."""
        self._released.append(row)


def doubled(current: int, needed: int) -> int:
    """Return the capacity after as many doublings as ``needed`` rows ask for."""
    capacity = max(current, 1)
    while capacity < needed:
        capacity *= 2
    return capacity


def grown(array: NDArray[_Scalar], capacity: int, fill: float) -> NDArray[_Scalar]:
    """Return a copy with more rows, the new ones filled with one value.

    Args:
        array: [rows, ...].
        capacity: Number of rows of the copy, at least ``len(array)``.
        fill: Value of the new rows; 0 leaves their memory untouched until it is written.
    """
    larger = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger


def chunks(length: int) -> list[slice]:
    """Cut a batch into pieces whose columns stay in the processor's caches while a call costs next to nothing."""
    return [slice(begin, min(begin + CHUNK, length)) for begin in range(0, length, CHUNK)]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Rows of a batch, and how often each of them occurs in it.

    Args:
        rows: int64[n], in the order of the batch.
        distinct: int64[k], those that occur, ascending.
        counts: int64[k], how often each of these does, at least 1.
    """

    rows: Integers
    distinct: Integers
    counts: Integers

    @classmethod
    def of(cls, rows: Integers) -> Occurrences:
        """Count rows.

        Args:
            rows: int64[n], at least 0.
        """
        counts = np.bincount(rows)
        distinct = np.flatnonzero(counts)
        return cls(rows, distinct, counts[distinct])


def spread(starts: Integers, sizes: Integers) -> Integers:
    """Return the numbers of several ranges, one range after the other.

    Args:
        starts: int64[n], first number of each range.
        sizes: int64[n], how many numbers each has.
    """
    before = np.cumsum(sizes) - sizes
    numbers = np.arange(int(sizes.sum()), dtype=np.int64)
    numbers += np.repeat(starts - before, sizes)
    return numbers


def run_starts(column: NDArray[np.generic]) -> Flags:
    """Say of each element whether it is another one than that before it.

    Args:
        column: [n].

    Returns:
        bool[n]; the first one is.
    """
    starts = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=starts[1:])
    return starts


def ranks(keys: Integers) -> Integers:
    """Return for each element how many equal ones stand before it.

    Args:
        keys: int64[n].

    Returns:
        int64[n]; all 0 where no key repeats. Empty in, empty out.
    """
    order, starts, sizes = _runs(keys)
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = np.arange(len(keys)) - np.repeat(starts, sizes)
    return result


def in_turns(keys: Integers) -> Iterator[Integers]:
    """Cut a batch into turns in which every key occurs at most once.

    Args:
        keys: int64[n].

    Yields:
        Positions of each turn, in the order of their keys; the k-th turn holds the k-th occurrence of each key.
    """
    order, starts, sizes = _runs(keys)
    turn = 0
    while len(starts):
        yield order[starts + turn]
        turn += 1
        left = sizes > turn
        starts, sizes = starts[left], sizes[left]


def _runs(keys: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the positions of keys by key, and where in that order each key's begin and how many they are."""
    order = _stable_order(keys)
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(keys) else order
    return order, starts, np.diff(np.append(starts, len(keys)))


def _stable_order(keys: Integers) -> Integers:
    """Return the positions of keys in ascending order, of equal ones as they stand."""
    bits = len(keys).bit_length()
    if not len(keys) or keys.min() < 0 or int(keys.max()) >> (_USABLE_BITS - bits):
        return np.argsort(keys, kind="stable")
    # A key and its position fit into one number; numbers are sorted several times faster than positions by their keys.
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed
