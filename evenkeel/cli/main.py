"""The command line: ``evenkeel``, also as the kubectl plugin ``kubectl evenkeel``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

import typer

from autoscaling.errors import EvenkeelError
from evenkeel.cli import demo, list_vpas, shadow, verify_resize

app = typer.Typer(
    name="evenkeel",
    help="Look at what Evenkeel recommends and does. Also available as `kubectl evenkeel`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", help="Play a scenario on a simulated cluster with the three real processes.")(demo.run)
app.command("list", help="List VerticalPodAutoscalers with their recommendations.")(list_vpas.run)
app.command("verify-resize", help=verify_resize.HELP)(verify_resize.run)
app.add_typer(shadow.app, name="shadow")


@app.command("version", help="Print the version.")
def print_version() -> None:
    """Print the version of the installed distribution."""
    typer.echo(version("evenkeel"))


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; what is wrong is said in one line and ends with status 1.

    Args:
        words: What follows the program's name; by default what this process was started with.
    """
    try:
        app(words)
    except EvenkeelError as error:
        typer.echo(f"evenkeel: {error}", err=True)
        sys.exit(1)
