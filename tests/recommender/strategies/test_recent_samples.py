"""Percentiles of a sliding window (quality:Q-12, Q-15, Q-16)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.packing import packed
from recommender.strategies.recent_samples import RecentSamples, Window
from recommender.strategies.steps import Samples, steps
from tests.recommender.strategies.definitions import ranked

WIDE = Window(seconds=600, cell_seconds=60, room=1024)
NARROW = Window(seconds=600, cell_seconds=60, room=16)
moments = st.lists(
    st.tuples(st.integers(0, 200), st.lists(st.integers(0, 9), min_size=1, max_size=5)), min_size=1, max_size=60
)


def take(kept: RecentSamples, second: float, amounts: list[float], row: int = 0) -> None:
    rows = np.full(len(amounts), row, dtype=np.int64)
    (step,) = steps(Samples(rows, np.full(len(rows), second), np.full(len(rows), 60.0), np.array(amounts)))
    kept.take(step)


@given(of=moments, share=st.sampled_from([0.5, 0.95, 0.99]))
def test_it_is_exact_while_there_is_room(of: list[tuple[int, list[int]]], share: float) -> None:
    """Law: of whatever the window has."""
    kept, seen, now = RecentSamples(WIDE, share, 1), [], 1000.0
    for gap, amounts in of:
        now += gap
        seen += [(now, float(amount)) for amount in amounts]
        take(kept, now, [float(amount) for amount in amounts])
        inside = [amount for second, amount in seen if second > now - WIDE.seconds]
        assert kept.estimate(np.array([now])).tolist() == [ranked(inside, share)], "quality:Q-12"


@given(of=moments)
def test_where_there_is_no_room_it_is_that_of_the_largest_of_each_cell(of: list[tuple[int, list[int]]]) -> None:
    """Law: no less than of all samples, and no more than the largest."""
    kept, seen, now = RecentSamples(NARROW, 0.95, 1), [], 1000.0
    for gap, amounts in of:
        now += gap
        seen += [(now, float(amount)) for amount in amounts]
        take(kept, now, [float(amount) for amount in amounts])
        (found,) = kept.estimate(np.array([now])).tolist()
        inside = [amount for second, amount in seen if second > now - NARROW.seconds]
        around = [amount for second, amount in seen if second > now - NARROW.seconds - NARROW.cell_seconds]
        assert ranked(inside, 0.95) <= found <= max(around), "quality:Q-12"


@pytest.mark.parametrize("count", [NARROW.room, NARROW.room + 1, 5 * NARROW.room])
def test_more_pods_than_there_is_room_for_in_the_first_second(count: int) -> None:
    kept = RecentSamples(NARROW, 0.5, 2)
    take(kept, 1000.0, [float(number) for number in range(count)], row=1)
    exact = ranked([float(number) for number in range(count)], 0.5)
    found = kept.estimate(np.array([1000.0, 1000.0]))
    assert np.isnan(found[0])
    assert found[1] == (exact if count <= NARROW.room else count - 1.0), "quality:Q-15"


def test_what_comes_late_counts_as_if_with_the_last_one() -> None:
    kept = RecentSamples(WIDE, 0.95, 1)
    take(kept, 1050.0, [1.0])
    take(kept, 1000.0, [2.0])
    assert kept.estimate(np.array([1649.0])).tolist() == [2.0]
    assert np.isnan(kept.estimate(np.array([1650.0]))).all()


@pytest.mark.parametrize(
    ("row", "seconds", "amounts", "is_merged"),
    [
        ("beyond:B-10 other numbers", [1], [1.0, 0.5], [0]),
        ("beyond:B-10 too many", [1] * 17, [1.0] * 17, [0]),
        ("beyond:B-10 infinite", [1], [np.inf], [0]),
        ("beyond:B-10 too late", [2**32 - 1, 1], [1.0, 1.0], [0]),
        ("beyond:B-10 neither samples nor cells", [1], [1.0], []),
    ],
)
def test_what_it_cannot_have_kept_is_refused(
    row: str, seconds: list[int], amounts: list[float], is_merged: list[int]
) -> None:
    saved = packed(
        {
            "seconds": np.array(seconds, dtype=np.uint32),
            "amounts": np.array(amounts),
            "is_merged": np.array(is_merged, dtype=np.uint8),
        }
    )
    with pytest.raises(ValueError, match="saved state of a row: a window"):
        RecentSamples(NARROW, 0.95, 1).restore(0, saved)
    assert row
