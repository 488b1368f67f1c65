"""Differences of two strategies with what chance makes of them (quality:Q-10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.replay.intervals import Difference, differences
from evenkeel.replay.scores import Scores
from tests.evenkeel.replay.series import NAN, Floats


def scores(slack: Floats) -> Scores:
    """Return scores of series of a day in which CPU alone is scored, and only slack differs."""
    count = len(slack)
    nothing, zeros = np.full(count, NAN), np.where(np.isnan(slack), NAN, 0.0)
    counts = np.zeros(count, dtype=np.int64)
    return Scores(
        np.ones(count),
        np.ones((2, count)),
        np.ones((2, count)),
        np.ones((2, count)),
        np.ones((2, count)),
        np.stack((slack, nothing)),
        np.stack((zeros, nothing)),
        np.stack((zeros, nothing)),
        (1.0,),
        np.zeros((1, count), dtype=np.int64),
        counts,
        counts,
    )


def apart(ours: Floats, theirs: Floats, sources: list[str], seed: int = 1) -> dict[str, Difference]:
    generator = np.random.default_rng(seed)
    return {each.figure: each for each in differences(scores(ours), scores(theirs), sources, generator)}


def test_a_difference_that_all_series_have() -> None:
    """quality:Q-10: whatever is drawn, it is the same."""
    theirs = np.array([0.1, 5.0, 0.7, 2.0])
    found = apart(theirs - 0.25, theirs, ["a", "a", "b", "b"])["cpu_slack"]
    assert found.series == 4
    for each in (found.mean, found.median):
        assert (each.value, each.low, each.high) == pytest.approx((-0.25, -0.25, -0.25))


def test_series_are_drawn_within_their_source() -> None:
    """quality:Q-10: a source whose series agree adds nothing to the width, however far it is from the other one."""
    theirs = np.zeros(8)
    found = apart(np.array([0.0] * 4 + [100.0] * 4), theirs, ["a"] * 4 + ["b"] * 4)["cpu_slack"].mean
    assert (found.value, found.low, found.high) == (50.0, 50.0, 50.0)
    mixed = apart(np.array([0.0] * 4 + [100.0] * 4), theirs, ["a"] * 8)["cpu_slack"].mean
    assert mixed.low < 25.0
    assert mixed.high > 75.0


def test_the_width_is_that_of_a_mean() -> None:
    """quality:Q-10: about twice the standard error to either side."""
    theirs = np.zeros(400)
    ours = np.random.default_rng(3).normal(1.0, 2.0, 400)
    found = apart(ours, theirs, ["a"] * 400)["cpu_slack"].mean
    error = ours.std() / np.sqrt(400)
    assert found.low == pytest.approx(found.value - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(found.value + 1.96 * error, abs=0.15 * error)


def test_it_is_the_percentile_bootstrap() -> None:
    """quality:Q-10: scipy's, which draws each of several samples by itself, comes to the same but for chance."""
    random = np.random.default_rng(5)
    groups = [random.gamma(2.0, 1.0, 40), random.gamma(9.0, 2.0, 25), random.normal(-3.0, 5.0, 60)]
    sources = [name for name, group in zip("abc", groups, strict=True) for _ in group]
    ours = apart(np.concatenate(groups), np.zeros(125), sources)["cpu_slack"]
    for found, reduce in ((ours.mean, np.mean), (ours.median, np.median)):
        theirs = scipy.stats.bootstrap(
            groups,
            lambda *drawn, axis, reduce=reduce: reduce(np.concatenate(drawn, axis=axis), axis=axis),
            n_resamples=20_000,
            batch=2_000,
            vectorized=True,
            method="percentile",
            rng=np.random.default_rng(6),
        ).confidence_interval
        width = theirs.high - theirs.low
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.08 * width)


def test_what_one_of_them_has_no_score_of_is_left_out() -> None:
    """quality:Q-10: such a series is no pair, and a score that no series has is not told."""
    found = apart(np.array([1.0, NAN, 3.0]), np.array([0.0, 1.0, NAN]), ["a", "a", "b"])
    assert found["cpu_slack"].series == 1
    assert found["cpu_slack"].mean.value == 1.0
    assert "memory_slack" not in found
    assert found["resizes"].series == 3


@settings(max_examples=20)
@given(slack=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=12), seed=st.integers(0, 9))
def test_the_value_lies_among_the_series_and_repeats(slack: list[float], seed: int) -> None:
    """quality:Q-10: nothing that is drawn lies outside of what there is, and a seed draws the same again."""
    ours, theirs = np.array(slack), np.ones(len(slack))
    sources = ["ab"[place % 2] for place in range(len(slack))]
    first, again = (apart(ours, theirs, sources, seed)["cpu_slack"] for _ in range(2))
    assert first == again
    for each in (first.mean, first.median):
        assert (ours - theirs).min() - 1e-9 <= each.low <= each.high <= (ours - theirs).max() + 1e-9


def test_scores_do_not_disturb_each_other() -> None:
    """quality:Q-10: the interval of one score is the same whatever else is scored."""
    ours, theirs = np.array([0.2, 0.9, 0.4]), np.array([0.1, 0.3, 0.9])
    both = replace(scores(ours), resizes=np.array([3, 9, 1]))
    alone = apart(ours, theirs, ["a"] * 3)["cpu_slack"]
    found = differences(both, scores(theirs), ["a"] * 3, np.random.default_rng(1))
    assert next(each for each in found if each.figure == "cpu_slack") == alone
