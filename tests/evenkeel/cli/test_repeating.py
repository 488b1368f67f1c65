"""The command line that runs a command again (beyond:B-36)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from evenkeel.cli.repeating import command_line


class Kind(StrEnum):
    SMALL = "small"


def told(*words: str) -> str:
    app = typer.Typer()

    @app.command()
    def run(
        context: typer.Context,
        paths: list[str],
        *,
        names: Annotated[list[str] | None, typer.Option("--name", "-n")] = None,
        number: int = 3,
        kind: Kind = Kind.SMALL,
        fast: bool = False,
        token: Annotated[str, typer.Option(hide_input=True)] = "",
        place: Annotated[str, typer.Option(envvar="PLACE")] = "",
    ) -> None:
        typer.echo(command_line(context))

    found = CliRunner().invoke(app, list(words), prog_name="tool", env={"PLACE": "somewhere"})
    assert found.exit_code == 0, found.output
    return str(found.output).strip()


@pytest.mark.parametrize(
    ("row", "words", "expected"),
    [
        ("beyond:B-36 arguments", ["a", "b c"], "tool a 'b c'"),
        (
            "beyond:B-36 options",
            ["-n", "x", "a", "--name", "y", "--number", "4"],
            "tool a --name x --name y --number 4",
        ),
        ("beyond:B-36 choice", ["a", "--kind", "small"], "tool a --kind small"),
        ("beyond:B-36 switches", ["a", "--fast"], "tool a --fast"),
        ("beyond:B-36 switched off", ["a", "--no-fast"], "tool a --no-fast"),
        ("beyond:B-36 secrets", ["a", "--token", "hush"], "tool a"),
        ("beyond:B-36 shell", ["a;b", "--name", "$(c)"], "tool 'a;b' --name '$(c)'"),
    ],
)
def test_what_was_typed(row: str, words: list[str], expected: str) -> None:
    assert told(*words) == expected, row
