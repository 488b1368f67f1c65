"""Curves over the size of the cluster."""

from __future__ import annotations

import pytest

from bench.catalogue import ROWS
from bench.curves import CURVES, SIZES, Curve, curves, exponent_figure
from bench.row import Benchmark


def test_sizes_are_told_by_their_containers() -> None:
    assert [shape.containers for shape in SIZES.values()] == [1_000, 10_000, 100_000]
    assert list(SIZES) == ["1k", "10k", "100k"]


def test_every_row_on_a_curve_has_a_peer_that_has_to_do_the_same() -> None:
    for row in CURVES:
        assert ROWS[row].run_peer is not Benchmark.run_peer
        assert ROWS[row].check is not Benchmark.check


@pytest.mark.parametrize(
    ("ours", "peer", "exponents"),
    [
        ((0.01, 0.1, 1.0), (0.001, 0.1, 10.0), (1.0, 2.0)),
        ((0.02, 0.02, 0.02), (5.0, 0.5, 0.05), (0.0, -1.0)),
    ],
)
def test_exponents_are_those_of_time_over_containers(
    ours: tuple[float, ...], peer: tuple[float, ...], exponents: tuple[float, float]
) -> None:
    curve = Curve("R-1", ours, peer)
    assert curve.exponents == pytest.approx(exponents, abs=1e-9)
    figure = exponent_figure(curve)
    assert figure.name == "R-1/exponent"
    assert figure.peer is not None
    assert (figure.ours.median, figure.peer.median) == curve.exponents


def test_rows_that_were_measured_at_two_sizes_are_curves_and_others_are_left_out() -> None:
    whole = [(f"R-4/{size}", 1.0 + place, 10.0 + place) for place, size in enumerate(SIZES)]
    part = [("R-1/1k", 0.1, 0.2), ("R-1/10k", 1.0, 20.0), ("R-4/1k/wall", 7.0, 7.0), ("R-4/exponent", 7.0, 7.0)]
    others = [("R-2/1k", 0.1, 0.2), ("R-3/1k", 0.1, 0.2), ("R-3/100k", 0.1, 0.2)]
    short, full = curves([*part, *others, *reversed(whole)])
    assert full == Curve("R-4", (1.0, 2.0, 3.0), (10.0, 11.0, 12.0))
    assert short == Curve("R-1", (0.1, 1.0), (0.2, 20.0))
    assert short.exponents == pytest.approx((1.0, 2.0))
