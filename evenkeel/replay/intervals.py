"""How much of the difference of two strategies may be due to the series that happen to be there.

The series of each source are drawn anew, with repetition, and each keeps the difference that it has. Where an interval
leaves out zero, other series of these sources would hardly have told otherwise.

The draws are our own and not those of ``scipy.stats.bootstrap``, although that can draw within sources, too: it refuses
a source of a single series, which sets of recordings do have, and it would be needed wherever replay is installed. What
it comes to where it can be asked is held against ours in a test.

Spec: quality Q-10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.figures import values_by_series
from evenkeel.replay.scores import Scores

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWS: Final = 2000
"""How often series are drawn."""

SEED: Final = 20220822
"""With it the same series are drawn in every run, so that two runs can be compared."""

_CONFIDENCE_PERCENT: Final = 95.0
_AT_A_TIME: Final = 2_000_000
"""Series that are drawn before they are summed up, which bounds the memory that it takes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with the range in which it lies for 95 of 100 draws."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """What a score of one strategy is above that of another one, series by series.

    Args:
        figure: Name of the score.
        series: How many series have it.
        mean: Mean of their differences.
        median: Median of their differences.
    """

    figure: str
    series: int
    mean: Interval
    median: Interval


def differences(
    ours: Scores, theirs: Scores, sources: Sequence[str], generator: np.random.Generator
) -> tuple[Difference, ...]:
    """Hold one strategy against another one on the same series.

    Args:
        ours: Scores of the one.
        theirs: Scores of the other one.
        sources: Source of each series.
        generator: Draws the series; the same for each score, so that no score's interval depends on the others.
    """
    seed = int(generator.integers(2**63))
    of_each = np.unique(np.array(sources), return_inverse=True)[1]
    other = values_by_series(theirs)
    found: list[Difference] = []
    for name, values in values_by_series(ours).items():
        apart = values - other[name]
        told = ~np.isnan(apart)
        if told.any():
            draws = _draws(apart[told], of_each[told], np.random.default_rng(seed))
            means, medians = (np.concatenate(each) for each in zip(*draws, strict=True))
            found.append(
                Difference(
                    name,
                    int(told.sum()),
                    _interval(float(apart[told].mean()), means),
                    _interval(float(np.median(apart[told])), medians),
                )
            )
    return tuple(found)


def _draws(values: Floats, sources: Integers, generator: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield means and medians of the values of drawn series, some draws at a time."""
    places = [np.flatnonzero(sources == source) for source in np.unique(sources)]
    left = DRAWS
    while left:
        count = min(left, max(1, _AT_A_TIME // len(values)))
        drawn = [each[generator.integers(len(each), size=(count, len(each)))] for each in places]
        sample = values[np.concatenate(drawn, axis=1)]
        yield sample.mean(axis=1), np.median(sample, axis=1)
        left -= count


def _interval(value: float, drawn: Floats) -> Interval:
    tail = (100.0 - _CONFIDENCE_PERCENT) / 2.0
    low, high = np.percentile(drawn, (tail, 100.0 - tail))
    return Interval(value, float(low), float(high))
