"""Reference times of histograms, and how much a weight grows from there to a later instant.

Rows share few distinct reference times, for these are multiples of the half life, and the samples of one fetch have few
distinct instants. So a row holds the number of its reference time, and growth is computed once for each pair of
reference time and instant of an even grid where there are fewer pairs than samples.

Spec: recommender 1.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recommender.floats import exp2_each
from recommender.instants import NEVER, SECOND
from recommender.kernels.columns import readable
from recommender.kernels.growing import GrowthTable
from recommender.kernels.suite import Kernels
from recommender.rows import grown

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_PAIRS_PER_SAMPLE = 0.25
_LONG = 2**62


class Span(NamedTuple):
    """Instants, and the first and the last of them.

    Args:
        instants: int64[n], at least one, nanoseconds since the epoch.
        first: The least.
        last: The largest.
    """

    instants: Integers
    first: int
    last: int

    @classmethod
    def of(cls, instants: Integers) -> Span:
        """Return the span of instants.

        Args:
            instants: int64[n], at least one.
        """
        return cls(instants, int(instants.min()), int(instants.max()))


class ReferenceTimes:
    """The reference time of every row; ``NEVER`` until it is set.

    Attributes:
        half_life: Nanoseconds in which a weight halves.
        numbers: int64[rows], number of each row's reference time; 0 stands for ``NEVER``.
        distinct: int64[k], the reference times by their number.
    """

    def __init__(self, half_life: int, capacity: int) -> None:
        self.half_life = half_life
        self.numbers: Integers = np.zeros(capacity, dtype=np.int64)
        self.distinct: Integers = np.array([NEVER], dtype=np.int64)
        self._known = {NEVER: 0}

    def __getitem__(self, rows: Integers) -> Integers:
        """Return the reference times of rows."""
        return self.distinct.take(self.numbers.take(rows))

    def column(self) -> Integers:
        """Return the reference times of all rows."""
        return self.distinct.take(self.numbers)

    def __setitem__(self, rows: Integers, instants: Integers) -> None:
        """Set the reference times of rows, each at most once.

        Args:
            rows: int64[n].
            instants: int64[n], or one for all.
        """
        values, places = np.unique(instants, return_inverse=True)
        numbers = np.array([self._number(value) for value in values.tolist()], dtype=np.int64)
        self.numbers[rows] = numbers[places]

    def _number(self, instant: int) -> int:
        number = self._known.setdefault(instant, len(self.distinct))
        if number == len(self.distinct):
            self.distinct = np.append(self.distinct, instant)
        return number

    def reserve(self, capacity: int) -> None:
        """Make room for more rows, without a reference time yet."""
        self.numbers = grown(self.numbers, capacity, 0)

    def growth(
        self, numbers: Integers, span: Span, weights: Floats | float = 1.0, kernels: Kernels | None = None
    ) -> Floats:
        """Return weights times ``2**((instant - reference) / half_life)`` of every pair.

        Args:
            numbers: int64[n] or int64[1] for all, at least 1, numbers of reference times.
            span: The n instants.
            weights: float64[n], or one for all.
            kernels: What looks up growth; numpy does where there are none.

        Returns:
            float64[n].
        """
        instants, first, last = span
        lowest = int(numbers.min())
        references = self.distinct[lowest : int(numbers.max()) + 1]
        for step in _steps(instants, first):
            count = (last - first) // step + 1
            if len(references) * count > _PAIRS_PER_SAMPLE * len(instants):
                continue
            ages = first + np.arange(count) * step - references[:, np.newaxis]
            growth = exp2_each(ages / self.half_life).ravel()
            if isinstance(weights, float):
                growth *= weights
            table = GrowthTable(growth, lowest, first, step, count)
            found = _looked_up(table, numbers, instants, kernels)
            if found is not None:
                return found if isinstance(weights, float) else found * weights
        return exp2_each((instants - self.distinct.take(numbers)) / self.half_life) * weights

    def are_older(self, numbers: Integers, span: Span, age: int) -> NDArray[np.bool_] | None:
        """Say whether reference times lie more than an age before instants.

        Args:
            numbers: int64[n] or int64[1] for all, numbers of reference times.
            span: The n instants.
            age: Nanoseconds.

        Returns:
            bool[n]; None where it is so for none. ``NEVER`` is older than any age.
        """
        limits = self.distinct + age
        if limits[int(numbers.min()) : int(numbers.max()) + 1].min() >= span.last:
            return None
        older = limits.take(numbers) < span.instants
        return older if older.any() else None


def _looked_up(table: GrowthTable, numbers: Integers, instants: Integers, kernels: Kernels | None) -> Floats | None:
    """Return the growth of every pair of a reference time and an instant; None where an instant is not on the grid.

    Args:
        table: Spans all of them.
        numbers: int64[n] or int64[1] for all, numbers of reference times.
        instants: int64[n], nanoseconds since the epoch.
        kernels: What looks up; numpy does where there are none.
    """
    if kernels is None:
        after = instants - table.first
        places = after // table.step
        if not np.array_equal(places * table.step, after):
            return None
        if len(table.growth) > table.instants:
            places += (numbers - table.lowest) * table.instants
        return table.growth.take(places)
    found = np.empty(len(instants))
    table = table._replace(growth=readable(table.growth))
    are_on_grid = kernels.look_up_growth(table, readable(numbers), readable(instants), found)
    return found if are_on_grid else None


def _steps(instants: Integers, first: int) -> Iterator[int]:
    """Yield steps whose multiples from the first on instants may be.

    A fetch tells whole seconds, history may lie minutes apart.
    """
    yield SECOND
    yield int(instants.min(initial=first + _LONG, where=instants > first)) - first
