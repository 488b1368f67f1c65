"""The drawing of the curves."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pytest

from bench.curves import CURVES, Curve
from bench.plot import draw

SPACE = "{http://www.w3.org/2000/svg}"
LINEAR = Curve("R-1", (0.001, 0.01, 0.1), (0.01, 0.1, 1.0))
ALL = [Curve(row, LINEAR.ours, LINEAR.peer) for row in CURVES]


def drawn(*curves: Curve) -> Element:
    return fromstring(draw(curves))


def points(side: str, svg: Element) -> list[list[tuple[float, float]]]:
    lines = [line for line in svg.iter(f"{SPACE}polyline") if line.get("class") == side]
    return [[(float(p.split(",")[0]), float(p.split(",")[1])) for p in line.attrib["points"].split()] for line in lines]


def test_a_power_is_a_straight_line_that_rises_and_more_time_is_above() -> None:
    svg = drawn(LINEAR)
    (ours,), (theirs,) = points("ours", svg), points("theirs", svg)
    for (x1, y1), (x2, y2), (x3, y3) in (ours, theirs):
        assert (x2 - x1, y1 - y2) == pytest.approx((x3 - x2, y2 - y3), abs=0.2)
        assert x1 < x2 < x3
        assert y1 > y2 > y3
    assert [y for _, y in ours][1:] == pytest.approx([y for _, y in theirs][:2], abs=0.2)


def test_every_curve_has_its_name_and_both_exponents() -> None:
    texts = [text.text for text in drawn(*ALL).iter(f"{SPACE}text")]
    for row, what in CURVES.items():
        assert f"{row}: {what}" in texts
    assert texts.count("ours 1.00") == texts.count("upstream 1.00") == len(CURVES)
    assert {"1 ms", "10 ms", "100 ms", "1 s", "1k", "10k", "100k"} <= set(texts)


@pytest.mark.parametrize(("seconds", "text"), [(1e-6, "1 µs"), (1e-5, "10 µs"), (1000.0, "1,000 s")])
def test_times_are_written_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    texts = [each.text for each in drawn(Curve("R-8", (seconds,) * 3, (seconds,) * 3)).iter(f"{SPACE}text")]
    assert text in texts


def test_everything_lies_within_the_drawing() -> None:
    svg = drawn(*ALL)
    _, _, width, height = (float(part) for part in svg.attrib["viewBox"].split())
    for element in svg.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("cy", height)):
            assert 0.0 <= float(element.get(name, 0)) <= most


def test_it_needs_nothing_beside_it_and_has_colours_for_dark_pages() -> None:
    text = draw(ALL)
    assert "prefers-color-scheme: dark" in text
    assert "href" not in text
    assert "var(" not in text
    assert text.endswith("</svg>\n")


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="measure some with"):
        draw([])
