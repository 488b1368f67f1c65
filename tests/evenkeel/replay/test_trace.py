"""Times of recorded series (quality:Q-1, quality:Q-3)."""

from __future__ import annotations

import numpy as np
import pytest

from evenkeel.replay.trace import Trace, counted_memory, pool_divisor
from tests.evenkeel.replay.series import DAY, HOUR, NAN, trace


def at(*times: float, step: float = 60.0) -> Trace:
    """Return a series with steps at some times."""
    use = np.ones(len(times))
    return Trace("web", "s", step, np.array(times), use, use)


@pytest.mark.parametrize(
    ("row", "times", "durations"),
    [
        ("quality:Q-1", (0.0, 60.0, 121.0), [60.0, 61.0, 60.0]),
        ("quality:Q-1 at two steps", (0.0, 120.0), [120.0, 60.0]),
        ("quality:Q-1 beyond two steps", (0.0, 121.0, 7200.0), [120.0, 120.0, 60.0]),
        ("quality:Q-1 one step", (5.0,), [60.0]),
    ],
)
def test_lengths_of_steps(row: str, times: tuple[float, ...], durations: list[float]) -> None:
    assert at(*times).durations.tolist() == durations, row


@pytest.mark.parametrize(
    ("row", "hours", "warm_up", "scored"),
    [
        ("quality:Q-3 two days", 48, DAY, 24),
        ("quality:Q-3 less than two days", 47, 0.25 * 47 * HOUR, 47 - 12),
        ("quality:Q-3 four steps", 4, HOUR, 3),
    ],
)
def test_warm_up(row: str, hours: int, warm_up: float, scored: int) -> None:
    series = trace([1.0] * hours)
    assert series.warm_up_seconds == warm_up, row
    assert int(series.are_scored.sum()) == scored


def test_a_series_need_not_begin_at_zero() -> None:
    """quality:Q-3."""
    series = at(*(1.7e9 + 60.0 * number for number in range(8)))
    assert series.are_scored.tolist() == [False] * 2 + [True] * 6


@pytest.mark.parametrize(
    ("row", "largest", "divisor"),
    [
        ("quality:Q-1 pools", 13_200.0, 10_000.0),
        ("quality:Q-1 ten is within", 10.0, 1.0),
        ("quality:Q-1 one is not", 1.0, 0.1),
        ("quality:Q-1 idle", 0.0, 1.0),
        ("quality:Q-1 nothing", NAN, 1.0),
    ],
)
def test_totals_of_pools(row: str, largest: float, divisor: float) -> None:
    found = pool_divisor(np.array([largest, 0.0, NAN]))
    assert found == pytest.approx(divisor), row


def test_little_memory() -> None:
    """quality:Q-1: what is not there stays away."""
    found = counted_memory(np.array([0.0, 4095.0, 4097.0, NAN]))
    assert found[:3].tolist() == [4096.0, 4096.0, 4097.0]
    assert np.isnan(found[3])
