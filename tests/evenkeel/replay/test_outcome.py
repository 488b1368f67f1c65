"""What a replay came to, row by row (beyond:B-36)."""

from __future__ import annotations

from evenkeel.replay.outcome import tidy_rows
from tests.evenkeel.replay.results import lively, outcome
from tests.evenkeel.replay.series import trace


def test_a_row_for_each_figure() -> None:
    """beyond:B-36: without those that a series does not have."""
    found = outcome([lively("a", "x"), trace([1.0] * 24, name="b", source="y")], "static", "oracle")
    rows = list(tidy_rows(found))
    assert len({row[:4] for row in rows}) == len(rows)
    assert {row[:3] for row in rows} == {(s, n, g) for s, n in (("x", "a"), ("y", "b")) for g in ("static", "oracle")}
    values = {row[1:4]: row[4] for row in rows}
    assert values["a", "static", "memory_slack"] == found.scores["static"].slack[1, 0]
    assert ("b", "static", "memory_slack") not in values
    assert values["b", "static", "monthly_cost_of_use"] == 730.0


def test_bills_of_all_strategies() -> None:
    """beyond:B-36."""
    found = outcome([lively("a", "x"), lively("b", "y")], "static", "oracle")
    assert {name: list(each) for name, each in found.bills().items()} == {
        "static": ["all", "x", "y"],
        "oracle": ["all", "x", "y"],
    }
    assert found.days == 6.0
