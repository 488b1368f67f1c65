"""Steps of many series in moves (quality:Q-1 to quality:Q-3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.steps import Steps, by_number, by_time
from evenkeel.replay.trace import Trace
from tests.evenkeel.replay.series import trace


def parts(steps: Steps) -> list[list[tuple[int, float]]]:
    """Return row and time of each step of each move."""
    return [list(zip(steps.rows[move].tolist(), steps.times[move].tolist(), strict=True)) for move in steps.moves()]


SHORT, LATE = trace([1.0, 2.0], step=60.0), trace([3.0, 4.0, 5.0], step=61.0)


def test_by_time() -> None:
    """quality:Q-2: only what has the same time goes together."""
    assert parts(by_time([SHORT, LATE])) == [[(0, 0.0), (1, 0.0)], [(0, 60.0)], [(1, 61.0)], [(1, 122.0)]]


def test_by_number() -> None:
    """quality:Q-2: the steps of a series keep their order."""
    assert parts(by_number([SHORT, LATE])) == [[(0, 0.0), (1, 0.0)], [(0, 60.0), (1, 61.0)], [(1, 122.0)]]


def test_times_count_from_the_first_step() -> None:
    """quality:Q-3."""
    moved = replace(LATE, times=LATE.times + 1.7e9)
    assert parts(by_time([moved])) == parts(by_time([LATE]))


def test_the_end_of_the_warm_up() -> None:
    """quality:Q-3."""
    steps = by_number([trace([1.0] * 8)])
    assert steps.are_scored.tolist() == [False] * 2 + [True] * 6
    assert steps.are_last_unscored.tolist() == [False, True] + [False] * 6


@pytest.mark.parametrize("cut", [by_time, by_number])
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), data=st.data())
def test_nothing_is_lost(cut: Callable[[Sequence[Trace]], Steps], sizes: list[int], data: st.DataObject) -> None:
    """quality:Q-1."""
    spacing = st.sampled_from([59.0, 60.0, 61.0])
    traces = [
        trace([10.0 * number + place for place in range(size)], step=data.draw(spacing))
        for number, size in enumerate(sizes)
    ]
    steps = cut(traces)
    assert len(steps) == sum(sizes)
    for move in parts(steps):
        assert len({row for row, _ in move}) == len(move)
    for number, each in enumerate(traces):
        mine = steps.rows == number
        assert steps.cpu_cores[mine].tolist() == each.cpu_cores.tolist()
        assert steps.durations[mine].tolist() == each.durations.tolist()
