"""Phases at which programs and steps begin."""

from __future__ import annotations

import pytest

from bench.real_node import Phase


@pytest.mark.parametrize(
    ("share", "now", "seconds"),
    [(0.0, 1000.0, 0.0), (0.0, 1000.5, 1.5), (0.75, 1000.0, 1.5), (0.75, 1001.75, 1.75), (0.5, 1001.0, 0.0)],
)
def test_a_phase_is_waited_for(share: float, now: float, seconds: float) -> None:
    assert Phase(2.0, share).seconds_after(now) == pytest.approx(seconds)
