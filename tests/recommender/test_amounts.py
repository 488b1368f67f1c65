from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from recommender.amounts import MAX_AMOUNT, amount_text, as_quantity, from_quantity, scaled, truncated
from tests.recommender.scene import integers


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (0.0, 0),
        (0.999, 0),
        (1.999, 1),
        (-5.0, 0),
        (-math.inf, 0),
        (1e14, MAX_AMOUNT),
        (1.1e14, MAX_AMOUNT),
        (math.inf, MAX_AMOUNT),
        (math.nan, -(2**63)),
    ],
)
def test_floats_are_cut_towards_zero_and_bounded(value: float, amount: int) -> None:
    """Spec: recommender:0."""
    assert truncated(np.array([value])).tolist() == [amount]


def test_what_is_no_number_stays_so_among_others() -> None:
    """Spec: recommender:0."""
    assert truncated(np.array([0.5, 1.999, 1e14])).tolist() == [0, 1, MAX_AMOUNT]
    assert truncated(np.array([7.9, math.nan, -1.0])).tolist() == [7, -(2**63), 0]
    assert truncated(np.array([[2.5], [math.inf]])).tolist() == [[2], [MAX_AMOUNT]]
    assert truncated(np.array([])).tolist() == []


def test_amounts_are_scaled_and_cut() -> None:
    """Spec: recommender:0."""
    assert scaled(integers(258, 330659541), 0.15).tolist() == [38, 49598931]
    assert scaled(integers(0, 1), np.array([math.inf, math.inf])).tolist() == [-(2**63), MAX_AMOUNT]


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (1000, "cpu", "1"),
        (1168, "cpu", "1168m"),
        (10**14, "cpu", "100G"),
        (262144000, "memory", "250Mi"),
        (380258472, "memory", "380258472"),
        (10**14, "memory", "97656250000Ki"),
        (0, "memory", "0"),
    ],
)
def test_amounts_are_written_as_quantities(amount: int, resource: str, text: str) -> None:
    """Spec: recommender:0."""
    assert str(as_quantity(amount, resource)) == text


@pytest.mark.parametrize(
    ("text", "resource", "amount"),
    [
        ("123456n", "cpu", 1),
        ("1500u", "cpu", 2),
        ("1500m", "memory", 2),
        ("1.2Ki", "memory", 1229),
        ("2", "cpu", 2000),
    ],
)
def test_quantities_are_read_rounded_up(text: str, resource: str, amount: int) -> None:
    """Spec: recommender:0."""
    assert from_quantity(Quantity.parse(text), resource) == amount


def test_a_missing_quantity_is_nothing() -> None:
    """Spec: recommender:0."""
    assert from_quantity(None, "cpu") == 0


@given(st.integers(0, MAX_AMOUNT) | st.integers(0, 5000) | st.integers(0, 10**9).map(lambda n: n * 1024), st.booleans())
def test_the_text_of_an_amount_is_that_of_its_quantity(amount: int, is_cpu: bool) -> None:
    """Spec: api:6."""
    resource = CPU if is_cpu else MEMORY
    assert amount_text(amount, resource) == str(as_quantity(amount, resource))
