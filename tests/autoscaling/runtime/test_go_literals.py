"""Go's and Prometheus' spellings; the results were seen at upstream's binaries or Go's library."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.runtime.go_literals import (
    format_duration,
    format_float,
    format_prometheus_duration,
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_prometheus_duration,
)

DURATIONS = [
    ("0", "0s"),
    ("-0", "0s"),
    ("0s", "0s"),
    ("-5s", "-5s"),
    ("1.5h", "1h30m0s"),
    ("5us", "5µs"),
    ("5µs", "5µs"),
    ("5\u03bcs", "5µs"),
    ("1h30m", "1h30m0s"),
    (".5s", "500ms"),
    ("1.s", "1s"),
    ("+1m", "1m0s"),
    ("90s", "1m30s"),
    ("100ms", "100ms"),
    ("1.5ms", "1.5ms"),
    ("1m1m", "2m0s"),
    ("-.5s", "-500ms"),
    ("24h", "24h0m0s"),
    ("61.000001s", "1m1.000001s"),
    ("1000000ns", "1ms"),
    ("2562047h47m16.854775s", "2562047h47m16.854775s"),
    ("-2562047h47m16.854775s", "-2562047h47m16.854775s"),
]


@pytest.mark.parametrize(("text", "canonical"), DURATIONS)
def test_durations_are_read_and_printed_as_go_does(text: str, canonical: str) -> None:
    assert format_duration(parse_duration(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1d",
        "1H",
        "1 m",
        "1h1",
        "1e3s",
        "s",
        ".s",
        "--",
        "-",
        "+-1s",
        "1m ",
        "3000000h",
        "2562047h47m16.854776s",
    ],
)
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a duration|longer than 292 years"):
        parse_duration(text)


def test_a_duration_finer_than_a_microsecond_is_refused_rather_than_rounded() -> None:
    with pytest.raises(ValueError, match="finer than a microsecond"):
        parse_duration("1ns")


@given(st.integers(-(2**63 // 1000), 2**63 // 1000))
def test_a_printed_duration_reads_back(microseconds: int) -> None:
    duration = timedelta(microseconds=microseconds)
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0s"),
        ("0s", "0s"),
        ("8d", "8d"),
        ("1h30m", "1h30m"),
        ("90m", "1h30m"),
        ("14d", "2w"),
        ("15d", "15d"),
        ("365d", "1y"),
        ("1y1d", "366d"),
        ("100ms", "100ms"),
        ("1w2d3h4m5s6ms", "9d3h4m5s6ms"),
    ],
)
def test_prometheus_durations_are_read_and_printed_as_prometheus_does(text: str, canonical: str) -> None:
    assert format_prometheus_duration(parse_prometheus_duration(text)) == canonical


@pytest.mark.parametrize("text", ["", "1", "1.5h", "30m1h", "-1h", "1h 30m", "1H", "293y"])
def test_other_prometheus_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Prometheus duration|longer"):
        parse_prometheus_duration(text)


@given(st.integers(0, 9 * 10**12))
def test_a_printed_prometheus_duration_reads_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_prometheus_duration(format_prometheus_duration(duration)) == duration


@pytest.mark.parametrize("text", ["1", "t", "T", "true", "True", "TRUE"])
def test_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "false", "False", "FALSE"])
def test_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "tRUE", "on", "2", " true"])
def test_other_truth_values_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("0x10", 16),
        ("-0XfF", -255),
        ("1_0", 10),
        ("010", 8),
        ("-010", -8),
        ("0_7", 7),
        ("00", 0),
        ("0b11", 3),
        ("0o17", 15),
        ("+5", 5),
        ("-3", -3),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_whole_numbers_in_any_base(text: str, number: int) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize(
    "text",
    ["", " 3", "3 ", "1__0", "1.0", "1e3", "08", "0x", "abc", "٣", "9223372036854775808", "-9223372036854775809"],
)
def test_other_whole_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a whole number|outside"):
        parse_int(text)


def test_base_ten_only() -> None:
    assert parse_int("010", any_base=False) == 10
    with pytest.raises(ValueError, match="not a whole number"):
        parse_int("0x3", any_base=False)


def test_whole_numbers_have_limits() -> None:
    assert parse_int("0", lowest=0) == 0
    with pytest.raises(ValueError, match="outside 0 to"):
        parse_int("-1", lowest=0)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e3", 1000.0), ("0x1p-2", 0.25), ("1_0", 10.0), (".5", 0.5), ("5.", 5.0), ("+0.5", 0.5), ("1e-400", 0.0)],
)
def test_floats(text: str, number: float) -> None:
    assert parse_float(text) == number


@pytest.mark.parametrize("text", ["", "abc", " 1", "1 ", "NaN", "inf", "-Inf", "1e400", "0x10", "٣"])
def test_other_floats_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number|not a finite number"):
        parse_float(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (0.5, "0.5"),
        (655.36, "655.36"),
        (123456.789, "123456.789"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (-1e6, "-1e+06"),
        (1234567.0, "1.234567e+06"),
        (12345678.9, "1.23456789e+07"),
        (104857600.0, "1.048576e+08"),
        (16.384e9, "1.6384e+10"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_floats_print_as_in_go(number: float, text: str) -> None:
    assert format_float(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back(number: float) -> None:
    assert parse_float(format_float(number)) == number
