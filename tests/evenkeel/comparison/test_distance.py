"""How far apart two amounts are, and which is nearer to a third."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.quantity import Quantity
from evenkeel.comparison.distance import Nearer, distance, nearer

q = Quantity.parse
amounts = st.integers(min_value=0, max_value=10**24).map(Quantity)
SWAPPED = {Nearer.OURS: Nearer.THEIRS, Nearer.THEIRS: Nearer.OURS, Nearer.BOTH: Nearer.BOTH}


@pytest.mark.parametrize(
    ("spec_id", "one", "other", "percent"),
    [
        ("beyond:B-35", "100m", "100m", 0.0),
        ("beyond:B-35", "1", "1000m", 0.0),
        ("beyond:B-35", "1Gi", "1024Mi", 0.0),
        ("beyond:B-35", "0", "0", 0.0),
        ("beyond:B-35", "100m", "200m", 50.0),
        ("beyond:B-35", "200m", "100m", 50.0),
        ("beyond:B-35", "0", "1m", 100.0),
        ("beyond:B-35", "300Mi", "400Mi", 25.0),
    ],
)
def test_the_smaller_amount_is_so_much_less_than_the_larger(spec_id: str, one: str, other: str, percent: float) -> None:
    assert distance(q(one), q(other)) == pytest.approx(percent), spec_id


@given(amounts, amounts)
def test_distance_is_the_same_both_ways_and_nothing_for_equal_amounts_only(one: Quantity, other: Quantity) -> None:
    """Spec: beyond:B-35."""
    assert distance(one, other) == distance(other, one)
    assert 0.0 <= distance(one, other) <= 100.0
    assert (distance(one, other) == 0.0) == (one == other)


@given(amounts, amounts, amounts)
def test_what_is_nearer_does_not_depend_on_whose_it_is(one: Quantity, other: Quantity, used: Quantity) -> None:
    """Spec: beyond:B-35."""
    assert nearer(one, other, used) is SWAPPED[nearer(other, one, used)]
    if one == other:
        assert nearer(one, other, used) is Nearer.BOTH


@pytest.mark.parametrize(
    ("spec_id", "ours", "theirs", "used", "expected"),
    [
        ("beyond:B-35", "100m", "200m", "120m", Nearer.OURS),
        ("beyond:B-35", "100m", "200m", "150m", Nearer.BOTH),
        ("beyond:B-35", "100m", "200m", "151m", Nearer.THEIRS),
        ("beyond:B-35", "100m", "200m", "0", Nearer.OURS),
    ],
)
def test_nearer_is_what_differs_less_from_use(
    spec_id: str, ours: str, theirs: str, used: str, expected: Nearer
) -> None:
    assert nearer(q(ours), q(theirs), q(used)) is expected, spec_id
