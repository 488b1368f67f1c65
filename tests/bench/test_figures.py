"""Runs to figures, and the lines that report them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Bound, Figure, Run, Spread, Target, Unit, amount, fitted_exponent, measured, percentile


def spread(*values: float) -> Spread:
    return Spread.of(values)


def test_a_spread_is_median_and_extremes() -> None:
    assert spread(3.0, 1.0, 2.0) == Spread(2.0, 1.0, 3.0, 3)
    assert spread(1.0, 2.0, 3.0, 10.0).median == 2.5
    assert spread(1.0, 3.0).scaled(10) == Spread(20.0, 10.0, 30.0, 2)


def test_nothing_measured_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no measures"):
        Spread.of([])


def test_a_run_tells_its_measures_by_name() -> None:
    run = Run(1.5, 1.0, {"p99": 0.2})
    assert (run.value("wall"), run.value("cpu"), run.value("p99")) == (1.5, 1.0, 0.2)
    with pytest.raises(KeyError):
        run.value("p50")


@pytest.mark.parametrize(
    ("figure", "line"),
    [
        (
            Figure("R-4", spread(0.41), spread(1.52), target=Target(Bound.RATIO_AT_LEAST, 5)),
            "bench: R-4 ours=0.41s peer=1.52s ratio=3.71 target=5 MISS",
        ),
        (
            Figure("R-1", spread(0.0101), spread(1.01), target=Target(Bound.RATIO_AT_LEAST, 80)),
            "bench: R-1 ours=10.1ms peer=1.01s ratio=100 target=80 ok",
        ),
        (
            Figure("R-5", spread(400.0), spread(2000.0), Unit.MEBIBYTES),
            "bench: R-5 ours=400MiB peer=2000MiB ratio=5 target=-",
        ),
        (
            Figure("A-2", spread(3000.0), spread(1500.0), Unit.PER_SECOND, Target(Bound.RATIO_AT_LEAST, 1.5), True),
            "bench: A-2 ours=3000/s peer=1500/s ratio=2 target=1.5 ok",
        ),
        (
            Figure("S-1/list", spread(19999.0), unit=Unit.PER_SECOND, target=Target(Bound.OURS_AT_LEAST, 20000)),
            "bench: S-1/list ours=19999/s peer=- ratio=- target=>=20000/s MISS",
        ),
        (
            Figure("S-2", spread(6.5), target=Target(Bound.OURS_AT_MOST, 60)),
            "bench: S-2 ours=6.5s peer=- ratio=- target=<=60s ok",
        ),
        (
            Figure("R-9/total", spread(1.01), spread(1.7), Unit.EXPONENT, Target(Bound.OURS_AT_MOST, 1.05)),
            "bench: R-9/total ours=1.01 peer=1.7 ratio=1.68 target=<=1.05 ok",
        ),
    ],
)
def test_one_line_for_each_figure(figure: Figure, line: str) -> None:
    assert figure.line() == line


@pytest.mark.parametrize(
    ("bound", "at", "beyond"),
    [
        (Bound.RATIO_AT_LEAST, 4.0, 3.999),
        (Bound.OURS_AT_LEAST, 4.0, 3.999),
        (Bound.OURS_AT_MOST, 4.0, 4.001),
    ],
)
def test_a_target_is_met_exactly_at_its_bound(bound: Bound, at: float, beyond: float) -> None:
    def judged(value: float) -> bool | None:
        ours, peer = (1.0, value) if bound is Bound.RATIO_AT_LEAST else (value, 1.0)
        return Figure("X", spread(ours), spread(peer), target=Target(bound, 4.0)).is_met

    assert judged(at) is True
    assert judged(beyond) is False


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(Bound.RATIO_AT_LEAST, 80), "ratio >= 80"),
        (Target(Bound.OURS_AT_MOST, 1.05, Unit.EXPONENT), "ours <= 1.05"),
        (Target(Bound.OURS_AT_LEAST, 20_000, Unit.PER_SECOND), "ours >= 20000/s"),
    ],
)
def test_a_target_in_words(target: Target, text: str) -> None:
    assert target.text() == text


def test_a_ratio_needs_a_peer() -> None:
    alone = Figure("X", spread(1.0), target=Target(Bound.RATIO_AT_LEAST, 1))
    assert alone.ratio is None
    assert alone.is_met is False
    assert Figure("X", spread(1.0)).is_met is None
    assert Figure("X", spread(0.0), spread(1.0)).ratio == math.inf


def test_the_detail_tells_spread_cpu_time_and_note() -> None:
    figure = Figure(
        "X", spread(0.02, 0.03, 0.05), spread(1.0, 1.5, 2.0), note="why", ours_cpu=spread(0.02), peer_cpu=spread(3.0)
    )
    assert figure.detail().strip() == "ours 20ms to 50ms in 3; peer 1s to 2s in 3; cpu 20ms : 3s = 150; why"
    assert Figure("X", spread(1.0), ours_cpu=spread(0.5)).detail().strip() == "ours 1s to 1s in 1; cpu 0.5s"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, Unit.SECONDS, "0s"),
        (0.0999, Unit.SECONDS, "99.9ms"),
        (0.1, Unit.SECONDS, "0.1s"),
        (123.4, Unit.SECONDS, "123s"),
        (0.05, Unit.MILLISECONDS, "0.05ms"),
    ],
)
def test_amounts_have_three_digits_and_small_times_are_milliseconds(value: float, unit: Unit, text: str) -> None:
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        (0.0999, Unit.SECONDS, 0.0999),
        (123.4, Unit.SECONDS, 123.0),
        (-0.04, Unit.SECONDS, -0.04),
        (0.05, Unit.MILLISECONDS, 0.00005),
        (1e-9, Unit.SECONDS, 1e-9),
        (1.5, Unit.GIBIBYTES, 1.5),
        (20000.0, Unit.PER_SECOND, 20000.0),
        (1.05, Unit.EXPONENT, 1.05),
    ],
)
def test_amounts_can_be_read_again(value: float, unit: Unit, seconds: float) -> None:
    assert measured(amount(value, unit)) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["-", "", "fast", "3 s", "3h", "ms"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no measure"):
        measured(text)


def test_percentiles_are_measures_that_occurred() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert percentile(values, 0.99) == 99.0
    assert percentile(values, 1.0) == 100.0
    assert percentile([7.0], 0.5) == 7.0
    for bad in (0.0, 1.1):
        with pytest.raises(ValueError, match="percentile"):
            percentile(values, bad)
    with pytest.raises(ValueError, match="percentile"):
        percentile([], 0.5)


@given(st.floats(-1.0, 3.0), st.floats(0.001, 100.0))
def test_the_exponent_of_a_power_is_found(exponent: float, factor: float) -> None:
    sizes = [12_500, 25_000, 50_000, 100_000]
    assert fitted_exponent(sizes, [factor * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-9)
