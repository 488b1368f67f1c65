"""What knows the future, and what has stopped looking (quality:Q-13, quality:Q-17)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE, Player, play
from evenkeel.replay.hindsight import oracle, static
from evenkeel.replay.steps import by_number
from evenkeel.replay.trace import Trace
from tests.evenkeel.replay.series import DAY, HOUR, NAN, trace

HALF_HOUR = 1800.0


def requests(series: Trace, player: Player) -> list[list[float]]:
    """Return cores and bytes that are in force in each step."""
    found = play(by_number([series]), player, np.array([1.5])).requests
    return [found[place].tolist() for place in (CPU_PLACE, MEMORY_PLACE)]


def test_the_most_until_the_next_decision_counts() -> None:
    """quality:Q-17: decided after the steps 1, 3, 5 and 7, each in force in the next two."""
    series = trace([9, 9, 1, 2, 3, 1, 0.5, 0.25], step=HALF_HOUR)
    assert requests(series, oracle([series], HOUR))[0][2:] == [2, 2, 3, 3, 0.5, 0.5]


def test_floors() -> None:
    """quality:Q-17."""
    series = trace([0.0] * 8, [0.0] * 8, step=HALF_HOUR)
    cpu, memory = requests(series, oracle([series], HOUR))
    assert (cpu[2:], memory[2:]) == ([0.01] * 6, [1e7] * 6)


def test_a_resource_that_is_not_recorded_is_not_requested() -> None:
    """quality:Q-1."""
    series = trace([1.0] * 8)
    for player in (oracle([series], HOUR), static([series])):
        assert np.isnan(requests(series, player)[1]).all()


USES = st.lists(st.floats(0.0, 5.0) | st.just(NAN), min_size=3, max_size=60)


@pytest.mark.parametrize("interval", [HOUR, DAY])
@given(cpu=USES, step=st.sampled_from([60.0, 300.0, HOUR, 2 * HOUR]))
def test_nothing_is_ever_above_what_the_oracle_requests(interval: float, cpu: list[float], step: float) -> None:
    """quality:Q-17: zero overrun by construction."""
    series = trace(cpu, cpu, step=step)
    found = requests(series, oracle([series], interval))[0]
    for used, requested, is_scored in zip(cpu, found, series.are_scored, strict=True):
        assert not (is_scored and used > requested)


def test_the_warm_up_decides_for_ever() -> None:
    """quality:Q-13."""
    series = trace([1.0, 2.0, 9.0, 9.0, 9.0, 0.1, 0.1, 0.1], [2e7, 1e7] + [9e7] * 6)
    cpu, memory = requests(series, static([series]))
    assert cpu[2:] == [pytest.approx(2.3)] * 6
    assert memory[2:] == [pytest.approx(2.3e7)] * 6
