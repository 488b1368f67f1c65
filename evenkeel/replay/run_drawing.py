"""One resource of one series with one strategy as a drawing (spec: beyond B-36).

Drawings have a bound in size, whatever the number of steps: of steps that share a place the lowest and the highest use
are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from evenkeel.pages.drawing import Scale, add_line, add_path, add_text, drawing, mark_text
from evenkeel.replay.course import CPU_PLACE
from evenkeel.replay.pictures import Run
from evenkeel.replay.trace import DAY_SECONDS

Floats = NDArray[np.float64]

WIDTH: Final = 340
HEIGHT: Final = 144
MOST_SPOTS: Final = 140
"""Places across a drawing at which use, requests and limits are told."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 334.0, 12.0, 118.0
_HEADROOM: Final = 1.05
_UNITS: Final = (
    ((1.0, "cores"), (1e-3, "mcore")),
    ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB")),
)
"""Units of CPU and of memory, the largest first."""


def run_drawing(title: str, run: Run, place: int) -> Element:
    """Return a drawing of one resource.

    Args:
        title: What a reader is told who cannot see it.
        run: What happened.
        place: Which resource.
    """
    svg = drawing(title, WIDTH, HEIGHT)
    lines = [("used", run.uses[place]), ("request", run.requests[place])]
    if place != CPU_PLACE:
        lines.append(("limit", run.limits))
    unit, unit_name = _unit(max(float(np.nanmax(line, initial=0.0)) for _, line in lines), place)
    highest = max(float(np.nanmax(line, initial=0.0)) for _, line in lines) / unit
    up = Scale(highest * _HEADROOM or 1.0, _BOTTOM, _TOP - _BOTTOM)
    across = Scale(max(float(run.seconds[-1]), 1.0), _LEFT, _RIGHT - _LEFT)
    _add_axes(svg, across, up, unit_name)
    spots = _LEFT + (_RIGHT - _LEFT) * run.seconds / across.highest
    for css, line in lines:
        heights = up.origin + up.length * line / unit / up.highest
        for part in _use_parts(spots, heights) if css == "used" else _step_parts(spots, heights):
            add_path(svg, css, part)
    _add_ticks(svg, "resizes", across, run.resizes, f"{_BOTTOM + 1:g}v6")
    if place != CPU_PLACE:
        _add_ticks(svg, "kills", across, run.kills, f"{_TOP - 9:g}l4 7h-8z")
    return svg


def _unit(highest: float, place: int) -> tuple[float, str]:
    """Return the unit in which amounts have few digits, and its name."""
    units = _UNITS[place]
    return next(((size, name) for size, name in units if highest >= size), units[-1])


def _add_axes(svg: Element, across: Scale, up: Scale, unit_name: str) -> None:
    for amount in up.marks(4):
        y = up.place(amount)
        add_line(svg, "axis", (_LEFT, y), (_RIGHT, y))
        # The unit stands at the lowest mark, where there is nothing but a zero to read.
        text = mark_text(amount) if amount else unit_name
        add_text(svg, text, (_LEFT - 4.0, y + 4.0), "end", {"class": "mark"})
    days = Scale(across.highest / DAY_SECONDS, across.origin, across.length)
    marks = days.marks(5)
    for amount in marks:
        text = f"day {mark_text(amount)}" if amount == marks[-1] else mark_text(amount)
        add_text(svg, text, (days.place(amount), _BOTTOM + 21.0), "middle", {"class": "mark"})


def _add_ticks(svg: Element, css: str, across: Scale, seconds: Floats, shape: str) -> None:
    """Draw a mark at each moment, at each pixel once."""
    pixels = np.unique(np.rint([across.place(each) for each in seconds.tolist()]).astype(np.int64)).tolist()
    if pixels:
        SubElement(svg, "path", {"class": css, "d": "".join(f"M{pixel} {shape}" for pixel in pixels)})


def _bins(spots: Floats) -> list[NDArray[np.int64]]:
    """Return the steps that share a place across the drawing."""
    number = np.minimum(((spots - _LEFT) / (_RIGHT - _LEFT) * MOST_SPOTS).astype(np.int64), MOST_SPOTS - 1)
    return [each for each in np.split(np.arange(len(spots)), np.flatnonzero(np.diff(number)) + 1) if len(each)]


def _use_parts(spots: Floats, heights: Floats) -> Sequence[Sequence[tuple[float, float]]]:
    """Return the lines of use, which are interrupted where there is no sample for a while."""
    parts: list[list[tuple[float, float]]] = [[]]
    for chosen in _bins(spots):
        told = chosen[~np.isnan(heights[chosen])]
        if not len(told):
            parts.append([])
            continue
        ends = {int(told[heights[told].argmin()]), int(told[heights[told].argmax()])}
        parts[-1] += [(float(spots[each]), float(heights[each])) for each in sorted(ends)]
    return [part for part in parts if len(part) > 1]


def _step_parts(spots: Floats, heights: Floats) -> Sequence[Sequence[tuple[float, float]]]:
    """Return the line of what stays until it is changed; at each place across the drawing it changes once at most."""
    places: list[tuple[float, float]] = []
    for chosen in _bins(spots):
        told = chosen[~np.isnan(heights[chosen])]
        if not len(told):
            continue
        height = float(heights[told[-1]])
        if not places:
            places.append((float(spots[told[0]]), height))
        elif height != places[-1][1]:
            at = float(spots[told[np.flatnonzero(heights[told] == height)[0]]])
            places += [(at, places[-1][1]), (at, height)]
    return [[*places, (_RIGHT, places[-1][1])]] if places else []
