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


@pytest.mark.parametrize(("taken", "seconds"), [(0, 0.0), (2, 0.0), (3, 0.1), (4, 0.2), (7, 0.5)])
def test_a_lull_is_when_half_of_the_burst_is_there(taken: int, seconds: float) -> None:
    budget = CallBudget(qps=10, burst=4)
    for _ in range(taken):
        budget.take(0.0)
    assert budget.lull(0.0) == pytest.approx(seconds)


@pytest.mark.parametrize(("qps", "burst", "seconds"), [(0.0, 4, 0.0), (-1.0, 4, 0.0), (10.0, 1, 0.1)])
def test_a_lull_has_room_for_one_call(qps: float, burst: float, seconds: float) -> None:
    budget = CallBudget(qps, burst)
    budget.take(0.0)
    assert budget.lull(0.0) == pytest.approx(seconds)


@given(
    qps=st.floats(0.5, 1000),
    burst=st.integers(1, 200),
    takes=st.lists(st.floats(0, 5), max_size=60),
)
def test_looking_for_a_lull_takes_nothing_and_a_call_in_it_never_waits(
    qps: float, burst: int, takes: list[float]
) -> None:
    looked_at, left_alone, now = CallBudget(qps, burst), CallBudget(qps, burst), 0.0
    for gap in takes:
        now += gap
        looked_at.lull(now)
        assert looked_at.take(now) == pytest.approx(left_alone.take(now), abs=1e-6)
    now += looked_at.lull(now)
    assert looked_at.lull(now) == pytest.approx(0.0, abs=1e-6)
    assert looked_at.take(now) == pytest.approx(0.0, abs=1e-6)


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
