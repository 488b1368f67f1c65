"""Findings in their order, and what a terminal shows of them."""

from __future__ import annotations

import pytest

from evenkeel.inspection.documents import Table
from evenkeel.inspection.findings import Area, Finding, Level, diagnosis, diagnosis_blocks

FINE = Finding(Area.SERVER, Level.OK, "fine")
NOTED = Finding(Area.METRICS, Level.NOTE, "noted", "nothing")
WARNED = Finding(Area.SERVER, Level.WARNING, "warned", "do this")
WRONG = Finding(Area.OBJECTS, Level.PROBLEM, "wrong", "do that")

VERDICTS = [
    ("beyond:B-39 nothing", (), Level.OK, 0),
    ("beyond:B-39 fine", (FINE,), Level.OK, 0),
    ("beyond:B-39 a note", (FINE, NOTED), Level.NOTE, 0),
    ("beyond:B-39 a warning", (NOTED, WARNED, FINE), Level.WARNING, 3),
    ("beyond:B-39 a problem", (WRONG, WARNED), Level.PROBLEM, 4),
]


@pytest.mark.parametrize(("row", "findings", "verdict", "code"), VERDICTS, ids=[row[0] for row in VERDICTS])
def test_verdicts(row: str, findings: tuple[Finding, ...], verdict: Level, code: int) -> None:
    found = diagnosis(findings)
    assert (found.verdict, found.verdict.exit_code) == (verdict, code)


def test_the_worst_of_an_area_comes_first_and_remedies_follow() -> None:
    found = diagnosis((WRONG, NOTED, FINE, WARNED))
    assert found.findings == (WARNED, FINE, NOTED, WRONG)
    table, remedies, summary = diagnosis_blocks(found)
    assert isinstance(table, Table)
    assert table.rows[0] == ("warning", "server", "warned")
    assert remedies == "What to do\n  warned\n    do this\n  noted\n    nothing\n  wrong\n    do that"
    assert summary == "1 problem, 1 warning, 1 note, 1 ok"
