"""Drawings that stand in a page themselves, and scales that lead from amounts to places in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement

_NICE: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps between two marks of an axis, times a power of ten."""


def drawing(title: str, width: int, height: int) -> Element:
    """Return an empty drawing.

    Args:
        title: What a reader is told who cannot see it.
        width: In pixels, where the page has room.
        height: Likewise.
    """
    svg = Element("svg", {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)})
    svg.set("role", "img")
    SubElement(svg, "title").text = title
    return svg


def _pixels(place: float) -> str:
    """Return a place with the tenth of a pixel that can be told apart."""
    return f"{place:.1f}".removesuffix(".0")


def add_path(svg: Element, css: str, places: Iterable[tuple[float, float]]) -> None:
    """Draw a line through places, given from left to right in pixels from the top left corner."""
    points = " ".join(f"{_pixels(x)},{_pixels(y)}" for x, y in places)
    SubElement(svg, "polyline", {"class": css, "points": points})


def add_line(svg: Element, css: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a straight line."""
    (x1, y1), (x2, y2) = begin, end
    places = {"x1": _pixels(x1), "y1": _pixels(y1), "x2": _pixels(x2), "y2": _pixels(y2)}
    SubElement(svg, "line", {"class": css, **places})


def add_text(
    svg: Element, text: str, place: tuple[float, float], anchor: str = "start", more: Mapping[str, str] | None = None
) -> None:
    """Write a short text.

    Args:
        svg: The drawing.
        text: The text.
        place: Of its base line, at the side of its anchor.
        anchor: ``start``, ``middle`` or ``end``.
        more: Further attributes.
    """
    x, y = place
    attributes = {"x": _pixels(x), "y": _pixels(y), "text-anchor": anchor, **(more or {})}
    SubElement(svg, "text", attributes).text = text


@dataclass(frozen=True, slots=True)
class Scale:
    """Leads from amounts, zero and up, to places.

    Args:
        highest: The largest amount, above zero.
        origin: Place of zero, in pixels.
        length: Pixels from there to the largest amount; negative for a scale that goes up.
    """

    highest: float
    origin: float
    length: float

    def place(self, amount: float) -> float:
        """Return where an amount is."""
        return self.origin + self.length * amount / self.highest

    def marks(self, most: int = 5) -> tuple[float, ...]:
        """Return round amounts from zero up, not more than some."""
        step = _round_step(self.highest / most)
        return tuple(step * number for number in range(math.floor(self.highest / step * (1.0 + 1e-9)) + 1))


def _round_step(least: float) -> float:
    """Return the smallest round number that is no less than another one."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next((nice for nice in _NICE if nice * power >= least * (1.0 - 1e-9)), _NICE[-1])


def mark_text(amount: float) -> str:
    """Return the amount of a mark without digits that say nothing."""
    return f"{amount:.4g}"
