"""Counts and percentages."""

from __future__ import annotations

import pytest

from evenkeel.simulator.controllers.proportions import scaled


@pytest.mark.parametrize(
    ("row", "value", "total", "up", "down"),
    [
        ("a count", 3, 10, 3, 3),
        ("a count as text", "3", 10, 3, 3),
        ("a share without remainder", "50%", 10, 5, 5),
        ("a share with one", "25%", 10, 3, 2),
        ("of nothing", "25%", 0, 0, 0),
        ("the whole", "100%", 7, 7, 7),
        ("more than the whole", "150%", 2, 3, 3),
        ("less than one", "1%", 3, 1, 0),
        ("no number", "many", 10, 0, 0),
        ("nothing", None, 10, 0, 0),
        ("a truth value", True, 10, 0, 0),
    ],
)
def test_scaled(row: str, value: object, total: int, up: int, down: int) -> None:
    assert scaled(value, total, round_up=True) == up, row
    assert scaled(value, total, round_up=False) == down, row
