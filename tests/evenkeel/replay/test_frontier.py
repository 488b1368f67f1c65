"""Slack against shortage (beyond:B-36)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from evenkeel.replay.frontier import CPU_AXES, MEMORY_AXES, WIDTH, frontier_drawing, places


def figures(**pairs: tuple[float, float]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name.replace("_", "-"): {"all": {CPU_AXES.slack: slack, CPU_AXES.shortage: shortage}}
        for name, (slack, shortage) in pairs.items()
    }


@pytest.mark.parametrize(
    ("row", "ours", "theirs", "is_beaten"),
    [
        ("beyond:B-36 more of both", (2.0, 2.0), (1.0, 1.0), True),
        ("beyond:B-36 more of one", (2.0, 1.0), (1.0, 1.0), True),
        ("beyond:B-36 the same", (1.0, 1.0), (1.0, 1.0), False),
        ("beyond:B-36 one for the other", (2.0, 0.5), (1.0, 1.0), False),
        ("beyond:B-36 less of both", (0.5, 0.5), (1.0, 1.0), False),
    ],
)
def test_who_is_beaten(row: str, ours: tuple[float, float], theirs: tuple[float, float], is_beaten: bool) -> None:
    assert places(figures(ours=ours, theirs=theirs), CPU_AXES)[0].is_beaten is is_beaten, row


def test_nobody_is_beaten_by_hindsight() -> None:
    """beyond:B-36: an oracle is shown, and is no rival."""
    ours, oracle = places(figures(ours=(1.0, 1.0), oracle=(0.1, 0.0)), CPU_AXES)
    assert (ours.is_beaten, ours.is_hindsight, oracle.is_hindsight) == (False, False, True)


def test_a_resource_that_is_not_scored_has_no_places() -> None:
    """beyond:B-36."""
    assert places(figures(ours=(1.0, 1.0)), MEMORY_AXES) == ()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_every_name_can_be_read(count: int) -> None:
    """beyond:B-36: labels are within the drawing and apart, also of strategies that are in one place."""
    found = places(figures(**{f"strategy_{number}": (1.0, 0.0) for number in range(count)}), CPU_AXES)
    svg = frontier_drawing(found, CPU_AXES)
    height = float(svg.attrib["viewBox"].split()[3])
    labels = [each for each in svg.iter("text") if each.attrib["text-anchor"] == "start"]
    heights = sorted(float(each.attrib["y"]) for each in labels)
    assert {each.text for each in labels} == {f"strategy-{number}" for number in range(count)}
    assert heights[0] >= 10.0
    assert heights[-1] <= height
    assert all(below - above >= 13.9 for above, below in pairwise(heights))


def test_marks_differ_by_form() -> None:
    """beyond:B-36: and lie within the drawing; a long name is cut."""
    found = places(figures(best=(1.0, 0.5), beaten=(2.0, 1.0), oracle=(0.0, 0.0), **{"n" * 40: (3.0, 2.0)}), CPU_AXES)
    svg = frontier_drawing(found, CPU_AXES)
    assert [each.attrib["class"] for each in svg.iter("circle")] == ["unbeaten", "beaten", "beaten"]
    assert [each.attrib["class"] for each in svg.iter("path")] == ["hindsight"]
    assert all(0 <= float(each.attrib["cx"]) <= WIDTH for each in svg.iter("circle"))
    assert "n" * 18 + "…" in [each.text for each in svg.iter("text")]
