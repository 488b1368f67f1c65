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
from evenkeel.pages.drawing import Scale, add_line, add_path, drawing

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


def draw(wanted: Drawing) -> Element:
    """Return a drawing as an element of HTML; levels are told apart by their dashes as well as by colour."""
    svg = drawing(wanted.title, WIDTH, HEIGHT)
    levels = (("used", wanted.used), ("theirs", wanted.theirs), ("ours", wanted.ours))
    unit = _NANO_PER_MILLICORE if wanted.resource == CPU else NANO
    heights = [sample.amount * unit for sample in wanted.samples]
    highest = max([level.nano for _, level in levels if level is not None] + heights, default=0) or 1
    scale = Scale(highest * _HEADROOM, HEIGHT - _MARGIN, 2 * _MARGIN - HEIGHT)
    _draw_level(svg, "axis", scale.place(0.0))
    if wanted.samples:
        _draw_use(svg, wanted.samples, [scale.place(height) for height in heights])
    for name, level in levels:
        if level is not None:
            _draw_level(svg, name, scale.place(level.nano))
    return svg


def _draw_level(svg: Element, name: str, place: float) -> None:
    """Draw a line across the drawing."""
    add_line(svg, name, (_MARGIN, place), (WIDTH - _MARGIN, place))


def _draw_use(svg: Element, samples: Sequence[UseSample], heights: Sequence[float]) -> None:
    """Draw use over time; one look alone is a dot."""
    first, last = samples[0].at, samples[-1].at
    across = Scale(max(last - first, 1), _MARGIN, WIDTH - 2 * _MARGIN)
    places = [(across.place(sample.at - first), height) for sample, height in zip(samples, heights, strict=True)]
    if first == last:
        (x, y), *_ = places
        SubElement(svg, "circle", {"class": "samples", "cx": f"{x + 2:.1f}", "cy": f"{y:.1f}", "r": "2.5"})
        return
    add_path(svg, "samples", places)
