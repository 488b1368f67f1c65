"""Sharing out what there is among those who ask for more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.sharing_out import shared_out
from tests.recommender.scene import integers

MOST = 10**14


@pytest.mark.parametrize(
    ("row", "asked", "least", "room", "expected"),
    [
        ("beyond:B-11 enough", [600, 400], [0, 0], 1000, [600, 400]),
        ("beyond:B-11 one too little", [600, 400], [0, 0], 999, [599, 399]),
        ("beyond:B-11 half", [600, 400], [0, 0], 500, [300, 200]),
        ("beyond:B-11 alone", [MOST], [0], 7_700_000_001, [7_700_000_001]),
        ("beyond:B-11 nothing asked for", [0, 400], [0, 0], 100, [0, 100]),
        ("beyond:B-11 least met", [600, 400], [300, 200], 500, [300, 200]),
        ("beyond:B-11 least of one", [600, 400], [400, 0], 500, [400, 100]),
        ("beyond:B-11 one after the other", [600, 300, 100], [0, 200, 60], 500, [240, 200, 60]),
        ("beyond:B-11 least above what is asked for", [600, 400], [900, 0], 800, [600, 200]),
        ("beyond:B-11 no room for the least", [600, 400], [600, 200], 400, [300, 100]),
        ("beyond:B-11 just room for the least", [600, 400], [300, 100], 400, [300, 100]),
        ("beyond:B-11 no room", [600, 400], [300, 100], 0, [0, 0]),
    ],
)
def test_what_each_gets(row: str, asked: list[int], least: list[int], room: int, expected: list[int]) -> None:
    owners = np.zeros(len(asked), dtype=np.int64)
    assert shared_out(integers(*asked), integers(*least), owners, integers(room)).tolist() == expected, row


def test_owners_have_nothing_to_do_with_each_other() -> None:
    found = shared_out(integers(600, 8, 400, 1), integers(0, 0, 0, 0), integers(0, 1, 0, 2), integers(500, 10, 0))
    assert found.tolist() == [300, 8, 200, 0], "beyond:B-11"


def test_nobody_gets_nothing() -> None:
    assert shared_out(integers(), integers(), integers(), integers(5)).tolist() == [], "beyond:B-11"


AMOUNT = st.integers(0, MOST)


@given(st.lists(st.tuples(AMOUNT, AMOUNT), min_size=1, max_size=6), AMOUNT)
def test_the_rule_of_sharing(pairs: list[tuple[int, int]], room: int) -> None:
    """Spec: beyond:B-11."""
    asked, least = ([pair[side] for pair in pairs] for side in (0, 1))
    owners = np.zeros(len(pairs), dtype=np.int64)
    found = shared_out(integers(*asked), integers(*least), owners, integers(room)).tolist()
    if sum(asked) <= room:
        assert found == asked
        return
    assert room - len(pairs) < sum(found) <= room
    wanted = [min(pair) for pair in pairs]
    if sum(wanted) > room:
        assert found == [each * room // sum(wanted) for each in wanted]
        return
    assert all(w <= got <= a for w, got, a in zip(wanted, found, asked, strict=True))
    # Who gets more than the least has the same share as all others who do.
    free = [(a, got) for w, got, a in zip(wanted, found, asked, strict=True) if got > w]
    left = room - sum(got for w, got in zip(wanted, found, strict=True) if got <= w)
    share = Fraction(left, sum(a for a, _ in free)) if free else Fraction(0)
    assert all(abs(got - share * a) <= len(pairs) for a, got in free)
