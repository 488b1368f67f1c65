"""Percentiles that fade (quality:Q-14)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.fading_histogram import GROWTH, MOST_BUCKETS, Fading, FadingHistogram
from recommender.strategies.packing import packed
from recommender.strategies.steps import Samples, steps
from tests.recommender.strategies.definitions import faded_percentile

FADING = Fading(half_life_seconds=3600.0, share=0.95, first_end=0.01)
moments = st.lists(
    st.tuples(
        st.sampled_from([60.0, 300.0, 3600.0, 60 * 3600.0, 70 * 3600.0, 2000 * 3600.0]),
        st.floats(0.0, 100.0, allow_subnormal=False),
        st.sampled_from([30.0, 60.0, 600.0]),
    ),
    min_size=1,
    max_size=30,
)


def add(kept: FadingHistogram, second: float, duration: float, amount: float) -> None:
    one = np.array([0])
    (step,) = steps(Samples(one, np.array([second]), np.array([duration]), np.array([amount])))
    kept.add(step)


@given(of=moments)
def test_it_is_what_the_definition_says_over_any_gap(of: list[tuple[float, float, float]]) -> None:
    """Law: also where all that was seen before weighs nothing any more."""
    kept, seen, now = FadingHistogram(FADING, 1), [], 1e9
    assert np.isnan(kept.percentile(np.array([0]))).all()
    for gap, amount, duration in of:
        now += gap
        seen.append((now, duration, amount))
        add(kept, now, duration, amount)
        (found,) = kept.percentile(np.array([0])).tolist()
        assert found == pytest.approx(faded_percentile(seen, 3600.0, 0.95, 0.01)), "quality:Q-14"


@pytest.mark.parametrize(
    ("row", "amount", "end"),
    [
        ("quality:Q-14 first", 0.0, 0.01),
        ("quality:Q-14 first end", 0.01, 0.01),
        ("quality:Q-14 above", 0.0101, 0.01 * GROWTH),
        ("quality:Q-14 end", 0.01 * GROWTH**100, 0.01 * GROWTH**100),
        ("quality:Q-14 last", 1e9, 0.01 * GROWTH ** (MOST_BUCKETS - 1)),
    ],
)
def test_the_end_of_a_bucket_belongs_to_it(row: str, amount: float, end: float) -> None:
    kept = FadingHistogram(FADING, 1)
    add(kept, 1e9, 60.0, amount)
    assert kept.percentile(np.array([0])).tolist() == [pytest.approx(end)], row


@pytest.mark.parametrize(
    ("row", "weights", "reference"),
    [
        ("beyond:B-10 too many", [1.0] * (MOST_BUCKETS + 1), [0.0]),
        ("beyond:B-10 no reference", [1.0], []),
        ("beyond:B-10 negative", [-1.0], [0.0]),
        ("beyond:B-10 infinite", [np.inf], [0.0]),
        ("beyond:B-10 no moment", [1.0], [np.nan]),
    ],
)
def test_what_it_cannot_have_kept_is_refused(row: str, weights: list[float], reference: list[float]) -> None:
    saved = packed({"weights": np.array(weights), "reference": np.array(reference, dtype=np.float64)})
    with pytest.raises(ValueError, match="saved state of a row: a histogram"):
        FadingHistogram(FADING, 1).restore(0, saved)
    assert row
