"""A run as it is seen: live in a terminal, or line by line where there is none."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autoscaling.behaviour import Profile
from evenkeel.simulator.pod_table import pod_table, recommendation_table
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.happenings import (
    Complained,
    Decided,
    Done,
    Happening,
    PodHappening,
    Recommended,
    Resized,
    ResizeStatus,
    Restarted,
    Told,
    Used,
)
from evenkeel.simulator.scenarios.running import Result
from evenkeel.simulator.scenarios.stage import Stage
from evenkeel.simulator.scenarios.summary import summary

_FRAME_SECONDS = 0.1
_LINES = 16
_ROUTINE_EVENTS = frozenset(
    (
        "Scheduled",
        "Pulled",
        "Created",
        "Started",
        "Killing",
        "SuccessfulCreate",
        "SuccessfulDelete",
        "ScalingReplicaSet",
    )
)
_STYLES: dict[type[Happening], str] = {
    Recommended: "cyan",
    Decided: "bold magenta",
    ResizeStatus: "yellow",
    Resized: "bold green",
    Restarted: "red",
    Complained: "red",
    Done: "bold",
    PodHappening: "blue",
}


class Viewer(Protocol):
    """Whoever shows a run."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(self, *_: object) -> None:
        """Show no more."""

    def begin(self, stage: Stage) -> None:
        """Take the cluster, once the scenario begins."""

    def take(self, happening: Happening) -> None:
        """Show something that happened."""

    def tick(self, now: timedelta) -> None:
        """Show the time."""


class Lines:
    """Prints one line for everything worth a line.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(self, *_: object) -> None:
        """Show no more."""

    def begin(self, stage: Stage) -> None:
        """Say how large the cluster is."""
        self._console.print(f"{clock(timedelta(0))}  {stage.scenario.title}", highlight=False, soft_wrap=True)

    def take(self, happening: Happening) -> None:
        """Print a line."""
        if is_notable(happening):
            self._console.print(line(happening), soft_wrap=True)

    def tick(self, now: timedelta) -> None:
        """Say nothing: lines have their times."""


class Screen:
    """Keeps one picture of the cluster up to date.

    Args:
        console: Where to.
        scenario: What is run.
        profile: In which profile.
    """

    def __init__(self, console: Console, scenario: Scenario, profile: Profile) -> None:
        self._scenario = scenario
        self._profile = profile
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._stage: Stage | None = None
        self._now = timedelta(0)
        self._last: deque[Happening] = deque(maxlen=_LINES)
        self._drawn = 0.0

    def __enter__(self) -> Self:
        """Begin to show."""
        self._live.start()
        self._live.update(Text(f"{self._scenario.title}: the processes are starting"), refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture behind."""
        self._live.stop()

    def begin(self, stage: Stage) -> None:
        """Take the cluster."""
        self._stage = stage

    def take(self, happening: Happening) -> None:
        """Remember a line for the picture."""
        if is_notable(happening):
            self._last.append(happening)

    def tick(self, now: timedelta) -> None:
        """Draw anew, unless that was done a moment ago."""
        self._now = now
        moment = time.monotonic()
        if moment - self._drawn >= _FRAME_SECONDS:
            self._drawn = moment
            self._live.update(self.frame(), refresh=True)

    def frame(self) -> RenderableType:
        """Return the whole picture."""
        parts: list[RenderableType] = [self._header()]
        if self._stage is not None:
            server = self._stage.cluster.server
            parts.append(
                Panel(
                    pod_table(server.store, server.metrics.pods()), title="pods: used/request/limit", title_align="left"
                )
            )
            parts.append(Panel(recommendation_table(server.store), title="recommendations", title_align="left"))
        lines = Text("\n").join(line(happening) for happening in self._last)
        lines.no_wrap, lines.overflow = True, "ellipsis"
        parts.append(Panel(lines, title="what happens", title_align="left"))
        return Group(*parts)

    def _header(self) -> RenderableType:
        """Return title, profile, clock, and how far the scenario has come."""
        table = Table.grid(padding=(0, 2))
        total, now = self._scenario.duration.total_seconds(), self._now.total_seconds()
        bar = ProgressBar(total=total, completed=min(now, total), width=24)
        times = f"{clock(self._now)} of {clock(self._scenario.duration)}"
        table.add_row(f"profile {self._profile.value}", times, bar)
        return Group(Text(self._scenario.title, style="bold"), table)


def is_notable(happening: Happening) -> bool:
    """Say whether a happening is worth a line: not routine, and not usage, which the table shows."""
    if isinstance(happening, Used):
        return False
    return not (isinstance(happening, Told) and happening.reason in _ROUTINE_EVENTS)


def line(happening: Happening) -> Text:
    """Return a happening as a line with its time."""
    style = _STYLES.get(type(happening), "")
    return Text.assemble((clock(happening.at), "dim"), "  ", (happening.text, style))


def clock(time_passed: timedelta) -> str:
    """Return a duration as hours, minutes and seconds."""
    seconds = int(time_passed.total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def report(result: Result) -> Iterator[RenderableType]:
    """Yield what is shown at the end: what happened, and what came of each expectation."""
    counts = Table(title="What happened", title_justify="left", box=None, pad_edge=False, show_header=False)
    counts.add_column(justify="right")
    counts.add_column()
    for label, count in summary(result.happenings):
        counts.add_row(str(count), label)
    yield counts
    checks = Table(title="What was expected", title_justify="left", box=None, pad_edge=False, show_header=False)
    checks.add_column(no_wrap=True)
    checks.add_column(overflow="fold")
    for outcome in result.outcomes:
        mark = Text("yes", style="green") if outcome.holds else Text("NO", style="bold red")
        found = "" if outcome.holds else f"\nfound: {'; '.join(outcome.problems)}"
        checks.add_row(mark, Text(outcome.text + found))
    yield checks
    missed = sum(not outcome.holds for outcome in result.outcomes)
    if missed:
        yield Text(
            f"The expected end state was not reached: {missed} of {len(result.outcomes)} do not hold.", "bold red"
        )
    else:
        yield Text("The expected end state was reached.", "bold green")
