"""The command line: ``evenkeel``, also as the kubectl plugin ``kubectl evenkeel``.

A command's module is loaded when the command is asked for, as some of them bring half of the product along.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

import typer

from autoscaling.errors import EvenkeelError
from evenkeel.cli.shell_words import asks_for_completion, join_broken_words
from evenkeel.cli.wrong_usage import WrongUsageError

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "demo": ("demo", "Play a scenario on a simulated cluster."),
        "list": ("list_vpas", "List VPAs, or the changes that were made."),
        "explain": ("explain", "Say why a VPA recommends what it does."),
        "doctor": ("doctor", "Look for what keeps Evenkeel from working."),
        "export": ("export", "Write recommendations for manifests in a repository."),
        "verify-resize": ("verify_resize", "Wait until a pod has what it asks for."),
        "observe": ("observe", "Follow the resizes of a workload."),
        "compare": ("compare", "Compare our recommendations with upstream's."),
        "replay": ("replay", "Play strategies on recorded use."),
        "shadow": ("shadow", "Keep twins of upstream's objects to compare."),
    }
)
"""Each command with its module in this package, and what it does in a line.

A module has an ``app`` where the command has commands of its own, else the function ``run`` and its ``HELP``.
"""

HELP: Final = """Look at what Evenkeel recommends and does. Also available as `kubectl evenkeel`.

\b
Examples:
  evenkeel list -A
  evenkeel explain vpa web -n shop
  kubectl evenkeel doctor
"""

_VERSION_HELP: Final = """Print the version.

\b
Examples:
  evenkeel version
"""

_COMPLETED_WORDS: Final = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
"""Where a shell hands over the words so far when it asks how to go on: zsh and fish, and bash."""

_PROGRAM: Final = "evenkeel"
_PLUGIN: Final = "kubectl-evenkeel"
"""What kubectl starts; it completes the plugin's words by a program of its own."""


def application(wanted: str, *, is_plugin: bool = False) -> typer.Typer:
    """Return the command line with one command loaded; the others are there by their names.

    Args:
        wanted: Name of the command; any other text loads none.
        is_plugin: Whether kubectl has started it, so that no shell completes it by itself.
    """
    app = typer.Typer(
        name=_PROGRAM,
        add_completion=not is_plugin,
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, (module, summary) in COMMANDS.items():
        if name == wanted:
            _add(app, name, module)
        else:
            app.command(name, help=summary)(_not_loaded)
    app.command("version", help=_VERSION_HELP, short_help="Print the version.")(print_version)
    return app


def _add(app: typer.Typer, name: str, module: str) -> None:
    """Add a command whose module is loaded now."""
    loaded = import_module(f"evenkeel.cli.{module}")
    inner: object = getattr(loaded, "app", None)
    if isinstance(inner, typer.Typer):
        app.add_typer(inner, name=name)
        return
    run: Callable[..., object] = loaded.run
    app.command(name, help=str(loaded.HELP))(run)


def _not_loaded() -> None:
    """Stand for a command that was not asked for."""
    raise AssertionError("a command that is not loaded was run")


def print_version() -> None:
    """Print the version of the installed distribution."""
    typer.echo(version("evenkeel"))


def wanted_command(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the command that words ask for, empty for none: the first of them that is a command's name.

    Args:
        words: What follows the program's name.
        environment: Has the words so far where a shell asks how to complete them.
    """
    completed = [word for name in _COMPLETED_WORDS for word in environment.get(name, "").split()]
    return next((word for word in (*words, *completed) if word in COMMANDS), "")


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; what is wrong is said in one line and ends with status 1, or 2 for wrong usage.

    Args:
        words: What follows the program's name; by default what this process was started with.
    """
    given = sys.argv[1:] if words is None else list(words)
    if asks_for_completion(os.environ):
        complete(given)
    is_plugin = Path(sys.argv[0]).name == _PLUGIN
    program = "kubectl evenkeel" if is_plugin else None
    try:
        application(wanted_command(given, os.environ), is_plugin=is_plugin)(given, prog_name=program)
    except WrongUsageError as error:
        typer.echo(f"evenkeel: {error}", err=True)
        sys.exit(2)
    except EvenkeelError as error:
        typer.echo(f"evenkeel: {error}", err=True)
        sys.exit(1)


def complete(words: Sequence[str]) -> NoReturn:
    """Print what may come next, as the environment asks for it, without a word of error.

    Args:
        words: What follows the program's name, which is nothing where a shell asks.
    """
    os.environ |= join_broken_words(os.environ)
    with redirect_stderr(io.StringIO()):
        application(wanted_command(words, os.environ))(words, prog_name=_PROGRAM)
    sys.exit(0)
