"""The commands in the image."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from e2e.image.trees import COMMANDS, launchers

_SCRIPTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_starts_what_its_console_script_starts(command: str) -> None:
    """Spec: product:1."""
    interpreter, *lines = launchers(_SCRIPTS)[command].splitlines()
    # -P keeps a folder in the working directory from being taken for one of our packages.
    assert interpreter == "#!/usr/bin/python3.11 -P"
    module, function = _SCRIPTS[command].split(":")
    assert f"from {module} import {function}" in lines
    compile("\n".join(lines), command, "exec")


def test_there_are_three() -> None:
    assert list(launchers(_SCRIPTS)) == list(COMMANDS) == [n for n in _SCRIPTS if n.startswith("evenkeel-")]
