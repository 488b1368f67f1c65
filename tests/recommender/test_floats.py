"""Vectors were produced by the Go standard library on amd64; Python's own functions miss each of them by one bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.floats import exp2, exp2_each, log, log_each, power, power_each

LOGS = [
    ("0x1.4aec8047292e2p-1", "-0x1.bee92e54922c2p-2"),
    ("0x1.49b39ffb1f57ap-2", "-0x1.221ee0198de40p+0"),
    ("0x1.766ccea52e772p-3", "-0x1.b300910a58dd0p+0"),
    ("0x1.24c403c811427p-2", "-0x1.4089934e89780p+0"),
    ("0x1.b549a0f2382bfp-1", "-0x1.4309c75a79a7ep-3"),
    ("0x1.a8796c630d03cp+0", "0x1.02e7b53cba380p-1"),
    ("0x1.a89316d0be78bp-2", "-0x1.c2c1b65583640p-1"),
    ("0x1.fc602be57a4cbp+0", "0x1.5f410f279a900p-1"),
]
POWERS_OF_TWO = [
    ("-0x1.dce910ff7c988p+0", "0x1.1983e00982e22p-2"),
    ("0x1.b68b0cb103018p+0", "0x1.a3a7a0222252ep+1"),
    ("0x1.8d5386c823234p-1", "0x1.b6607acb40cf0p+0"),
    ("0x1.45b769cbc7128p-1", "0x1.8ddf8accf1330p+0"),
    ("-0x1.babc08cc34894p-2", "0x1.7b6adb9293758p-1"),
    ("-0x1.6c79fd74a2b76p+0", "0x1.7db10bdfe26d6p-2"),
    ("0x1.6457a9fb7cfccp+9", "0x1.9b893991e0e7cp+712"),
    ("-0x1.9b6d9a43edfc8p+8", "0x1.7c87937b1d056p-412"),
]
POWERS = [
    ("0x1.00c31c89b5a32p+0", -0.5, "0x1.ff3d52b7016b3p-1"),
    ("0x1.00c9271667bdcp-1", -200.0, "0x1.1561c8cee7a05p+199"),
    ("0x1.74995f61fafdbp+1", 138.0, "0x1.a6efd7c3872fbp+212"),
    ("0x1.a6ec4c009b7f2p-1", 117.0, "0x1.aacbfacc4a59ep-33"),
    ("0x1.d485349a05dabp+2", 9.0, "0x1.ccb565cee0fedp+25"),
    ("0x1.d79c37096440fp-2", 148.0, "0x1.5edd5f37d7c8cp-166"),
    ("0x1.000d602486c74p+0", -2.0, "0x1.ffca839f0906cp-1"),
    ("0x1.b117d25cc6011p+1", 61.0, "0x1.34ccabfb292dbp+107"),
]


@pytest.mark.parametrize(("x", "expected"), LOGS)
def test_the_logarithm_is_exact_to_the_bit(x: str, expected: str) -> None:
    """Spec: recommender:A."""
    value = float.fromhex(x)
    assert log(value).hex() == float.fromhex(expected).hex() != math.log(value).hex()
    assert log_each(np.array([value]))[0] == float.fromhex(expected)


@pytest.mark.parametrize(("x", "expected"), POWERS_OF_TWO)
def test_the_power_of_two_is_exact_to_the_bit(x: str, expected: str) -> None:
    """Spec: recommender:A."""
    value = float.fromhex(x)
    assert exp2(value).hex() == float.fromhex(expected).hex() != (2.0**value).hex()
    assert exp2_each(np.array([value]))[0] == float.fromhex(expected)


@pytest.mark.parametrize(("x", "y", "expected"), POWERS)
def test_the_power_is_exact_to_the_bit(x: str, y: float, expected: str) -> None:
    """Spec: recommender:A."""
    value = float.fromhex(x)
    assert power(value, y).hex() == float.fromhex(expected).hex() != (value**y).hex()


@given(st.lists(st.floats(min_value=-1200.0, max_value=1200.0), max_size=40))
def test_one_number_and_many_give_the_same_power_of_two(numbers: list[float]) -> None:
    assert exp2_each(np.array(numbers)).tolist() == [exp2(x) for x in numbers]


@given(st.lists(st.floats(min_value=5e-324, max_value=1.7e308), max_size=40))
def test_one_number_and_many_give_the_same_logarithm(numbers: list[float]) -> None:
    assert log_each(np.array(numbers)).tolist() == [log(x) for x in numbers]


@given(st.floats(min_value=1e-3, max_value=1e3), st.integers(min_value=-40, max_value=40))
def test_powers_are_near_what_python_says(x: float, y: int) -> None:
    assert power(x, float(y)) == pytest.approx(x**y, rel=1e-14)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.0, 1.0),
        (10.0, 1024.0),
        (-1.0, 0.5),
        (1024.0, math.inf),
        (-1075.0, 0.0),
        (-1074.0, 5e-324),
        (1023.0, 2.0**1023),
    ],
)
def test_the_power_of_two_at_the_ends_of_the_range(x: float, expected: float) -> None:
    assert exp2(x) == expected
    assert exp2_each(np.array([x, 0.5]))[0] == expected


def test_the_power_of_two_of_infinity() -> None:
    assert exp2_each(np.array([math.inf, -math.inf])).tolist() == [math.inf, 0.0]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (3.0, 0.0, 1.0),
        (1.7, 1.0, 1.7),
        (math.inf, 1.0, math.inf),
        (math.inf, -2.0, 0.0),
        (math.inf, 2.0, math.inf),
        (-math.inf, 3.0, -math.inf),
        (-math.inf, 2.0, math.inf),
        (0.0, -2.0, math.inf),
        (0.0, 3.0, 0.0),
        (9.0, 0.5, 3.0),
        (4.0, -0.5, 0.5),
        (-2.0, 3.0, -8.0),
        (-2.0, -2.0, 0.25),
        (10.0, 400.0, math.inf),
        (10.0, -400.0, 0.0),
    ],
)
def test_powers_of_special_numbers(x: float, y: float, expected: float) -> None:
    """Spec: recommender:A."""
    assert power(x, y) == expected
    assert power_each(np.array([x]), y).tolist() == [expected]


def test_nothing_in_nothing_out() -> None:
    nothing = np.empty(0)
    assert exp2_each(nothing).size == log_each(nothing).size == power_each(nothing, -2.0).size == 0


@pytest.mark.parametrize("x", [0.0, -1.0, math.inf, math.nan])
def test_a_logarithm_needs_a_positive_number(x: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        log(x)
    with pytest.raises(ValueError, match="positive"):
        log_each(np.array([1.0, x]))


@pytest.mark.parametrize(("x", "y"), [(2.0, 0.3), (math.nan, 2.0), (-1.0, 0.5)])
def test_a_power_needs_a_whole_exponent_and_a_number(x: float, y: float) -> None:
    with pytest.raises(ValueError, match="power with exponent"):
        power(x, y)
