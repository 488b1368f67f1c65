"""Scaling by a ratio and the proportional limit, with their laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.quantity import MAX_INT64, ZERO, Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources
from autoscaling.scaling import Rounding, proportional_limit, scale


@pytest.mark.parametrize(
    ("row", "resource", "numbers", "rounding", "wanted", "capped"),
    [
        ("limits:1", CPU, ("100m", "300m", "1"), Rounding.NONE, "333m", False),
        ("limits:1", CPU, ("100m", "300m", "1"), Rounding.DOWN, "333m", False),
        ("limits:1", CPU, ("100m", "300m", "1"), Rounding.UP, "334m", False),
        ("limits:1", CPU, ("100m", "300m", "900m"), Rounding.UP, "300m", False),
        ("limits:1", CPU, ("100m", "0", "1"), Rounding.UP, "100m", False),
        ("limits:1", CPU, ("1k", "1m", f"{MAX_INT64}m"), Rounding.NONE, f"{MAX_INT64}m", True),
        ("limits:1", MEMORY, ("100", "300", "1000"), Rounding.UP, "333", False),
        ("limits:1", MEMORY, ("1", "10", "1"), Rounding.NONE, "0", False),
        ("limits:60", MEMORY, ("1", "10", "1"), Rounding.DOWN, "-1", False),
        ("limits:1", MEMORY, ("1Gi", "2Gi", "1Gi"), Rounding.NONE, "512Mi", False),
        ("limits:1", MEMORY, ("7Ei", "1", "2"), Rounding.NONE, str(MAX_INT64), True),
    ],
)
def test_scale(
    row: str,
    resource: str,
    numbers: tuple[str, str, str],
    rounding: Rounding,
    wanted: str,
    *,
    capped: bool,
) -> None:
    amount, base, ratio = (Quantity.parse(n) for n in numbers)
    result = scale(resource, amount, base, ratio, rounding)
    assert (str(result.quantity), result.is_capped) == (wanted, capped), row


millis = st.integers(1, 10**6).map(Quantity.of_milli)
byte_counts = st.integers(1, 2**40).map(Quantity.of_units)


@given(request=millis, factor=st.integers(1, 50), target=millis)
def test_a_whole_ratio_is_kept_exactly(request: Quantity, factor: int, target: Quantity) -> None:
    current = ContainerResources({CPU: request}, {CPU: Quantity(request.nano * factor)})
    limit = proportional_limit(CPU, current, target, ZERO).limit
    assert limit == Quantity(target.nano * factor)


@given(request=byte_counts, limit=byte_counts, target=byte_counts)
def test_the_limit_is_never_below_the_request_when_it_was_not(
    request: Quantity, limit: Quantity, target: Quantity
) -> None:
    current = ContainerResources({MEMORY: request}, {MEMORY: max(request, limit)})
    new = proportional_limit(MEMORY, current, target, ZERO).limit
    assert new is not None
    assert new >= target


@given(request=millis, limit=millis, lower=millis, higher=millis)
def test_a_larger_request_never_gets_a_smaller_limit(
    request: Quantity,
    limit: Quantity,
    lower: Quantity,
    higher: Quantity,
) -> None:
    current = ContainerResources({CPU: request}, {CPU: limit})
    small, large = (proportional_limit(CPU, current, t, ZERO).limit for t in sorted((lower, higher)))
    assert small is not None
    assert large is not None
    assert small <= large
