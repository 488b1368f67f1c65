"""Bounds of policies as columns: amounts are bounded as their quantities are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import policy_bounds
from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy
from recommender.amounts import as_quantity, from_quantity
from recommender.policy_bounds import NO_BOUNDS, NONE, PolicyBounds
from tests.builders import amounts
from tests.recommender.scene import integers

MAX_INT64 = 2**63 - 1
TYPED = st.sampled_from(
    ("-", "1/1Gi", "1000m/1024Mi", "0.5/-", "-/1500m", "1500u/1e3", "0/0", "2/500M", "20E/20Ei", "250m/262144000")
)
POLICIES = st.none() | st.builds(
    lambda least, most: ContainerPolicy("*", min_allowed=amounts(least), max_allowed=amounts(most)), TYPED, TYPED
)
FIGURES = st.sampled_from((0, 1, 2, 249, 250, 500, 1000, 1024, 2000, 262144000, 2**30, 2**30 + 1, 10**14))


@given(st.lists(st.tuples(POLICIES, FIGURES), max_size=4), TYPED, st.sampled_from(("cpu", "memory")))
def test_columns_bound_as_quantities_are_bounded(
    drawn: list[tuple[ContainerPolicy | None, int]], maximum: str, resource: str
) -> None:
    """Spec: limits:4, recommender:4.4."""
    bounds = PolicyBounds.of(policy for policy, _ in drawn).with_maximum(amounts(maximum), len(drawn))
    figures = np.array([[figure for _, figure in drawn]], dtype=np.int64)
    found = bounds.apply(figures, resource)
    assert found.shape == figures.shape
    for code, (policy, figure) in zip(found[0].tolist(), drawn, strict=True):
        given_amount = as_quantity(figure, resource)
        expected = policy_bounds(policy, amounts(maximum)).apply({resource: given_amount})[0][resource]
        shown: Quantity = bounds.typed.quantities[~code] if code < 0 else as_quantity(code, resource)
        assert (shown, str(shown)) == (expected, str(expected))


@given(st.lists(POLICIES, max_size=4), TYPED, st.sampled_from(("cpu", "memory")))
def test_upper_bounds_are_rounded_up(policies: list[ContainerPolicy | None], maximum: str, resource: str) -> None:
    """Spec: beyond:B-15."""
    bounds = PolicyBounds.of(policies).with_maximum(amounts(maximum), len(policies))
    if not bounds.typed.quantities:
        return
    for found, policy in zip(bounds.upper(resource).tolist(), policies, strict=True):
        bound = policy_bounds(policy, amounts(maximum)).maximum.get(resource)
        is_none = bound is None or bound.is_zero()
        assert found == (MAX_INT64 if is_none else min(from_quantity(bound, resource), MAX_INT64))


@given(st.lists(POLICIES, max_size=4), st.sampled_from(("cpu", "memory")))
def test_lower_bounds_are_rounded_up(policies: list[ContainerPolicy | None], resource: str) -> None:
    """Spec: beyond:B-11."""
    bounds = PolicyBounds.of(policies)
    if not bounds.typed.quantities:
        return
    for found, policy in zip(bounds.lower(resource).tolist(), policies, strict=True):
        bound = policy_bounds(policy, {}).minimum.get(resource)
        assert found == min(from_quantity(bound, resource), MAX_INT64)


@pytest.mark.parametrize(
    ("row", "policies"),
    [
        ("recommender:4.4", ()),
        ("recommender:4.4", (None, ContainerPolicy("*"))),
        ("recommender:4.4", (ContainerPolicy("main", controlled_resources=("cpu",)),)),
    ],
)
def test_without_bounds_amounts_stay(row: str, policies: tuple[ContainerPolicy | None, ...]) -> None:
    bounds = PolicyBounds.of(policies)
    assert bounds is NO_BOUNDS, row
    assert bounds.with_maximum({}, len(policies)) is NO_BOUNDS
    assert bounds.apply(integers(1, 2), "cpu").tolist() == [1, 2]


def test_a_quantity_is_listed_once_by_how_it_is_written() -> None:
    policies = [ContainerPolicy("*", max_allowed=amounts(text)) for text in ("1k/-", "1k/-", "1e3/-", "-/1Gi")]
    bounds = PolicyBounds.of(policies)
    assert [str(quantity) for quantity in bounds.typed.quantities] == ["1k", "1e3", "1Gi"]
    assert bounds.maximum.tolist() == [[0, 0, 1, NONE], [NONE, NONE, NONE, 2]]
    assert bounds.minimum.tolist() == [[NONE] * 4] * 2
