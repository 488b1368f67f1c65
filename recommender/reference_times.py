"""Reference times of histograms, and how much a weight grows from there to a later instant.

Rows share few distinct reference times, for these are multiples of the half life, and the samples of one fetch have few
distinct instants. So a row holds the number of its reference time, and growth is computed once for each pair of
reference time and instant of an even grid where there are fewer pairs than samples.

Spec: recommender 1.3.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recommender.floats import exp2_each
from recommender.instants import NEVER, SECOND
from recommender.rows import grown

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_PAIRS_PER_SAMPLE = 0.25
_LONG = 2**62


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

    def growth(self, numbers: Integers, instants: Integers, weights: Floats | float = 1.0) -> Floats:
        """Return weights times ``2**((instant - reference) / half_life)`` of every pair.

        Args:
            numbers: int64[n] or int64[1] for all, at least 1, numbers of reference times.
            instants: int64[n], nanoseconds since the epoch.
            weights: float64[n], or one for all.

        Returns:
            float64[n].
        """
        lowest, first = int(numbers.min()), int(instants.min())
        references = self.distinct[lowest : int(numbers.max()) + 1]
        after = instants - first
        last = int(after.max())
        for step in _steps(after):
            count = last // step + 1
            if len(references) * count > _PAIRS_PER_SAMPLE * len(instants):
                continue
            places = after // step
            if np.array_equal(places * step, after):
                ages = first + np.arange(count) * step - references[:, np.newaxis]
                growth = exp2_each(ages / self.half_life).ravel()
                if len(references) > 1:
                    places += (numbers - lowest) * count
                if isinstance(weights, float):
                    return (growth * weights).take(places)
                return growth.take(places) * weights
        return exp2_each((instants - self.distinct.take(numbers)) / self.half_life) * weights

    def are_older(self, numbers: Integers, instants: Integers, age: int) -> NDArray[np.bool_] | None:
        """Say whether reference times lie more than an age before instants.

        Args:
            numbers: int64[n] or int64[1] for all, numbers of reference times.
            instants: int64[n], nanoseconds since the epoch.
            age: Nanoseconds.

        Returns:
            bool[n]; None where it is so for none. ``NEVER`` is older than any age.
        """
        limits = self.distinct + age
        if limits[int(numbers.min()) : int(numbers.max()) + 1].min() >= instants.max():
            return None
        older = limits.take(numbers) < instants
        return older if older.any() else None


def _steps(after: Integers) -> Iterator[int]:
    """Yield steps whose multiples instants may be: a fetch tells whole seconds, history may lie minutes apart."""
    yield SECOND
    yield int(after.min(initial=_LONG, where=after > 0))
