"""What trials cost, and how much each is heeded (quality:Q-18)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.holding import ChangeRule
from recommender.strategies.packing import packed
from recommender.strategies.steps import Samples, Step
from recommender.strategies.trials import CostRule, Trials

NEVER = 1e12
START = 1e9
DAY = 86400.0
RULE = CostRule(ChangeRule(0.1, 0.2, 100.0), 5.0, 2.0, 50.0, 7.0, NEVER, 3.0)


def step(seconds: float, *amounts: float, length: float = 60.0) -> Step:
    """Return samples of row 0 that end so many seconds after the start."""
    count = len(amounts)
    samples = Samples(
        np.zeros(count, dtype=np.int64), np.full(count, START + seconds), np.full(count, length), np.array(amounts)
    )
    return Step(samples, np.array([0]))


def taken(trials: Trials, target: float, *steps: Step) -> float:
    """Return what the trial of row 0, which has one, has cost."""
    for each in steps:
        trials.take(each, np.array([[target]]))
    return float(trials.relative_costs(0)[0] * trials._use[0])  # noqa: SLF001 - cost as it is kept


@pytest.mark.parametrize(
    ("row", "amounts", "cost"),
    [
        # Request 1.0 from the first sample on; a step of 60 s each. Mean use is that of all samples so far.
        ("quality:Q-18 spare", (1.0, 0.4), 60 * 0.6),
        ("quality:Q-18 exactly", (1.0, 1.0), 0.0),
        ("quality:Q-18 lack", (1.0, 1.5), 60 * (5 * 0.5 + 2 * 1.25) + 50 * 1.25),
        ("quality:Q-18 lack goes on", (1.0, 1.5, 1.5), 60 * (2 * 5 * 0.5 + 2 * (1.25 + 4 / 3)) + 50 * 1.25),
    ],
)
def test_a_step_costs_what_it_leaves_and_what_it_lacks(row: str, amounts: tuple[float, ...], cost: float) -> None:
    found = taken(Trials(RULE, 1, 1), 1.0, *(step(60.0 * at, each) for at, each in enumerate(amounts)))
    assert found == pytest.approx(cost), row


@pytest.mark.parametrize(("row", "gap", "events"), [("quality:Q-18", 298.0, 1), ("quality:Q-18", 299.0, 2)])
def test_a_lack_soon_after_an_event_is_none_of_its_own(row: str, gap: float, events: int) -> None:
    rule = CostRule(RULE.change, 0.0, 0.0, 50.0, 0.0, NEVER, 3.0)
    found = taken(Trials(rule, 1, 1), 1.0, step(0.0, 2.0), step(60.0, 2.0), step(60.0 + gap, 2.0))
    assert found == pytest.approx(events * 50.0 * 2.0), row


@pytest.mark.parametrize(("row", "target", "changes"), [("quality:Q-18", 1.1, 0), ("quality:Q-18", 1.2, 1)])
def test_a_change_costs(row: str, target: float, changes: int) -> None:
    trials = Trials(RULE, 1, 1)
    before = taken(trials, 1.0, step(0.0, 1.0), step(60.0, 1.0))
    assert taken(trials, target, step(120.0, 1.0)) - before == pytest.approx(7.0 * changes), row


def test_pods_of_one_moment_count_as_their_mean() -> None:
    found = taken(Trials(RULE, 1, 1), 1.0, step(0.0, 1.0, 1.0), step(60.0, 0.5, 1.5))
    assert found == pytest.approx(60 * (0.25 + 5 * 0.25 + 2 * 0.5 * 1.0) + 50 * 1.0), "quality:Q-18"


def test_pods_one_after_the_other_cost_what_one_does() -> None:
    """A sample stands for the time since the one before: ten pods cost no ten times as much beside a change."""
    one = taken(Trials(RULE, 1, 1), 1.0, step(0.0, 0.5), step(60.0, 0.5), step(120.0, 0.5))
    two = taken(Trials(RULE, 1, 1), 1.0, *(step(float(at), 0.5) for at in range(0, 121, 30)))
    assert one == pytest.approx(two) == pytest.approx(60.0), "quality:Q-18"


def test_after_a_gap_a_sample_stands_for_two_of_its_length() -> None:
    found = taken(Trials(RULE, 1, 1), 1.0, step(0.0, 0.5), step(6000.0, 0.5))
    assert found == pytest.approx(120 * 0.5), "quality:Q-18"


def test_costs_fade() -> None:
    rule = CostRule(RULE.change, 0.0, 0.0, 0.0, 0.0, 60.0, 3.0)
    found = taken(Trials(rule, 1, 1), 1.0, step(0.0, 0.5), step(60.0, 0.5), step(120.0, 0.5))
    assert found == pytest.approx(30.0 / 2 + 30.0), "quality:Q-18"


def test_the_cheapest_weighs_most() -> None:
    trials, targets = Trials(RULE, 3, 1), np.array([[1.0, 2.0, 4.0]])
    for at in (0.0, 60.0):
        trials.take(step(at, 0.5), targets)
    # Two minutes of history count next to nothing against a day of doubt.
    wanted = np.exp(np.array([0.0, -2.0, -6.0]) * 3.0 * 120.0 / (120.0 + DAY))
    np.testing.assert_allclose(trials.weights(np.array([0]))[0], wanted / wanted.sum(), err_msg="quality:Q-18")


def test_nothing_is_known_yet_of_what_has_cost_nothing() -> None:
    trials = Trials(RULE, 2, 2)
    assert trials.weights(np.array([1])).tolist() == [[0.5, 0.5]], "quality:Q-18"
    assert trials.relative_costs(1).tolist() == [0.0, 0.0], "quality:Q-18"
    trials.take(step(0.0, 1.0), np.array([[1.0, 2.0]]))
    trials.take(step(60.0, 1.0), np.array([[1.0, 2.0]]))
    assert trials.weights(np.array([0])).tolist() == [[1.0, 0.0]], "quality:Q-18"


courses = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 1000), st.integers(1, 1000)), min_size=2, max_size=25)


@given(course=courses, exponent=st.integers(-20, 20))
def test_the_unit_makes_no_difference(course: list[tuple[int, int, int]], exponent: int) -> None:
    """Law, row quality:Q-18: weights depend on ratios alone, so that no number of the rule depends on the series."""
    weights = []
    for unit in (1.0, 2.0**exponent):
        trials, now = Trials(RULE, 2, 1), 0.0
        for gap, amount, target in course:
            now += gap
            trials.take(step(now, amount * unit), np.array([[target * unit, 1.3 * target * unit]]))
        weights.append(trials.weights(np.array([0])))
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-9)
    assert math.isclose(float(weights[0].sum()), 1.0), "quality:Q-18"


@given(course=courses)
def test_it_goes_on_from_what_was_saved(course: list[tuple[int, int, int]]) -> None:
    """Law, row beyond:B-2: also in a row that was another one's."""
    alone, first, second, now = Trials(RULE, 2, 1), Trials(RULE, 2, 1), Trials(RULE, 2, 1), 0.0
    second.take(step(0.0, 9.0), np.array([[1.0, 2.0]]))
    second.clear(np.array([0]))
    half = len(course) // 2
    for number, (gap, amount, target) in enumerate(course):
        now += gap
        if number == half:
            second.restore(0, first.save(0))
        for trials in (alone, first if number < half else second):
            trials.take(step(now, float(amount)), np.array([[float(target), 1.3 * target]]))
    assert second.save(0) == alone.save(0)


@pytest.mark.parametrize(
    ("row", "trials", "numbers", "problem"),
    [
        ("beyond:B-10 one trial less", [1.0] * 4, [9.0, 1.0, 1.0], "other numbers"),
        ("beyond:B-10 one number more", [1.0] * 8, [9.0, 1.0, 1.0, 1.0], "other numbers"),
        ("beyond:B-10 negative", [1.0] * 7 + [-1.0], [9.0, 1.0, 1.0], "impossible"),
        ("beyond:B-10 no number", [1.0] * 7 + [np.nan], [9.0, 1.0, 1.0], "impossible"),
        ("beyond:B-10 infinite", [1.0] * 8, [9.0, 1.0, np.inf], "impossible"),
        ("beyond:B-10 infinite time", [1.0] * 8, [np.inf, 0.0, 0.0], "impossible"),
        ("beyond:B-10 use but no time", [1.0] * 8, [np.nan, 1.0, 1.0], "impossible"),
        ("beyond:B-10 negative time", [1.0] * 8, [-9.0, 1.0, 1.0], "impossible"),
    ],
)
def test_what_it_cannot_have_kept_is_refused(row: str, trials: list[float], numbers: list[float], problem: str) -> None:
    with pytest.raises(ValueError, match=f"saved state of a row: .*{problem}"):
        Trials(RULE, 2, 1).restore(0, packed({"trials": np.array(trials), "row": np.array(numbers)}))
    assert row


def test_a_row_that_has_seen_nothing_is_restored_as_such() -> None:
    other = Trials(RULE, 2, 1)
    other.restore(0, Trials(RULE, 2, 1).save(0))
    other.take(step(0.0, 1.5), np.array([[1.0, 2.0]]))
    assert other.relative_costs(0).tolist() == [0.0, 0.0], "beyond:B-2 the first sample found no request"
