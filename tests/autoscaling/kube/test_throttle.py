"""The budget of calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.kube.throttle import CallBudget


def test_the_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    """Spec: updater M-5."""
    budget = CallBudget(qps=50, burst=100)
    assert [budget.take(10.0) for _ in range(102)] == [0.0] * 100 + [pytest.approx(0.02), pytest.approx(0.04)]


def test_a_pause_fills_the_bucket_up_to_the_burst_only() -> None:
    budget = CallBudget(qps=10, burst=2)
    assert [budget.take(0.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]
    assert [budget.take(1000.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]


@pytest.mark.parametrize("qps", [0.0, -1.0])
def test_no_rate_is_no_limit(qps: float) -> None:
    budget = CallBudget(qps, burst=1)
    assert [budget.take(0.0) for _ in range(5)] == [0.0] * 5
    assert budget.try_take(0.0)


def test_taking_only_what_is_there() -> None:
    budget = CallBudget(qps=1, burst=1)
    assert [budget.try_take(at) for at in (5.0, 5.9, 6.0, 6.5, 7.0)] == [True, False, True, False, True]


def test_a_clock_that_steps_back_gives_nothing_away() -> None:
    budget = CallBudget(qps=1, burst=1)
    assert budget.take(100.0) == 0.0
    assert budget.take(50.0) == pytest.approx(1.0)
    assert budget.take(100.0) == pytest.approx(2.0)


@given(
    qps=st.floats(0.5, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_no_window_ever_sees_more_than_burst_and_rate(qps: float, burst: int, gaps: list[float]) -> None:
    budget = CallBudget(qps, burst)
    now, starts = 0.0, []
    for gap in gaps:
        now += gap
        starts.append(now + budget.take(now))
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + qps * (starts[last] - starts[first]) + 1e-6
