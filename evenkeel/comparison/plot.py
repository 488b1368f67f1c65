"""What one container used over time with both targets across it, as a drawing that stands in the page itself.

Spec: beyond:B-35.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement

from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import CPU
from evenkeel.comparison.use import UseSample

WIDTH: Final = 260
HEIGHT: Final = 84
_MARGIN: Final = 4.0
_NANO_PER_MILLICORE: Final = 10**6
_HEADROOM: Final = 1.08


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn.

    Args:
        title: What a reader is told who cannot see it.
        resource: ``cpu`` or ``memory``.
        ours: Our target; None for none.
        theirs: Upstream's target; None for none.
        used: The percentile of use; None for none.
        samples: The most that any pod used, the oldest first.
    """

    title: str
    resource: str
    ours: Quantity | None
    theirs: Quantity | None
    used: Quantity | None
    samples: Sequence[UseSample] = ()


def draw(drawing: Drawing) -> Element:
    """Return a drawing as an element of HTML; levels are told apart by their dashes as well as by colour."""
    svg = Element("svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": str(WIDTH), "height": str(HEIGHT)})
    svg.set("role", "img")
    SubElement(svg, "title").text = drawing.title
    levels = (("used", drawing.used), ("theirs", drawing.theirs), ("ours", drawing.ours))
    unit = _NANO_PER_MILLICORE if drawing.resource == CPU else NANO
    heights = [sample.amount * unit for sample in drawing.samples]
    highest = max([level.nano for _, level in levels if level is not None] + heights, default=0) or 1
    scale = (HEIGHT - 2 * _MARGIN) / (highest * _HEADROOM)
    SubElement(svg, "line", _line(0.0, {"class": "axis"}))
    if drawing.samples:
        _draw_use(svg, drawing.samples, [height * scale for height in heights])
    for name, level in levels:
        if level is not None:
            SubElement(svg, "line", _line(level.nano * scale, {"class": name}))
    return svg


def _line(height: float, attributes: dict[str, str]) -> dict[str, str]:
    """Return a line across the drawing at a height above its axis."""
    y = f"{HEIGHT - _MARGIN - height:.1f}"
    return {"x1": f"{_MARGIN:g}", "x2": f"{WIDTH - _MARGIN:g}", "y1": y, "y2": y} | attributes


def _draw_use(svg: Element, samples: Sequence[UseSample], heights: Sequence[float]) -> None:
    """Draw use over time; one look alone is a dot."""
    first, last = samples[0].at, samples[-1].at
    width = (WIDTH - 2 * _MARGIN) / max(last - first, 1)
    places = [
        (_MARGIN + (sample.at - first) * width, HEIGHT - _MARGIN - height)
        for sample, height in zip(samples, heights, strict=True)
    ]
    if first == last:
        (x, y), *_ = places
        SubElement(svg, "circle", {"class": "samples", "cx": f"{x + 2:.1f}", "cy": f"{y:.1f}", "r": "2.5"})
        return
    SubElement(svg, "polyline", {"class": "samples", "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in places)})
