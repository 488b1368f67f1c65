"""How work grows with the cluster: ``python -m bench.curves`` runs some benchmarks at several sizes.

What is fitted is CPU time, which tells more of growth than the clock does on a machine that does other things as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from bench.__main__ import RESULTS
from bench.catalogue import ROWS
from bench.cluster import Shape
from bench.duel import DuelPool
from bench.errors import DisagreementError, PeerError
from bench.figures import Figure, Spread, Unit, fitted_exponent
from bench.record import write_record
from bench.row import Setting, measure

SIZES: Mapping[str, Shape] = {"1k": Shape(100, 5), "10k": Shape(1_000, 5), "100k": Shape(10_000, 5)}
"""Clusters by their number of containers."""

CURVES: Mapping[str, str] = {
    "R-1": "one tick from arrays",
    "R-2": "one tick from bytes",
    "R-3": "statuses of all VPAs",
    "R-8": "checkpoints of all VPAs",
    "R-4": "whole round",
    "U-1": "plan of the updater",
}
"""The rows that are measured at each size, and what they do."""

NAME = "curves"


@dataclass(frozen=True, slots=True)
class Curve:
    """CPU seconds of a row at each of ``SIZES``, or at the first ones where the others are not measured yet.

    Args:
        row: The row.
        ours: Of ours.
        peer: Of the peer.
    """

    row: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def exponents(self) -> tuple[float, float]:
        """The fitted exponents of ours and of the peer: 1 where time grows as the number of containers does."""
        containers = [shape.containers for shape in SIZES.values()][: len(self.ours)]
        return fitted_exponent(containers, self.ours), fitted_exponent(containers, self.peer)


def curves(figures: Sequence[tuple[str, float, float]]) -> list[Curve]:
    """Return the curves of rows that were measured at two sizes at least, from the smallest one on.

    Args:
        figures: Names such as ``R-1/10k``, CPU seconds of ours and of the peer.
    """
    sides = {name: (ours, peer) for name, ours, peer in figures}
    points = {
        row: [sides[name] for name in takewhile(sides.__contains__, (f"{row}/{size}" for size in SIZES))]
        for row in CURVES
    }
    return [Curve(row, *zip(*each, strict=True)) for row, each in points.items() if len(each) > 1]


def exponent_figure(curve: Curve) -> Figure:
    """Return the exponents of a curve as a figure."""
    ours, peer = (Spread.of([exponent]) for exponent in curve.exponents)
    return Figure(f"{curve.row}/exponent", ours, peer, Unit.EXPONENT)


def _measure_sizes(folder: Path) -> list[Figure]:
    """Run all rows at all sizes, and print each figure as soon as it is there.

    Raises:
        DisagreementError: The two sides of a row did not do the same work.
        PeerError: The peer could not do what it was asked for.
    """
    pool, figures = DuelPool(folder), []
    try:
        for size, shape in SIZES.items():
            for row in CURVES:
                first, *_ = measure(ROWS[row](Setting(folder, is_quick=True, duels=pool, cluster=shape)))
                points = _points(first, f"{row}/{size}")
                figures += points
                for figure in points:
                    print(figure.line(), figure.detail(), sep="\n", flush=True)
    finally:
        pool.close()
    return figures


def _points(figure: Figure, name: str) -> list[Figure]:
    """Return the CPU time of a figure, and its time by the clock beside it."""
    assert figure.ours_cpu is not None
    by_clock = Figure(f"{name}/wall", figure.ours, figure.peer, note=figure.note)
    return [Figure(name, figure.ours_cpu, figure.peer_cpu, note="CPU time"), by_clock]


def main(words: Sequence[str] | None = None) -> int:
    """Measure, fit, print and write; 1 if the two sides of a row did not do the same work.

    Args:
        words: The command line; that of the process where there is none.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.curves", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON file")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
        try:
            figures = _measure_sizes(Path(folder))
        except (DisagreementError, PeerError) as error:
            print(f"bench: {NAME} FAILED: {error}", file=sys.stderr, flush=True)
            return 1
    medians = [(each.name, each.ours.median, each.peer.median) for each in figures if each.peer is not None]
    exponents = [exponent_figure(curve) for curve in curves(medians)]
    for figure in exponents:
        print(figure.line(), flush=True)
    write_record(arguments.results, NAME, [*figures, *exponents], is_quick=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
