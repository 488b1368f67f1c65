"""Scales of drawings (beyond:B-36)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.pages.drawing import Scale, mark_text


@pytest.mark.parametrize(
    ("row", "highest", "marks"),
    [
        ("beyond:B-36 ones", 4.0, ["0", "1", "2", "3", "4"]),
        ("beyond:B-36 twos", 9.9, ["0", "2", "4", "6", "8"]),
        ("beyond:B-36 quarters", 1.1, ["0", "0.25", "0.5", "0.75", "1"]),
        ("beyond:B-36 small", 0.07, ["0", "0.02", "0.04", "0.06"]),
        ("beyond:B-36 large", 25_000.0, ["0", "5000", "1e+04", "1.5e+04", "2e+04", "2.5e+04"]),
    ],
)
def test_marks_are_round(row: str, highest: float, marks: list[str]) -> None:
    assert [mark_text(each) for each in Scale(highest, 0.0, 100.0).marks()] == marks, row


@given(st.floats(1e-9, 1e12), st.integers(2, 9))
def test_marks_lie_within_the_scale(highest: float, most: int) -> None:
    """beyond:B-36: from zero, evenly, not too many, and never a single one."""
    scale = Scale(highest, 100.0, -90.0)
    marks = scale.marks(most)
    assert marks[0] == 0.0
    assert 2 <= len(marks) <= most + 1
    spaces = [b - a for a, b in pairwise(marks)]
    assert spaces == pytest.approx([spaces[0]] * len(spaces))
    assert all(9.999 <= scale.place(each) <= 100.0 for each in marks)
