"""A comparison as a page of HTML."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.quantity import ZERO
from evenkeel.comparison.comparing import Comparison, Row
from evenkeel.comparison.page import page
from evenkeel.comparison.report import Measure, report
from evenkeel.comparison.use import ObservedUse, UseSample
from tests.builders import T0
from tests.evenkeel.comparison.test_report import ALONE, HIGHER, LOOK, SAME
from tests.evenkeel.outline import read


def rendered(*rows: Row, threshold: float | None = None, use: ObservedUse | None = None) -> str:
    made = report(Comparison(rows, ("a <note> & more",)), Measure(LOOK, 90.0, threshold))
    return page(made, use or ObservedUse({}), T0)


def test_the_page_holds_every_row_with_its_drawing() -> None:
    outline = read(rendered(HIGHER, SAME, ALONE))
    heading, higher, same, alone = outline.rows
    assert len({len(row) for row in outline.rows}) == 1, "beyond:B-35"
    assert heading[:5] == ["Object", "Container", "Resource", "Ours", "Theirs"]
    assert higher[:9] == ["shop/web", "main", "cpu", "200m", "100m", "50.0 %", "ours is higher", "110m", "theirs"]
    assert same[2:7] == ["memory", "100m", "100m", "0.0 %", "same"]
    assert alone[1:7] == ["late", "cpu", "100m", "-", "-", "only ours"]
    assert len([attributes for attributes in outline.named("svg") if attributes.get("role") == "img"]) == 3


def test_the_page_needs_nothing_beside_it_and_escapes_what_it_is_told() -> None:
    text = rendered(replace(HIGHER, detail="<script>alert(1)</script>", container='"&<b>'))
    outline = read(text)
    assert "://" not in text, "beyond:B-35"
    assert {"script", "link", "img", "iframe", "b"} & {tag for tag, _ in outline.elements} == set()
    assert outline.rows[1][1] == '"&<b>'
    assert "<script>alert(1)</script>" in outline.rows[1][-1]
    assert "a &lt;note&gt; &amp; more" in text
    assert text.startswith("<!DOCTYPE html>\n<html")


def test_rows_beyond_the_threshold_are_marked() -> None:
    outline = read(rendered(HIGHER, SAME, threshold=20.0))
    assert len(list(outline.named("tr", "beyond"))) == 1, "beyond:B-35"


def test_use_is_drawn_over_time_with_both_targets_across() -> None:
    use = ObservedUse({("shop", "web-0"): (("shop", "web"),)})
    for second, amount in enumerate((50, 100, 0)):
        use.note(("shop", "web-0"), "main", "cpu", UseSample(second * 10**9, amount))
    outline = read(rendered(HIGHER, use=use))
    (line,) = outline.named("polyline", "samples")
    points = [tuple(map(float, point.split(","))) for point in (line["points"] or "").split(" ")]
    assert [x for x, _ in points] == [4.0, 130.0, 256.0], "beyond:B-35"
    heights = [80.0 - y for _, y in points]
    assert heights[2] == 0.0
    # Amounts in a text have one decimal.
    assert abs(heights[1] - 2 * heights[0]) <= 0.2
    ours, theirs = (
        80.0 - float(next(each for each in outline.named("line", name) if each["x2"] == "256")["y1"] or "")
        for name in ("ours", "theirs")
    )
    assert abs(theirs - heights[1]) <= 0.1
    assert abs(ours - 2 * theirs) <= 0.2


def test_a_single_look_is_a_dot_and_none_is_nothing() -> None:
    use = ObservedUse({("shop", "web-0"): (("shop", "web"),)})
    use.note(("shop", "web-0"), "main", "cpu", UseSample(10**18, 50))
    assert len(list(read(rendered(HIGHER, use=use)).named("circle", "samples"))) == 1, "beyond:B-35"
    assert list(read(rendered(HIGHER)).named("circle", "samples")) == []


def test_a_page_without_rows_says_so() -> None:
    empty = page(report(Comparison(()), Measure("", 90.0, None)), ObservedUse({}), T0)
    outline = read(empty)
    assert outline.rows == [], "beyond:B-35"
    assert "0 targets" in empty
    assert "No use was looked at." in empty
    assert list(outline.named("ul", "notes")) == []


def test_an_amount_of_nothing_is_drawn_on_the_axis() -> None:
    outline = read(rendered(replace(ALONE, ours=ZERO)))
    _, level = outline.named("line", "ours")
    (axis,) = outline.named("line", "axis")
    assert level["y1"] == axis["y1"] == "80", "beyond:B-35"
