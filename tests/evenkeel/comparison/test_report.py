"""A comparison as text and as JSON."""

from __future__ import annotations

import pytest

from evenkeel.comparison.comparing import Comparison, Row, Verdict
from evenkeel.comparison.distance import Nearer
from evenkeel.comparison.report import Measure, percent, report, report_blocks, why
from evenkeel.comparison.retracing import Step
from evenkeel.inspection.documents import Table, document
from tests.builders import amounts

CPU = {name: amounts(f"{name}/-")["cpu"] for name in ("100m", "110m", "200m")}
HIGHER = Row(
    "shop",
    "web",
    "main",
    "cpu",
    CPU["200m"],
    CPU["100m"],
    50.0,
    Verdict.HIGHER,
    CPU["110m"],
    Nearer.THEIRS,
    Step.MARGIN,
    "ours 1, theirs 0",
    CPU["200m"],
    CPU["100m"],
)
SAME = Row("shop", "web", "main", "memory", CPU["100m"], CPU["100m"], 0.0, Verdict.SAME)
ALONE = Row(
    "shop", "web", "late", "cpu", CPU["100m"], None, None, Verdict.ONLY_OURS, step=Step.PRESENCE, detail="theirs: none"
)
LOOK = "from one look at the metrics API"


def test_a_report_counts_its_rows() -> None:
    made = report(Comparison((HIGHER, SAME, ALONE), ("note",)), Measure(LOOK, 90.0, 20.0))
    assert document(made.summary) == {
        "rows": 3,
        "same": 1,
        "higher": 1,
        "lower": 0,
        "oneSided": 1,
        "nearerOurs": 0,
        "nearerTheirs": 1,
        "beyond": 2,
        "largestDistancePercent": 50.0,
    }, "beyond:B-35"
    assert made.verdict == (
        "3 targets: 1 the same, 1 higher and 0 lower with us, 1 on one side only; nearer to use: 0 ours, 1 theirs; "
        "2 beyond 20 %."
    )


def test_without_a_threshold_nothing_is_beyond_it() -> None:
    made = report(Comparison((HIGHER, ALONE)), Measure("", 90.0, None))
    assert made.summary.beyond == 0, "beyond:B-35"
    assert "beyond" not in made.verdict
    assert "use" not in made.verdict


def test_a_table_has_all_that_is_to_be_said_of_a_row() -> None:
    table, verdict = report_blocks(report(Comparison((HIGHER, SAME, ALONE)), Measure(LOOK, 90.0, None)))
    assert isinstance(table, Table)
    assert table.rows == (
        (
            *("shop", "web", "main", "cpu", "200m", "100m", "50.0 %", "ours is higher", "110m", "theirs"),
            "margin (200m and 100m): ours 1, theirs 0",
        ),
        ("shop", "web", "main", "memory", "100m", "100m", "0.0 %", "same", "-", "-", "-"),
        ("shop", "web", "late", "cpu", "100m", "-", "-", "only ours", "-", "-", "presence: theirs: none"),
    ), "beyond:B-35"
    assert {len(row) for row in table.rows} == {len(table.columns)}
    words, measured = str(verdict).split("\n")
    assert words.startswith("3 targets")
    assert measured == f"Use is percentile 90 of the samples of CPU and of the pods' peaks of memory, {LOOK}."


def test_nothing_to_compare_has_no_table() -> None:
    (verdict,) = report_blocks(report(Comparison(()), Measure("", 90.0, None)))
    assert verdict == "0 targets: 0 the same, 0 higher and 0 lower with us, 0 on one side only.", "beyond:B-35"


def test_a_row_as_json() -> None:
    assert document(HIGHER) == {
        "namespace": "shop",
        "name": "web",
        "container": "main",
        "resource": "cpu",
        "ours": "200m",
        "theirs": "100m",
        "distancePercent": 50.0,
        "verdict": "ours is higher",
        "used": "110m",
        "nearer": "theirs",
        "step": "margin",
        "detail": "ours 1, theirs 0",
        "oursAtStep": "200m",
        "theirsAtStep": "100m",
    }, "beyond:B-35"


@pytest.mark.parametrize(
    ("spec_id", "value", "text"),
    [
        ("beyond:B-35", None, "-"),
        ("beyond:B-35", 0.0, "0.0 %"),
        ("beyond:B-35", 0.0001, "<0.1 %"),
        ("beyond:B-35", 0.1, "0.1 %"),
        ("beyond:B-35", 100.0, "100.0 %"),
    ],
)
def test_a_small_distance_does_not_look_like_none(spec_id: str, value: float | None, text: str) -> None:
    assert percent(value) == text, spec_id


def test_where_nothing_differs_there_is_nothing_to_explain() -> None:
    assert why(SAME) == "-", "beyond:B-35"
