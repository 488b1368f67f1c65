"""Amounts that are held until a change is worth it (quality:Q-18)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.holding import ChangeRule, Held
from recommender.strategies.packing import packed

RULE = ChangeRule(raise_share=0.5, lower_share=0.25, patience_seconds=100.0)


@pytest.mark.parametrize(
    ("row", "amount", "target", "age", "is_due"),
    [
        ("quality:Q-18 not enough more", 2.0, 3.0, 0.0, False),
        ("quality:Q-18 raised at once", 2.0, 3.001, 0.0, True),
        ("quality:Q-18 not enough less", 2.0, 1.5, 1000.0, False),
        ("quality:Q-18 lowered in time", 2.0, 1.499, 100.0, True),
        ("quality:Q-18 lowered too early", 2.0, 1.499, 99.9, False),
        ("quality:Q-18 nothing is held", np.nan, 5.0, 1000.0, False),
        ("quality:Q-18 no target", 2.0, np.nan, 1000.0, False),
    ],
)
def test_a_change_has_to_be_worth_it(row: str, amount: float, target: float, age: float, is_due: bool) -> None:
    found = RULE.are_due(np.array([[amount]]), np.array([[target]]), np.array([[age]]))
    assert found.tolist() == [[is_due]], row


def held(amount: float, at: float = 0.0, rows: int = 1) -> Held:
    found = Held(RULE, rows)
    found.begin(np.array([0]), np.array([at]), np.array([amount]))
    return found


def test_it_begins_once_and_follows_from_then_on() -> None:
    found, one = Held(RULE, 1), np.array([0])
    found.follow(one, np.array([0.0]), np.array([9.0]))
    assert np.isnan(found.amounts).all(), "quality:Q-18 nothing is held"
    found.begin(one, np.array([10.0]), np.array([2.0]))
    found.begin(one, np.array([11.0]), np.array([4.0]))
    assert found.amounts.tolist() == [2.0], "quality:Q-18"
    found.follow(one, np.array([109.0]), np.array([1.0]))
    assert found.amounts.tolist() == [2.0], "quality:Q-18"
    found.follow(one, np.array([110.0]), np.array([1.0]))
    assert found.amounts.tolist() == [1.0], "quality:Q-18"


@pytest.mark.parametrize(
    ("row", "least", "after"), [("quality:Q-18", 2.1, 2.1), ("quality:Q-18", 2.0, 2.0), ("quality:Q-18", 1.0, 2.0)]
)
def test_a_kill_raises_by_however_little(row: str, least: float, after: float) -> None:
    found = held(2.0)
    found.raise_to(np.array([0]), np.array([50.0]), np.array([least]))
    assert found.amounts.tolist() == [after], row


@given(st.lists(st.tuples(st.floats(1.0, 200.0), st.floats(0.01, 100.0)), min_size=1, max_size=30))
def test_what_is_held_is_never_far_from_the_target_for_long(moves: list[tuple[float, float]]) -> None:
    """Law, row quality:Q-18: never too little by more than the share, nor too much once the patience is over."""
    found, now, changed = held(1.0), 0.0, 0.0
    for gap, target in moves:
        now += gap
        before = float(found.amounts[0])
        found.follow(np.array([0]), np.array([now]), np.array([target]))
        after = float(found.amounts[0])
        assert after in {before, target}
        assert target <= 1.5 * after
        assert target >= 0.75 * after or now - changed < RULE.patience_seconds
        changed = now if after != before else changed


def test_bounds_are_half_a_change_away() -> None:
    found = held(2.0, rows=2).bounds()
    assert found.target[0] == 2.0
    assert found.lower[0] == pytest.approx(2.0 / 1.25), "quality:Q-18"
    assert found.upper[0] == pytest.approx(2.0 / 0.875), "quality:Q-18"
    assert np.isnan([found.target[1], found.lower[1], found.upper[1]]).all()


def test_it_goes_on_from_what_was_saved() -> None:
    found, other, one = held(2.0, 10.0), Held(RULE, 2), np.array([1])
    other.restore(1, found.save(0))
    other.follow(one, np.array([109.0]), np.array([1.0]))
    assert other.amounts[1] == 2.0, "beyond:B-2"
    other.follow(one, np.array([110.0]), np.array([1.0]))
    assert other.amounts[1] == 1.0, "beyond:B-2"
    other.clear(one)
    assert np.isnan(other.amounts).all()


@pytest.mark.parametrize(
    ("row", "numbers"),
    [
        ("beyond:B-10 more", [1.0, 2.0, 3.0]),
        ("beyond:B-10 none", []),
        ("beyond:B-10 negative", [-1.0, 1.0]),
        ("beyond:B-10 infinite", [np.inf, np.inf]),
        ("beyond:B-10 without its time", [1.0, np.nan]),
    ],
)
def test_what_cannot_have_been_held_is_refused(row: str, numbers: list[float]) -> None:
    saved = packed({"held": np.array(numbers, dtype=np.float64)})
    with pytest.raises(ValueError, match="saved state of a row: what is held"):
        Held(RULE, 1).restore(0, saved)
    assert row
