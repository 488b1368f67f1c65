"""Scaling by a ratio and the proportional limit, with their laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.quantity import MAX_INT64, ZERO, Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources
from autoscaling.scaling import Rounding, proportional_limit, scale
from tests.builders import amounts


@pytest.mark.parametrize(
    ("row", "resource", "numbers", "rounding", "wanted", "capped"),
    [
        ("limits:S1", CPU, ("100m", "300m", "1"), Rounding.NONE, "333m", False),
        ("limits:S1", CPU, ("100m", "300m", "1"), Rounding.DOWN, "333m", False),
        ("limits:S1", CPU, ("100m", "300m", "1"), Rounding.UP, "334m", False),
        ("limits:S1", CPU, ("100m", "300m", "900m"), Rounding.UP, "300m", False),
        ("limits:S1", CPU, ("100m", "0", "1"), Rounding.UP, "100m", False),
        ("limits:S1", CPU, ("1k", "1m", f"{MAX_INT64}m"), Rounding.NONE, f"{MAX_INT64}m", True),
        ("limits:S1", MEMORY, ("100", "300", "1000"), Rounding.UP, "333", False),
        ("limits:S1", MEMORY, ("1", "10", "1"), Rounding.NONE, "0", False),
        ("limits:60", MEMORY, ("1", "10", "1"), Rounding.DOWN, "-1", False),
        ("limits:S1", MEMORY, ("1Gi", "2Gi", "1Gi"), Rounding.NONE, "512Mi", False),
        ("limits:S1", MEMORY, ("7Ei", "1", "2"), Rounding.NONE, str(MAX_INT64), True),
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


NO_LIMIT = "cpu: limit NOT set since originalLimit is nil or 0"
NO_REQUEST = "cpu: limit NOT set since recommendedRequest is nil or 0"
TOO_LARGE = "cpu: failed to keep limit to request ratio; capping limit to int64"


@pytest.mark.parametrize(
    ("row", "current", "wanted", "default", "limit", "note"),
    [
        ("limits:S3 ratio", ("100m", "200m"), "150m", "0", "300m", ""),
        ("limits:S3 no limit", ("100m", "-"), "150m", "0", None, NO_LIMIT),
        ("limits:S3 a limit of zero", ("100m", "0"), "150m", "0", None, NO_LIMIT),
        ("limits:S3 the default stands in", ("100m", "-"), "150m", "200m", "300m", ""),
        ("limits:S3 the default stands in for zero", ("100m", "0"), "150m", "200m", "300m", ""),
        ("limits:S3 the default does not beat a limit", ("100m", "200m"), "150m", "900m", "300m", ""),
        ("limits:S3 the smallest limit is one", ("100m", "1n"), "150m", "900m", "1m", ""),
        ("limits:S3 nothing recommended", ("100m", "200m"), "0", "0", None, NO_REQUEST),
        ("limits:S3 no limit comes first", ("100m", "-"), "0", "0", None, NO_LIMIT),
        ("limits:S3 no request", ("-", "200m"), "1500u", "0", "1500u", ""),
        ("limits:S3 equal in thousandths", ("100m", "99900u"), "1500u", "0", "1500u", ""),
        ("limits:S3 not equal in thousandths", ("100m", "100001u"), "1500u", "0", "2m", ""),
        ("limits:S3 floor", ("300m", "1"), "100m", "0", "333m", ""),
        ("limits:S3 the largest", ("1", "2"), f"{MAX_INT64 // 2}m", "0", f"{MAX_INT64 - 1}m", ""),
        ("limits:S3 too large", ("1", "2"), f"{MAX_INT64 // 2 + 1}m", "0", f"{MAX_INT64}m", TOO_LARGE),
    ],
)
def test_the_limit_for_a_request(
    row: str, current: tuple[str, str], wanted: str, default: str, limit: str | None, note: str
) -> None:
    own = ContainerResources(amounts(current[0]), amounts(current[1]))
    found = proportional_limit(CPU, own, Quantity.parse(wanted), Quantity.parse(default))
    assert (None if found.limit is None else str(found.limit), found.note) == (limit, note), row


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
