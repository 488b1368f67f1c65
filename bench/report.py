"""``python -m bench.report``: the figures that are stored, as a table in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from bench.__main__ import RESULTS
from bench.figures import Unit, amount


class _Spread(msgspec.Struct):
    median: float


class _Target(msgspec.Struct):
    bound: str
    value: float


class _Figure(msgspec.Struct):
    name: str
    unit: Unit
    ours: _Spread
    peer: _Spread | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    target: _Target | None = None
    met: bool | None = None


class _Record(msgspec.Struct):
    quick: bool
    figures: list[_Figure]


_HEAD = "| figure | ours | upstream | ratio | ratio by CPU time | target | met |\n|---|---|---|---|---|---|---|"
_VERDICTS = {True: "yes", False: "no", None: "-"}


def table(files: Iterable[Path]) -> str:
    """Return the table of the figures in some files, those of reduced sizes left out."""
    records = (msgspec.json.decode(path.read_bytes(), type=_Record) for path in sorted(files))
    return "\n".join([_HEAD, *(_line(one) for record in records if not record.quick for one in record.figures)])


def _line(figure: _Figure) -> str:
    return f"| {' | '.join(_cells(figure))} |"


def _cells(figure: _Figure) -> Iterator[str]:
    yield figure.name
    yield amount(figure.ours.median, figure.unit)
    yield "-" if figure.peer is None else amount(figure.peer.median, figure.unit)
    for ratio in (figure.ratio, figure.cpu_ratio):
        yield "-" if ratio is None else f"{ratio:.3g}"
    yield "-" if figure.target is None else f"{figure.target.bound} {figure.target.value:g}"
    yield _VERDICTS[figure.met]


if __name__ == "__main__":
    sys.stdout.write(table(RESULTS.glob("*.json")) + "\n")
