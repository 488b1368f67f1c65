"""Findings on standard output."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import redirect_stdout

import pytest
import yaml

from evenkeel.cli.options import Output
from evenkeel.cli.printing import emit, text_of
from evenkeel.inspection.documents import Block, Table

TABLE = Table("Things", ("NAME", "SIZE"), (("a", "1"), ("[bold]b[/bold]", "x" * 300)))
BLOCKS: tuple[Block, ...] = ("first", TABLE)


def printed(output: Output) -> str:
    stream = io.StringIO()
    with redirect_stdout(stream):
        emit(output, {"ü": [1]}, BLOCKS)
    return stream.getvalue()


def test_a_pipe_gets_whole_lines_without_colours() -> None:
    lines = printed(Output.TABLE).splitlines()
    assert lines[:2] == ["first", ""]
    assert lines[2] == "Things"
    assert lines[3] == "NAME            SIZE"
    assert lines[5] == f"[bold]b[/bold]  {'x' * 300}"


@pytest.mark.parametrize(("output", "read"), [(Output.JSON, json.loads), (Output.YAML, yaml.safe_load)])
def test_programs_get_the_finding(output: Output, read: object) -> None:
    assert callable(read)
    assert read(printed(output)) == {"ü": [1]}
    assert "ü" in printed(output)


def test_text_of_several_lines_stays_readable_in_yaml() -> None:
    text = text_of(Output.YAML, {"patch": "a: 1\nb: 2\n", "name": "x"})
    assert text == "patch: |\n  a: 1\n  b: 2\nname: x\n"


PROGRAM = """
from evenkeel.cli.printing import show
from evenkeel.inspection.documents import Table
show((Table("Things", ("NAME", "LEVEL"), (("a", "problem"), ("b", "note"))),))
"""


@pytest.mark.parametrize(("no_colour", "has_colours"), [(False, True), (True, False)])
def test_a_terminal_gets_colours_unless_told_otherwise(no_colour: bool, has_colours: bool) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_colour else {})
    environment.pop("NO_COLOR", None) if not no_colour else None
    ended = subprocess.run([sys.executable, "-c", PROGRAM], stdout=theirs, env=environment, check=False, timeout=60)
    os.close(theirs)
    text = os.read(ours, 4096).decode()
    os.close(ours)
    assert ended.returncode == 0
    assert "NAME" in text
    assert ("\x1b[" in text) is has_colours
    assert ("\x1b[1;31mproblem" in text, "\x1b[" in text.splitlines()[-1]) == (has_colours, False)
