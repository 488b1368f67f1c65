"""Maxima of a sliding window (quality:Q-6, Q-12, Q-14, Q-15, Q-18)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.packing import packed
from recommender.strategies.recent_maximum import MOST_KEPT, RecentMaximum

WINDOW = 100.0
moments = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60)


@given(of=moments, later=st.integers(0, 150))
def test_it_is_the_largest_of_the_window(of: list[tuple[int, int, int]], later: int) -> None:
    """Law: after each of two rows' samples, and at any moment after the last."""
    kept, seen, now = RecentMaximum(WINDOW, 2), [], 0.0
    for gap, first, second in of:
        now += gap
        seen.append((now, first, second))
        kept.add(np.array([0, 1]), np.array([now, now]), np.array([first, second], dtype=np.float64))
        assert kept.estimate(np.array([now, now])).tolist() == largest(seen, now)
    found = kept.estimate(np.array([now + later, now + later]))
    assert np.nan_to_num(found, nan=-1.0).tolist() == largest(seen, now + later)


def largest(seen: list[tuple[float, int, int]], now: float) -> list[float]:
    inside = [each for each in seen if each[0] > now - WINDOW]
    return [float(max((each[place] for each in inside), default=-1)) for place in (1, 2)]


@given(of=moments, windows=st.lists(st.integers(1, 100), min_size=1, max_size=4))
def test_it_knows_the_largest_of_shorter_windows(of: list[tuple[int, int, int]], windows: list[int]) -> None:
    """Law, row quality:Q-18: whatever the window, and nothing is left out for good by a look at a short one."""
    kept, seen, now, rows = RecentMaximum(WINDOW, 2), [], 0.0, np.array([0, 1])
    for gap, first, second in of:
        now += gap
        seen.append((now, first, second))
        kept.add(rows, np.array([now, now]), np.array([first, second], dtype=np.float64))
        assert kept.latest(rows).tolist() == [first, second]
    found = kept.of_last(rows, np.array([now, now]), np.array(windows, dtype=np.float64))
    for place, window in enumerate(windows):
        inside = [each for each in seen if each[0] > now - window]
        assert found[:, place].tolist() == [max(each[row] for each in inside) for row in (1, 2)]
    assert kept.estimate(np.array([now, now])).tolist() == largest(seen, now)
    later = kept.of_last(rows, np.array([now, now]) + 100.0, np.array(windows, dtype=np.float64))
    assert np.isnan(later).all(), "quality:Q-18 nothing is in there"


def test_of_nothing_there_is_no_latest() -> None:
    kept = RecentMaximum(WINDOW, 1)
    assert np.isnan(kept.latest(np.array([0]))).all(), "quality:Q-18"
    assert np.isnan(kept.of_last(np.array([0]), np.array([1.0]), np.array([1.0]))).all(), "quality:Q-18"


def test_of_too_many_samples_two_neighbours_become_one() -> None:
    """The maximum is then never too small, and by no more than some neighbours too large."""
    kept, count = RecentMaximum(10.0 * MOST_KEPT, 1), 2 * MOST_KEPT
    amounts = 1000.0 - np.arange(count)
    for second, amount in enumerate(amounts.tolist()):
        kept.add(np.array([0]), np.array([float(second)]), np.array([amount]))
    ends = np.arange(count, dtype=np.float64) + 10.0 * MOST_KEPT
    found = np.array([kept.estimate(np.array([end]))[0] for end in ends[:-1].tolist()])
    exact = amounts[1:]
    assert (found >= exact).all(), "quality:Q-12"
    assert (found <= exact + 3.0).all(), "quality:Q-12"
    assert np.isnan(kept.estimate(ends[-1:])).all()


def test_what_comes_late_counts_as_if_with_the_last_one() -> None:
    kept, one = RecentMaximum(WINDOW, 1), np.array([0])
    kept.add(one, np.array([50.0]), np.array([1.0]))
    kept.add(one, np.array([40.0]), np.array([2.0]))
    assert kept.estimate(np.array([149.0])).tolist() == [2.0]
    assert np.isnan(kept.estimate(np.array([150.0]))).all()


@pytest.mark.parametrize(
    ("row", "seconds", "amounts"),
    [
        ("beyond:B-10 other numbers", [1.0], [1.0, 0.5]),
        ("beyond:B-10 too many", list(range(MOST_KEPT + 1)), list(range(MOST_KEPT + 1, 0, -1))),
        ("beyond:B-10 negative", [1.0], [-1.0]),
        ("beyond:B-10 no number", [np.nan], [1.0]),
        ("beyond:B-10 infinite", [1.0], [np.inf]),
        ("beyond:B-10 back in time", [2.0, 1.0], [2.0, 1.0]),
        ("beyond:B-10 not smaller", [1.0, 2.0], [1.0, 1.0]),
    ],
)
def test_what_it_cannot_have_kept_is_refused(row: str, seconds: list[float], amounts: list[float]) -> None:
    saved = packed({"seconds": np.array(seconds, dtype=np.float64), "amounts": np.array(amounts, dtype=np.float64)})
    with pytest.raises(ValueError, match="saved state of a row: a maximum"):
        RecentMaximum(WINDOW, 1).restore(0, saved)
    assert row


def test_it_goes_on_from_what_was_saved() -> None:
    kept, other = RecentMaximum(10_000.0, 1), RecentMaximum(10_000.0, 2)
    for second in range(40):
        kept.add(np.array([0]), np.array([float(second)]), np.array([40.0 - second]))
    other.restore(1, kept.save(0))
    for now in (0.0, 10_000.0, 10_020.0, 10_039.0):
        np.testing.assert_array_equal(other.estimate(np.array([0.0, now]))[1:], kept.estimate(np.array([now])))
