"""The tables of docs/performance.md: figures that were measured, and what follows from them.

The page itself keeps the figures, as the files that runs write stay where they were run. What the code or other cells
tell is written anew each time: targets, whether they are met as far as three digits tell, and fitted exponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import msgspec

from bench.catalogue import ROWS, TARGETS
from bench.curves import CURVES, NAME, SIZES, Curve, curves
from bench.figures import Bound, Unit, amount, measured
from evenkeel.cli.generated_part import GeneratedPart

FIGURES: Final = GeneratedPart(
    "<!-- The figures: `make docs` writes targets and verdicts anew, `python -m bench.report` the rest. -->",
    "<!-- End of the figures. -->",
)
GROWTH: Final = GeneratedPart(
    "<!-- The curves: `make docs` writes exponents and the drawing anew, `python -m bench.report` the rest. -->",
    "<!-- End of the curves. -->",
)
_NONE: Final = "-"
_VERDICTS: Final = {True: "yes", False: "no", None: _NONE}
_FIGURES_HEAD: Final = ("figure", "ours", "upstream", "ratio", "ratio by CPU time", "target", "met")
_GROWTH_HEAD: Final = ("row", "what", "side", *SIZES, "exponent")
_SIDES: Final = ("ours", "upstream")


class StoredSpread(msgspec.Struct):
    """What the page shows of a spread in a file that ``bench.record`` wrote."""

    median: float


class StoredFigure(msgspec.Struct):
    """What the page shows of a figure in such a file."""

    name: str
    unit: Unit
    ours: StoredSpread
    peer: StoredSpread | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None


class StoredRecord(msgspec.Struct):
    """What the page shows of such a file."""

    row: str
    quick: bool
    figures: list[StoredFigure]


@dataclass(frozen=True, slots=True)
class Line:
    """A figure as the page has it: what was measured, as text.

    Args:
        name: The figure.
        ours: Our measure.
        peer: The peer's, or a dash.
        ratio: How many times better ours is, or a dash.
        cpu_ratio: The same by CPU time, or a dash.
    """

    name: str
    ours: str
    peer: str
    ratio: str
    cpu_ratio: str

    @classmethod
    def of(cls, figure: StoredFigure) -> Line:
        """Return the line of a figure."""
        return cls(
            figure.name,
            amount(figure.ours.median, figure.unit),
            _NONE if figure.peer is None else amount(figure.peer.median, figure.unit),
            *(_NONE if ratio is None else f"{ratio:.3g}" for ratio in (figure.ratio, figure.cpu_ratio)),
        )

    @property
    def row(self) -> str:
        """The row that it belongs to."""
        return self.name.partition("/")[0]

    @property
    def is_met(self) -> bool | None:
        """Whether its target is met, as far as its digits tell; None without a target or a measure."""
        target = TARGETS.get(self.name)
        if target is None or self.ours == _NONE:
            return None
        if target.bound is Bound.RATIO_AT_LEAST:
            return self.ratio != _NONE and float(self.ratio) >= target.value
        bound = measured(f"{target.value}{target.unit.value if target.unit else ''}")
        ours = measured(self.ours)
        return ours >= bound if target.bound is Bound.OURS_AT_LEAST else ours <= bound

    def cells(self) -> tuple[str, ...]:
        """Return its cells with those that follow from the others."""
        target = TARGETS.get(self.name)
        bound = _NONE if target is None else target.text()
        return self.name, self.ours, self.peer, self.ratio, self.cpu_ratio, bound, _VERDICTS[self.is_met]


def lines(page: str) -> list[Line]:
    """Return the figures that a page has.

    Raises:
        ValueError: It does not mark where they are, or a row of them has other cells.
    """
    return [Line(*cells[:5]) for cells in _rows(FIGURES.read(page), len(_FIGURES_HEAD))]


def growth(page: str) -> list[Curve]:
    """Return the curves that a page has.

    Raises:
        ValueError: It does not mark where they are, or a row of them has other cells.
    """
    rows = {(row, side): cells for row, _, side, *cells in _rows(GROWTH.read(page), len(_GROWTH_HEAD))}
    return [
        Curve(row, *(tuple(measured(cell) for cell in rows[row, side][:-1] if cell != _NONE) for side in _SIDES))
        for row in CURVES
        if all((row, side) in rows for side in _SIDES)
    ]


def render(page: str, records: Sequence[StoredRecord] = ()) -> str:
    """Return a page with its tables written anew; a row that was never measured has dashes.

    Args:
        page: The page.
        records: What was measured since; each takes the place of what the page has of its row. Reduced sizes do not
            count.

    Raises:
        ValueError: The page does not mark where its tables are, or a row of them has other cells.
    """
    whole = [record for record in records if not record.quick]
    newer = {record.row: [Line.of(figure) for figure in record.figures] for record in whole if record.row != NAME}
    kept = [line for line in lines(page) if line.row not in newer]
    known = {row: list(members) for row, members in groupby(sorted(kept, key=_row_of), _row_of)} | newer
    by_row = {name: [Line(figure, *[_NONE] * 4) for figure in row.targets] for name, row in ROWS.items()} | known
    drawn = [_stored_curves(record) for record in whole if record.row == NAME] or [growth(page)]
    page = FIGURES.write(page, table(line for row in sorted(by_row) for line in by_row[row]))
    return GROWTH.write(page, _growth_table(drawn[-1]))


def _row_of(line: Line) -> str:
    return line.row


def _stored_curves(record: StoredRecord) -> list[Curve]:
    points = [(f.name, f.ours.median, f.peer.median) for f in record.figures if f.peer is not None]
    return curves(points)


def table(figures: Iterable[Line]) -> str:
    """Return figures as a table."""
    return _table(_FIGURES_HEAD, (line.cells() for line in figures))


def _growth_table(drawn: Iterable[Curve]) -> str:
    return _table(_GROWTH_HEAD, (cells for curve in drawn for cells in _growth_cells(curve)))


def _growth_cells(curve: Curve) -> Iterator[tuple[str, ...]]:
    """Yield one row for each side; the exponents are those of the texts, so that they are the same next time."""
    texts = [[amount(seconds, Unit.SECONDS) for seconds in side] for side in (curve.ours, curve.peer)]
    shown = Curve(curve.row, *(tuple(map(measured, side)) for side in texts))
    for side, cells, exponent in zip(_SIDES, texts, shown.exponents, strict=True):
        missing = [_NONE] * (len(SIZES) - len(cells))
        yield curve.row, CURVES[curve.row], side, *cells, *missing, f"{exponent:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    body = "".join(f"{_row(cells)}\n" for cells in rows)
    return f"{_row(head)}\n|{'---|' * len(head)}\n{body}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(text: str, width: int) -> list[list[str]]:
    """Return the cells of a table below its head.

    Raises:
        ValueError: A row has another number of cells.
    """
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    for cells in rows:
        if len(cells) != width:
            raise ValueError(f"the row {' | '.join(cells)!r} has {len(cells)} cells; it should have {width}")
    return rows
