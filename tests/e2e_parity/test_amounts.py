"""Amounts as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.quantity import Quantity
from e2e.parity.amounts import BEYOND_64_BITS, amounts, cpu, is_beyond_64_bits, memory, wanted_beyond_64_bits
from e2e.parity.dice import Dice


@given(st.text(max_size=4))
def test_drawn_amounts_are_quantities_of_a_common_size(seed: str) -> None:
    dice = Dice(seed)
    for text in (cpu(dice), memory(dice), *amounts(dice, 0.5, 0.5).values()):
        assert Quantity.parse(str(text)).value() <= 2**40
        assert not is_beyond_64_bits(text)


@pytest.mark.parametrize(
    ("answer", "is_beyond"),
    [
        ("9223372036854775807m", False),
        ("9223372036854775808m", True),
        ("2Ei", True),
        ({"a": ["1", {"b": "10P"}]}, True),
        ({"a": ["1", {"b": "9P"}]}, False),
        ("2 eggs", False),
        (10**30, False),
        (None, False),
    ],
)
def test_what_does_not_fit_64_bits(answer: object, is_beyond: bool) -> None:
    assert is_beyond_64_bits(answer) is is_beyond
    reason = BEYOND_64_BITS if is_beyond else ""
    assert wanted_beyond_64_bits({}, answer, {}) == wanted_beyond_64_bits({}, {}, answer) == reason
