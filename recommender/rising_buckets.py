"""Values counted by buckets with any ends, those of a whole fetch at a time (spec: recommender:10, performance:R-1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recommender.doubling_buckets import Tally
from recommender.kernels.comparing import Buckets, in_lanes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class RisingBuckets:
    """Buckets with rising upper ends; an end belongs to its bucket.

    Args:
        ends: The ends.

    Attributes:
        ends: The ends.
        buckets: Each of them, and one for what is beyond the last end.
    """

    def __init__(self, ends: Sequence[float]) -> None:
        self.ends = tuple(ends)
        self.buckets = Buckets.ending_at(self.ends)

    def tally(self, values: Floats) -> Tally:
        """Count values.

        Args:
            values: float64[n], at least one.
        """
        # Comparing all values with an end is several times faster than finding the bucket of each value, and where the
        # end does not lie among the values, their extremes tell as much.
        first, last = bisect_left(self.ends, values.min()), bisect_left(self.ends, values.max())
        among = [np.count_nonzero(values <= end) for end in self.ends[first:last]]
        counts = np.array([0] * first + among + [values.size] * (len(self.ends) + 1 - last))
        return Tally(counts, float(in_lanes(values).sum()))

    def tally_of(self, counts: Integers, sums: Floats) -> Tally:
        """Return what has been counted by kernels.

        Args:
            counts: int64[buckets + 1], how many values lie in each of the ``buckets``.
            sums: float64[lanes].
        """
        return Tally(counts.cumsum(), float(sums.sum()))
