"""Values counted by buckets whose ends double, those of a whole fetch at a time.

The bits of a positive double, read as a whole number, grow as the double does, and its exponent stands on top of them.
Where each end is twice the one before, all ends have the same bits below their exponents. So a subtraction and a shift
tell the bucket of a value, without a comparison with each end.

Spec: recommender 10; performance R-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.kernels.comparing import Buckets, in_lanes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BELOW_EXPONENT = 52
_CELLS = 1 << 12
"""Combinations of sign and exponent."""

_HALF = _CELLS // 2


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How values lie in buckets.

    Args:
        counts: int64[buckets + 1], how many values lie up to each bucket's end; the last one counts all.
        total: Sum of the values.
    """

    counts: Integers
    total: float


class DoublingBuckets:
    """Buckets each of whose upper ends is twice the one before; an end belongs to its bucket.

    Args:
        first: The first end, positive.
        count: Number of ends.

    Attributes:
        ends: The ends.
        buckets: Those of the magnitudes of negative values, the largest first, then those of the other values.
    """

    def __init__(self, first: float, count: int) -> None:
        self.ends = tuple(first * 2**power for power in range(count))
        # The cell after the first end's begins with the next larger double, as an end belongs to its bucket.
        self._origin = np.float64(first).view(np.uint64) + np.uint64(1)
        self._cell_of_zero = int(self._cells(np.zeros(1))[0])
        # What is more than the double below the opposite of an end has no larger magnitude than the end.
        opposite = np.nextafter([*(-end for end in reversed(self.ends)), 0.0], -np.inf)
        self.buckets = Buckets.ending_at((*opposite.tolist(), *self.ends))

    def tallies_of(self, counts: Integers, sums: Floats) -> tuple[Tally, Tally]:
        """Return what kernels have counted: the magnitudes of negative values, and the other values.

        Args:
            counts: int64[2 * ends + 2], how many values lie in each of the ``buckets``.
            sums: float64[2, lanes] as one column, sums of negative values and of the others.
        """
        below, above = sums.reshape(2, -1)
        return Tally(counts[len(self.ends) :: -1].cumsum(), -float(below.sum())), self.tally_of(counts, above)

    def tally_of(self, counts: Integers, sums: Floats) -> Tally:
        """Return what kernels have counted of values at least 0.

        Args:
            counts: int64[2 * ends + 2], how many values lie in each of the ``buckets``.
            sums: float64[lanes].
        """
        return Tally(counts[len(self.ends) + 1 :].cumsum(), float(sums.sum()))

    def by_sign(self, values: Floats) -> tuple[Tally, Tally]:
        """Count the magnitudes of negative values, and the other values.

        Args:
            values: float64[n], numbers.
        """
        below, above = (in_lanes(part).sum() for part in (np.minimum(values, 0.0), np.maximum(values, 0.0)))
        cells = np.bincount(self._cells(values), minlength=_CELLS)
        zero = self._cell_of_zero - _HALF
        negative = self._tally(cells[_HALF : _HALF + zero], cells[zero:_HALF], -float(below))
        return negative, self._tally(cells[:zero], cells[_HALF + zero :], float(above))

    def repeated(self, values: Floats, times: Integers) -> Tally:
        """Count values that occur several times.

        Args:
            values: float64[n], at least 0.
            times: int64[n], how often each value occurs.
        """
        cells = np.bincount(self._cells(values), weights=times, minlength=_CELLS).astype(np.int64)
        zero = self._cell_of_zero
        # No scalar product: the linear algebra library would wake its threads, which costs more than all the rest.
        return self._tally(cells[: zero - _HALF], cells[zero:], float(in_lanes(values * times).sum()))

    def _cells(self, values: Floats) -> Integers:
        """Return the cell of each value.

        Those above the first end come first, then negative ones below its opposite, the other negative ones, and the
        others.
        """
        distances = values.view(np.uint64) - self._origin
        distances >>= np.uint64(_BELOW_EXPONENT)
        return distances.view(np.int64)

    def _tally(self, beyond: Integers, within: Integers, total: float) -> Tally:
        """Sum up the values of one sign.

        Args:
            beyond: Counts of the cells beyond the first end.
            within: Counts of the cells up to it.
            total: Sum of the values.
        """
        count = len(self.ends)
        counts = np.empty(count + 1, dtype=np.int64)
        counts[0] = 0
        beyond[: count - 1].cumsum(out=counts[1:count])
        counts[count] = beyond.sum()
        counts += within.sum()
        return Tally(counts, total)
