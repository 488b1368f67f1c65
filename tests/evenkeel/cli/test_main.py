"""The command line as the programs that users start."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from evenkeel.cli.main import COMMANDS, application, wanted_command
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


EVERY = [(), *((command,) for command in (*COMMANDS, "version")), ("shadow", "sync"), ("shadow", "remove")]


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help_of_each_command_has_examples_that_parse(command: tuple[str, ...]) -> None:
    answer = evenkeel(*command, "--help")
    assert answer.status == 0
    assert "--help" in answer.output
    examples = list(examples_in(answer.output))
    assert any(words[: len(command)] == [*command] for words in examples)
    for words in examples:
        parse(words)


def test_every_command_is_walked_over() -> None:
    group = get_command(application("shadow"))
    assert isinstance(group, TyperGroup)
    assert {command[0] for command in EVERY if command} == set(group.commands)
    shadow = group.commands["shadow"]
    assert isinstance(shadow, TyperGroup)
    assert {command[1] for command in EVERY if len(command) > 1} == set(shadow.commands)


def examples_in(text: str) -> Iterator[list[str]]:
    """Yield the words after our program's name in each example of a help text."""
    for line in text.partition("Examples:")[2].partition("\n\n")[0].splitlines():
        for part in line.split("|"):
            words = shlex.split(part.partition(" > ")[0], comments=True)
            if words[:1] == ["evenkeel"]:
                yield words[1:]
            elif words[:2] == ["kubectl", "evenkeel"]:
                yield words[2:]


def parse(words: list[str]) -> None:
    """Parse an argument vector as the program does; wrong usage is an error."""
    command = get_command(application(wanted_command(words, {})))
    context = None
    while isinstance(command, TyperGroup):
        context = command.make_context(words[0], list(words), parent=context)
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command = found
    command.make_context(words[0] if words else "", list(words), parent=context)


def test_kubectl_is_named_in_the_usage() -> None:
    assert "Usage: kubectl evenkeel list [OPTIONS]" in started("kubectl-evenkeel", "list", "--help").stdout
    assert "Usage: evenkeel list [OPTIONS]" in started("evenkeel", "list", "--help").stdout
    assert "--install-completion" not in started("kubectl-evenkeel", "--help").stdout


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
