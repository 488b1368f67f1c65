"""All kernels together, as they are handed to what runs them.

Spec: performance R-1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recommender.kernels import comparing, folding, growing, intake, walking
from recommender.kernels.columns import Flags, Floats, Integers, ReadFlags, ReadFloats, ReadIntegers


@dataclass(frozen=True, slots=True)
class Kernels:
    """One function for each job; without arguments those that nothing has compiled.

    Whoever holds none works with numpy, and with the same results.
    """

    add: Callable[[folding.Histograms, folding.Additions], None] = folding.add
    add_or_take: Callable[[folding.Histograms, folding.Additions, ReadFlags], None] = folding.add_or_take
    look_up_growth: Callable[[growing.GrowthTable, ReadIntegers, ReadIntegers, Floats], bool] = growing.look_up_growth
    accept_cpu: Callable[[intake.Samples, Integers, Flags], int] = intake.accept_cpu
    count: Callable[[ReadIntegers, ReadIntegers, intake.Histories], None] = intake.count
    move_windows: Callable[[intake.Samples, intake.Windows, Flags, intake.Peaks], int] = intake.move_windows
    compare: Callable[
        [comparing.Samples, comparing.Buckets, comparing.Tallies, comparing.Buckets, comparing.Tallies], None
    ] = comparing.compare
    count_repeated: Callable[[ReadFloats, comparing.Groups, comparing.Buckets, comparing.Tallies], None] = (
        comparing.count_repeated
    )
    walk: Callable[[folding.Histograms, ReadIntegers, walking.Shares, ReadFloats, Floats], None] = walking.walk
