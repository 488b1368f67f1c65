"""The command line as the programs that users start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from evenkeel.cli.main import COMMANDS, wanted_command
from tests.evenkeel.cli.running import evenkeel


def started(program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / program), *words]
    told = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=told)


@pytest.mark.parametrize("program", ["evenkeel", "kubectl-evenkeel"])
def test_both_programs_start(program: str) -> None:
    assert started(program, "version").stdout.strip() == version("evenkeel")


def test_help_names_the_commands() -> None:
    answer = evenkeel("--help")
    assert answer.status == 0
    for command in (*COMMANDS, "version", "--show-completion"):
        assert command in answer.output


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command: str) -> None:
    answer = evenkeel(command, "--help")
    assert answer.status == 0
    assert "--help" in answer.output
    assert "Examples:" in answer.output or "Commands:" in answer.output


def test_an_unknown_command() -> None:
    answer = evenkeel("lst")
    assert answer.status == 2
    assert "No such command 'lst'" in answer.errors


WANTED = [
    (("list", "-A"), {}, "list"),
    (("--help",), {}, ""),
    (("no", "such"), {}, ""),
    ((), {"_TYPER_COMPLETE_ARGS": "evenkeel verify-resize --na"}, "verify-resize"),
    ((), {"COMP_WORDS": "evenkeel demo --"}, "demo"),
]


@pytest.mark.parametrize(("words", "environment", "wanted"), WANTED)
def test_only_the_command_that_is_asked_for_is_loaded(
    words: tuple[str, ...], environment: dict[str, str], wanted: str
) -> None:
    assert wanted_command(words, environment) == wanted


def test_a_shell_completes_commands() -> None:
    environment = {"_EVENKEEL_COMPLETE": "complete_bash", "COMP_WORDS": "evenkeel veri", "COMP_CWORD": "1"}
    assert started("evenkeel", **environment).stdout.strip() == "verify-resize"


def test_a_cluster_that_cannot_be_reached_is_said_in_one_line(tmp_path: Path) -> None:
    answer = evenkeel("list", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.status == 1
    assert answer.errors.startswith("evenkeel: ")
    assert answer.errors.count("\n") == 1
