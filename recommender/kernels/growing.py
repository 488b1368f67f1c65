"""Growth of weights, looked up for a whole batch (spec: recommender:1.3, performance:R-1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recommender.kernels.columns import Floats, ReadFloats, ReadIntegers


class GrowthTable(NamedTuple):
    """Growth from each of a range of reference times to each instant of an even grid.

    Args:
        growth: float64[references * instants], one reference time after the other.
        lowest: Number of the first reference time.
        first: First instant of the grid, in nanoseconds since the epoch.
        step: Nanoseconds from one to the next.
        instants: Number of instants of the grid.
    """

    growth: ReadFloats
    lowest: int
    first: int
    step: int
    instants: int


def look_up_growth(table: GrowthTable, numbers: ReadIntegers, instants: ReadIntegers, found: Floats) -> bool:
    """Look up the growth of every pair of a reference time and an instant.

    Args:
        table: Its grid spans the instants, and its reference times the numbers.
        numbers: int64[n] or int64[1] for all, numbers of reference times.
        instants: int64[n], nanoseconds since the epoch.
        found: float64[n], receives the growth.

    Returns:
        Whether all instants lie on the grid; if not, what was received means nothing.
    """
    growth, lowest, first, step, grid = table
    is_shared, begin = len(numbers) == 1, (numbers[0] - lowest) * grid
    # Multiplying is several times faster than dividing; what rounding makes of it is looked at.
    per_step, strays = 1.0 / step, 0
    for place in range(len(instants)):
        after = instants[place] - first
        steps = min(int(after * per_step + 0.5), grid - 1)
        strays += steps * step != after
        if not is_shared:
            begin = (numbers[place] - lowest) * grid
        found[place] = growth[np.uint64(begin + steps)]
    return strays == 0
