"""Slack against shortage, strategy by strategy: who has less of the one has more of the other (spec: beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement

from evenkeel.pages.drawing import Scale, add_line, add_path, add_text, drawing, mark_text
from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.figures import ALL
from evenkeel.replay.report import ByStrategy

WIDTH: Final = 360
"""So much that letters are still read where a telephone shows the drawing as wide as it is."""

_LEAST_HEIGHT: Final = 240
_LEFT, _RIGHT, _TOP, _BELOW = 44.0, 222.0, 12.0, 40.0
_LABELS: Final = 240.0
_LABEL_HEIGHT: Final = 14.0
_LONGEST_LABEL: Final = 19
_HEADROOM: Final = 1.06


@dataclass(frozen=True, slots=True)
class Axes:
    """What is held against what; names of figures over all series, and what they are called.

    Args:
        title: Of the drawing.
        slack: What is unused.
        slack_label: Text of its axis.
        shortage: What is lacking.
        shortage_label: Text of its axis.
    """

    title: str
    slack: str
    slack_label: str
    shortage: str
    shortage_label: str


CPU_AXES: Final = Axes("CPU", "cpu_slack_mean", "slack, mean", "cpu_overrun_mean", "overrun, mean")
MEMORY_AXES: Final = Axes(
    "Memory", "memory_slack_mean", "slack, mean", "ooms_1_pooled", "OOM kills per container-day, limit = request"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a strategy is.

    Args:
        name: Of the strategy.
        slack: What is unused.
        shortage: What is lacking.
        is_beaten: Whether another strategy that can be followed has no more of either, and less of one.
        is_hindsight: Whether no recommender can follow it.
    """

    name: str
    slack: float
    shortage: float
    is_beaten: bool
    is_hindsight: bool


def places(figures: ByStrategy, axes: Axes) -> tuple[Place, ...]:
    """Return where the strategies are that have both figures, in their order.

    Args:
        figures: Of all strategies.
        axes: Which two figures count.
    """
    found = {
        name: (by_series[ALL][axes.slack], by_series[ALL][axes.shortage])
        for name, by_series in figures.items()
        if axes.slack in by_series[ALL] and axes.shortage in by_series[ALL]
    }
    rivals = [pair for name, pair in found.items() if name not in IN_HINDSIGHT]

    def is_beaten(pair: tuple[float, float]) -> bool:
        return any(all(a <= b for a, b in zip(rival, pair, strict=True)) and rival != pair for rival in rivals)

    return tuple(Place(name, *pair, is_beaten(pair), name in IN_HINDSIGHT) for name, pair in found.items())


def frontier_drawing(found: Sequence[Place], axes: Axes) -> Element:
    """Return the strategies as marks with their names beside them; marks differ by their form, not by colour alone.

    Args:
        found: At least one.
        axes: What is held against what.
    """
    height = max(_LEAST_HEIGHT, round(_LABEL_HEIGHT * len(found) + _TOP + _BELOW))
    bottom = height - _BELOW
    title = f"{axes.title}: {axes.slack_label} against {axes.shortage_label}, of {len(found)} strategies"
    svg = drawing(title, WIDTH, height)
    across = Scale(_most(place.slack for place in found), _LEFT, _RIGHT - _LEFT)
    up = Scale(_most(place.shortage for place in found), bottom, _TOP - bottom)
    _add_axes(svg, axes, across, up)
    best = sorted((each for each in found if not (each.is_beaten or each.is_hindsight)), key=lambda each: each.slack)
    add_path(svg, "best", [(across.place(each.slack), up.place(each.shortage)) for each in best])
    spots = [(across.place(each.slack), up.place(each.shortage)) for each in found]
    heights = _spread([y for _, y in spots], _TOP + 4.0, bottom)
    for place, (x, y), label in zip(found, spots, heights, strict=True):
        add_line(svg, "lead", (x, y), (_LABELS - 4.0, label - 4.0))
        _add_mark(svg, place, x, y)
        add_text(svg, _shortened(place.name), (_LABELS, label))
    return svg


def _most(amounts: Iterable[float]) -> float:
    """Return where an axis ends."""
    return max(amounts) * _HEADROOM or 1.0


def _add_axes(svg: Element, axes: Axes, across: Scale, up: Scale) -> None:
    """Draw both axes with their marks and what they mean."""
    for amount in across.marks(4):
        x = across.place(amount)
        add_line(svg, "axis", (x, _TOP), (x, up.origin))
        add_text(svg, mark_text(amount), (x, up.origin + 13.0), "middle", {"class": "mark"})
    for amount in up.marks(5):
        y = up.place(amount)
        add_line(svg, "axis", (_LEFT, y), (_RIGHT, y))
        add_text(svg, mark_text(amount), (_LEFT - 4.0, y + 4.0), "end", {"class": "mark"})
    add_text(svg, f"{axes.slack_label} →", (_RIGHT, up.origin + 29.0), "end", {"class": "mark"})


def _add_mark(svg: Element, place: Place, x: float, y: float) -> None:
    """Draw the mark of one strategy: a diamond, or a circle that is full where no other strategy beats it."""
    if place.is_hindsight:
        points = f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"
        SubElement(svg, "path", {"class": "hindsight", "d": points})
        return
    css = "beaten" if place.is_beaten else "unbeaten"
    SubElement(svg, "circle", {"class": css, "cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "4"})


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return places of labels near those that are wanted, far enough apart for each to be read."""
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    spread = [0.0] * len(wanted)
    lowest = top
    for number in order:
        spread[number] = max(wanted[number] + 4.0, lowest)
        lowest = spread[number] + _LABEL_HEIGHT
    highest = bottom + 4.0
    for number in reversed(order):
        spread[number] = min(spread[number], highest)
        highest = spread[number] - _LABEL_HEIGHT
    return spread


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"
