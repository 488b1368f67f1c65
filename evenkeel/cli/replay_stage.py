"""Options of ``evenkeel replay`` that say how it is played: where, how far it is, and what is kept if it ends early."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.shell.dask_cluster import DaskCluster
from evenkeel.replay.shell.kept_parts import KeptParts
from evenkeel.replay.shell.playing import NoShelf, Stage, tell_nobody
from evenkeel.replay.shell.processes import Processes

JobsOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processes that play at a time; one per processor by default."),
]
DaskOption = Annotated[
    str, typer.Option("--dask", metavar="ADDRESS", help="Scheduler of a running Dask cluster that is to play.")
]
ResumeOption = Annotated[
    Path | None,
    typer.Option("--resume", metavar="FOLDER", help="Keep what is finished here, and go on with what is here."),
]

_INTERRUPTED: Final = 128 + signal.SIGINT


@contextmanager
def stage(jobs: int | None, dask: str, kept: Path | None, beginnings: Beginnings) -> Iterator[Stage]:
    """Set up how it is played; interrupted, say what is kept, and end with the status of that.

    Args:
        jobs: Processes of this machine; None for one per processor.
        dask: Address of a cluster; empty for this machine.
        kept: Folder for what is finished; None for none.
        beginnings: What strategies by histograms begin with.
    """
    if dask and jobs is not None:
        raise WrongUsageError("--dask and --jobs exclude each other; leave one out")
    runner = DaskCluster(dask) if dask else Processes(jobs or os.cpu_count() or 1)
    shelf = NoShelf() if kept is None else KeptParts.at(kept)
    try:
        with progress("playing") as tell:
            yield Stage(runner, shelf, tell, beginnings)
    except KeyboardInterrupt:
        typer.echo(f"evenkeel: interrupted; {_advice(kept)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _advice(kept: Path | None) -> str:
    if kept is None:
        return "nothing is kept; with --resume FOLDER what is finished would be"
    return f"what is finished is kept in {kept}, and the same command goes on from there"


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is, where standard error is a terminal.

    Args:
        title: What goes on.
    """
    if not sys.stderr.isatty():
        yield tell_nobody
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(title, total=None)

        def tell(done: int, whole: int) -> None:
            shown.update(bar, completed=done, total=whole)

        yield tell
