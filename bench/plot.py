"""The curves as a drawing: one small field for each row, time over containers, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from bench.curves import CURVES, SIZES, Curve

_STYLE: Final = """
.page { fill: #fff; }
text { fill: #1f2328; font: 12px system-ui, sans-serif; }
.title { font-weight: 600; }
.tick { font-size: 11px; }
.grid { stroke: #888; stroke-opacity: .4; }
polyline { fill: none; stroke-width: 2; }
polyline.ours { stroke: #0b6e4f; }
polyline.theirs { stroke: #b3471b; stroke-dasharray: 7 4; }
circle.ours, text.ours { fill: #0b6e4f; }
circle.theirs, text.theirs { fill: #b3471b; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; }
  text { fill: #e6edf3; }
  polyline.ours { stroke: #58c99b; }
  polyline.theirs { stroke: #f09a6a; }
  circle.ours, text.ours { fill: #58c99b; }
  circle.theirs, text.theirs { fill: #f09a6a; }
}
"""
_COLUMNS: Final = 3
_WIDTH, _HEIGHT = 190.0, 150.0
"""Of the field between the axes."""

_LEFT, _TOP, _GAP = 62.0, 74.0, 24.0
_ROW_GAP: Final = 76.0
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SIDES: Final = ("ours", "theirs")


@dataclass(frozen=True, slots=True)
class _Field:
    """Where one row is drawn.

    Args:
        left: Of its axes.
        top: Likewise.
        decades: Powers of ten at the lower and the upper end.
    """

    left: float
    top: float
    decades: tuple[int, int]

    def x(self, place: int) -> float:
        """Return where the n-th size is; each is as many times as large as the one before."""
        return self.left + _WIDTH * place / (len(SIZES) - 1)

    def y(self, seconds: float) -> float:
        """Return where a time is."""
        low, high = self.decades
        return self.top + _HEIGHT * (high - math.log10(seconds)) / (high - low)


def draw(curves: Sequence[Curve]) -> str:
    """Return the drawing as SVG that needs nothing beside it, legible on light and on dark pages.

    Raises:
        ValueError: There is nothing to be drawn.
    """
    if not curves:
        raise ValueError("no curves to draw; measure some with `python -m bench.curves`")
    columns = min(_COLUMNS, len(curves))
    rows = -(-len(curves) // columns)
    width = _LEFT + columns * (_WIDTH + _GAP)
    height = _TOP + rows * _HEIGHT + (rows - 1) * _ROW_GAP + 44
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:g} {height:g}", "role": "img"})
    SubElement(svg, "title").text = "CPU time of Evenkeel and of upstream by the number of containers"
    SubElement(svg, "style").text = _STYLE
    SubElement(svg, "rect", {"class": "page", "width": "100%", "height": "100%"})
    _write(svg, _LEFT, 20, "CPU time by the number of containers; exponents are fitted, 1 is linear growth")
    decades = _decades(curves)
    for place, curve in enumerate(curves):
        column, row = place % columns, place // columns
        field = _Field(_LEFT + column * (_WIDTH + _GAP), _TOP + row * (_HEIGHT + _ROW_GAP), decades)
        _draw_axes(svg, field, is_first=column == 0)
        _draw_curve(svg, field, curve)
    indent(svg)
    return f"{tostring(svg, encoding='unicode')}\n"


def _decades(curves: Sequence[Curve]) -> tuple[int, int]:
    """Return the powers of ten that all curves lie between."""
    times = [seconds for curve in curves for side in (curve.ours, curve.peer) for seconds in side]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    return low, max(high, low + 1)


def _draw_axes(svg: Element, field: _Field, *, is_first: bool) -> None:
    """Draw a line for each power of ten and the sizes below; times are written beside the first field of a row."""
    low, high = field.decades
    for power in range(low, high + 1):
        y = field.y(10.0**power)
        ends = {"x1": f"{field.left:g}", "x2": f"{field.left + _WIDTH:g}", "y1": f"{y:.1f}", "y2": f"{y:.1f}"}
        SubElement(svg, "line", {"class": "grid", **ends})
        if is_first:
            _write(svg, field.left - 8, y + 4, _time_text(power), "tick", anchor="end")
    for place, size in enumerate(SIZES):
        anchor = ("start", "middle", "end")[0 if place == 0 else 2 if place == len(SIZES) - 1 else 1]
        _write(svg, field.x(place), field.top + _HEIGHT + 16, size, "tick", anchor=anchor)


def _time_text(power: int) -> str:
    """Return a power of ten in seconds with the unit that suits it."""
    seconds = 10.0**power
    unit, name = next((each for each in _UNITS if seconds >= each[0] * 0.999), _UNITS[-1])
    return f"{round(seconds / unit):,} {name}"


def _draw_curve(svg: Element, field: _Field, curve: Curve) -> None:
    """Draw both sides of a row, with its name and the exponents above."""
    _write(svg, field.left, field.top - 28, f"{curve.row}: {CURVES[curve.row]}", "title")
    labels = [f"{who} {e:.2f}" for who, e in zip(("ours", "upstream"), curve.exponents, strict=True)]
    for place, (side, times) in enumerate(zip(_SIDES, (curve.ours, curve.peer), strict=True)):
        points = [(field.x(n), field.y(seconds)) for n, seconds in enumerate(times)]
        SubElement(svg, "polyline", {"class": side, "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points)})
        for x, y in points:
            SubElement(svg, "circle", {"class": side, "cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3"})
        _write(svg, field.left + place * 70, field.top - 11, labels[place], side)


def _write(svg: Element, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
    place = {"x": f"{x:g}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(svg, "text", {**place, "class": kind} if kind else place).text = text
