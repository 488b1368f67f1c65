"""``evenkeel replay``: how good recommendations would have been on recorded use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from autoscaling.errors import ConfigurationError
from evenkeel.cli.options import Output, OutputOption
from evenkeel.cli.printing import emit, show, warn
from evenkeel.inspection.documents import Block
from evenkeel.replay.figures import Figures, figures_by_source
from evenkeel.replay.intervals import Difference, differences
from evenkeel.replay.report import (
    LIMITS,
    ByStrategy,
    deviation_table,
    deviations,
    difference_table,
    figure_tables,
    verdict,
)
from evenkeel.replay.shell.contest import Played, installed_names, play_all
from evenkeel.replay.shell.trace_files import read_traces
from evenkeel.replay.trace import Trace

HELP: Final = """Play strategies on recorded use: what they would have left unused, how often it would not have been
enough, how many resizes and OOM kills there would have been. No cluster is needed.

Traces are CSV files, packed by gzip or not, or folders of them, with the columns trace_id, timestamp (seconds or a
date), cpu_cores and memory_bytes. A cell that is empty is no sample. A file index.csv beside them may tell the spacing
(step_s) of each series. Figures are told for all series and for those of each file.

Slack is what is requested but not used, overrun what is used above the request, both in shares of the use. J is slack
plus overrun times 3, 10 or 30. OOM kills and resizes are counted for each container and day. With --against there are
the differences of two strategies on the same series, with the range that they have in 95 of 100 draws of series.

\b
Exit status:
  0  all that was asked for has been played
  1  something could not be read, or a figure is farther from --compare than it may be
  2  wrong usage

\b
Examples:
  evenkeel replay traces/
  evenkeel replay week.csv.gz --strategy vpa-default --strategy oracle -o json > before.json
  evenkeel replay traces/ -s vpa-min0 -s krr-simple --against vpa-default
  evenkeel replay traces/ --only 'shop/*' --compare before.json
"""

_FIGURES: Final = "figures"
_SEED: Final = 20220822
"""The same series are drawn in every run, so that two runs can be compared."""


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="CSV files, or folders of them.")],
    *,
    strategies: Annotated[
        list[str] | None, typer.Option("--strategy", "-s", metavar="NAME", help="What is played; all by default.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Series that are played, as in 'shop/*'.")
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="NAME", help="Strategy that the others are held against, series by series.")
    ] = "",
    reference: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="Figures of another run to be compared with.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Processes that play at a time; one per processor by default.")
    ] = os.cpu_count() or 1,
    output: OutputOption = Output.TABLE,
) -> None:
    """Play strategies on traces, and print their figures."""
    expected = None if reference is None else _figures_of(reference)
    reading = read_traces(paths)
    warn(reading.problems)
    traces = _chosen(reading.traces, only or ["*"])
    names = list(dict.fromkeys([*(strategies or installed_names()), *([against] if against else [])]))
    played = sorted(play_all(names, traces, jobs), key=lambda each: names.index(each.name))
    sources = [trace.source for trace in traces]
    found = {each.name: figures_by_source(each.scores, sources) for each in played}
    compared = deviations(expected or {}, found)
    apart = _apart(played, against, sources)
    blocks = [*_blocks(traces, played, found), *([difference_table(against, apart)] if apart else [])]
    emit(output, {**_finding(traces, played, found), **({"against": {against: apart}} if apart else {})}, blocks)
    if expected is not None and output is Output.TABLE:
        typer.echo()
        show((deviation_table(compared),))
        typer.echo(verdict(compared))
    if any(each.is_beyond for each in compared):
        raise typer.Exit(1)


def _chosen(traces: Sequence[Trace], patterns: Sequence[str]) -> Sequence[Trace]:
    """Return the series of which a pattern names one.

    Raises:
        ConfigurationError: There is none.
    """
    found = [trace for trace in traces if any(fnmatchcase(trace.name, pattern) for pattern in patterns)]
    if not found:
        raise ConfigurationError(
            f"--only {' '.join(patterns)}: names none of {len(traces)} series; the first one is {traces[0].name}"
        )
    return found


def _apart(played: Sequence[Played], against: str, sources: Sequence[str]) -> Mapping[str, Sequence[Difference]]:
    """Return what each strategy is apart from another one; empty where none is named."""
    other = next((each.scores for each in played if each.name == against), None)
    if other is None:
        return {}
    return {
        each.name: differences(each.scores, other, sources, np.random.default_rng(_SEED))
        for each in played
        if each.name != against
    }


def _figures_of(file: Path) -> ByStrategy:
    """Return the figures that a run has written.

    Raises:
        ConfigurationError: It has not.
    """
    try:
        given = json.loads(file.read_text(encoding="utf-8"))[_FIGURES]
        return {
            str(strategy): {str(series): _numbers(named) for series, named in by_series.items()}
            for strategy, by_series in given.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"--compare {file}: no figures in it: {error!r}; write them with -o json first"
        ) from error


def _numbers(named: object) -> Figures:
    if not isinstance(named, dict):
        raise TypeError(f"{named!r} is no object")
    return {str(name): float(value) for name, value in named.items()}


def _finding(traces: Sequence[Trace], played: Sequence[Played], found: ByStrategy) -> Mapping[str, object]:
    """Return what JSON shows."""
    return {
        "series": len(traces),
        "rows": sum(map(len, traces)),
        "seconds": {each.name: round(each.seconds, 2) for each in played},
        _FIGURES: found,
        "limits": LIMITS,
    }


def _blocks(traces: Sequence[Trace], played: Sequence[Played], found: ByStrategy) -> Sequence[Block]:
    """Return what a terminal shows."""
    days = played[0].scores.days.sum()
    size = f"{len(traces)} series, {sum(map(len, traces))} rows, {days:.0f} container-days behind the warm-up."
    times = ", ".join(f"{each.name} {each.seconds:.1f}" for each in played)
    return [*figure_tables(found), f"{size} {LIMITS}", f"Processor seconds: {times}."]
