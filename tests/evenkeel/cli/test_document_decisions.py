"""The generated page of decisions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.cli.document_decisions import render_decisions
from updater.decision import Action, Reason
from updater.guidance import GUIDANCE

ROOT = Path(__file__).parents[3]
SECTIONS = {part.split("(`")[1].split("`")[0]: part for part in render_decisions().split("\n## ")[1:]}


@pytest.mark.parametrize("reason", list(Reason))
def test_a_reason_is_listed_with_every_action_it_is_given_for(reason: Reason) -> None:
    listed = {action for action in Action if f"\n| `{reason.value}` | {reason.meaning} |" in SECTIONS[action.value]}
    assert listed == set(GUIDANCE[reason].actions)


@pytest.mark.parametrize(
    "row",
    [
        "case:4 | `QuotaWouldBlock` | evenkeel: `limit_range_and_quota`, ",
        "| updater:M-21 |  | both |",
    ],
)
def test_condition_and_profile_are_told(row: str) -> None:
    assert row in SECTIONS["skip"]


def test_every_table_has_rows_of_six_cells() -> None:
    for part in SECTIONS.values():
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert len(rows) > 2
        assert {line.count("|") for line in rows} == {7}


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    command = [sys.executable, "-m", "evenkeel.cli.document_decisions", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "docs" / "decisions.md").read_text() == render_decisions()
