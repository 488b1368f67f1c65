"""The command line, from its arguments to its last line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from e2e.parity.labs import KINDS
from evenkeel.simulator.processes.program import Invocation
from tests.e2e_parity.oracles import oracle
from tests.forking import start_forked

pytestmark = pytest.mark.lengthy

_SECONDS = 120.0


def parity(program: Path, *arguments: str, folder: Path) -> tuple[int, str]:
    """Run the command and return its exit code and what it printed."""
    words = (sys.executable, "-P", "-m", "e2e.parity", "--program", str(program), *arguments)
    said, errors = folder / "said", folder / "errors"
    said.unlink(missing_ok=True)
    handle = start_forked(Invocation("parity", words, {"TMPDIR": str(folder)}), said, errors)
    code = handle.wait(_SECONDS)
    assert errors.read_text() == ""
    return code, said.read_text()


def test_crashes_of_upstream_are_listed_and_do_not_count(tmp_path: Path) -> None:
    program = oracle(tmp_path, 'return {"crash": "nil map in pkg/x"}')
    code, said = parity(program, "run", "--only", "admission", "--cases", "20", "--seed", "7", folder=tmp_path)
    assert code == 0
    assert said.splitlines()[0] == "parity: seed 7, 20 cases"
    assert "crash of upstream, 20 times, for example" in said
    assert "nil map in pkg/x" in said
    assert said.splitlines()[-1] == "parity: 20 cases, 0 differences"


def test_a_difference_is_shown_small_and_can_be_replayed(tmp_path: Path) -> None:
    # Of 20 cases of this lab two are about quantities; to those, and to no others, this answers something odd.
    program = oracle(tmp_path, 'return {"answer": "odd"} if question["kind"] == "quantities" else {"crash": "x"}')
    code, said = parity(program, "run", "--only", "admission", "--cases", "20", folder=tmp_path)
    assert code == 1
    assert said.splitlines()[-1] == "parity: 20 cases, 2 differences"
    files = re.findall(r"replay with: python -m e2e.parity replay (\S+)", said)
    assert len(files) == 2
    assert json.loads(Path(files[0]).read_text()) == {"kind": "quantities", "texts": []}
    code, said = parity(program, "replay", *files, folder=tmp_path)
    assert code == 1
    assert "(the whole): ours [], upstream 'odd'" in said
    assert said.splitlines()[-1] == "parity: 2 cases, 2 differences"


def test_a_drawn_case_can_be_printed(tmp_path: Path) -> None:
    code, said = parity(tmp_path, "case", "review", "5", "--seed", "q", folder=tmp_path)
    assert code == 0
    assert json.loads(said) == KINDS["review"].case("q", 5)
