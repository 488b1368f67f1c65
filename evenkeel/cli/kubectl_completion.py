"""``kubectl_complete-evenkeel``: what kubectl starts to complete the words after ``kubectl evenkeel``.

kubectl hands over the words, the last of which is completed, and takes a line for each way to go on, which may have a
tab and a description, and a last line with a colon and a number, which says what the shell shall do about them.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import Final

import typer

from evenkeel.cli.main import complete
from evenkeel.cli.shell_words import ASKING

_AS_IT_IS_USED_TO: Final = 0
_NO_FILES: Final = 4
"""There is something to offer, so the shell need not offer the names of files."""


def main(words: Sequence[str] | None = None) -> None:
    """Print what may come next.

    Args:
        words: What follows ``kubectl evenkeel``, the last of which is completed; by default what this process was
            started with.
    """
    given = sys.argv[1:] if words is None else list(words)
    os.environ |= question(given)
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        complete(())
    lines = [line for line in said.getvalue().splitlines() if line]
    typer.echo("\n".join((*lines, f":{_NO_FILES if lines else _AS_IT_IS_USED_TO}")))


def question(words: Sequence[str]) -> dict[str, str]:
    """Return the environment in which the command line offers words with descriptions, as it does for fish.

    Args:
        words: What follows the program's name; the last one is completed, and may be empty.
    """
    *before, last = words or ("",)
    typed = " ".join(("evenkeel", *map(shlex.quote, before), shlex.quote(last) if last else ""))
    return {ASKING: "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": typed}
