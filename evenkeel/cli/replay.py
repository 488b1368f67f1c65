"""``evenkeel replay``: how good recommendations would have been on recorded use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import numpy as np
import typer

from autoscaling.errors import ConfigurationError
from evenkeel.cli.options import Output, OutputOption
from evenkeel.cli.printing import emit, show, warn
from evenkeel.cli.repeating import command_line
from evenkeel.cli.replay_files import chosen_setting, emit_objects, write_files
from evenkeel.cli.replay_options import (
    AgainstOption,
    CompareOption,
    CsvOption,
    Emission,
    EmitKindOption,
    EmitOption,
    EmitToOption,
    HtmlOption,
    JobsOption,
    OnlyOption,
    PathsArgument,
    PicturesOption,
    PricesOption,
    SettingsOption,
    StrategiesOption,
    Written,
)
from evenkeel.inspection.documents import Block
from evenkeel.replay.autoscalers import WorkloadKind
from evenkeel.replay.figures import Figures, figures_by_source
from evenkeel.replay.intervals import SEED, Difference, differences
from evenkeel.replay.money import RELATIVE_PRICES, PriceList, money_table
from evenkeel.replay.outcome import Outcome
from evenkeel.replay.report import (
    LIMITS,
    ByStrategy,
    deviation_table,
    deviations,
    difference_table,
    figure_tables,
    verdict,
)
from evenkeel.replay.shell.contest import NO_VARIANTS, Played, installed_names, play_all
from evenkeel.replay.shell.price_list import read_prices
from evenkeel.replay.shell.trace_files import read_traces
from evenkeel.replay.trace import Trace
from evenkeel.replay.variants import Variant

HELP: Final = """Play strategies on recorded use: what they would have left unused, how often it would not have been
enough, how many resizes and OOM kills there would have been. No cluster is needed.

Traces are CSV files, packed by gzip or not, or folders of them, with the columns trace_id, timestamp (seconds or a
date), cpu_cores and memory_bytes. A cell that is empty is no sample. A file index.csv beside them may tell the spacing
(step_s) of each series. Figures are told for all series and for those of each file.

Slack is what is requested but not used, overrun what is used above the request, both in shares of the use. J is slack
plus overrun times 3, 10 or 30. OOM kills and resizes are counted for each container and day. With --against there are
the differences of two strategies on the same series, with the range that they have in 95 of 100 draws of series.

What requests, use and waste cost in a month is told by --prices. With --settings variants of vpa-default are played as
well, and --emit writes VerticalPodAutoscalers for one of them, for series called namespace/workload/container. With
--html there is a report with plots, with --csv every figure of every series.

\b
Exit status:
  0  all that was asked for has been played
  1  something could not be read or written, a figure is farther from --compare than it may be, or a series has no
     name that --emit could write an object for
  2  wrong usage

\b
Examples:
  evenkeel replay traces/
  evenkeel replay week.csv.gz --strategy vpa-default --strategy oracle -o json > before.json
  evenkeel replay traces/ -s vpa-min0 -s krr-simple --against vpa-default
  evenkeel replay traces/ --only 'shop/*' --compare before.json
  evenkeel replay traces/ --html report.html --pictures 12 --csv figures.csv --prices prices.yaml
  evenkeel replay traces/ -s vpa-default --settings variants.yaml --against vpa-default
  evenkeel replay traces/ --settings variants.yaml --emit calm --emit-to - > autoscalers.yaml
"""

_FIGURES: Final = "figures"


def run(
    context: typer.Context,
    paths: PathsArgument,
    *,
    strategies: StrategiesOption = None,
    only: OnlyOption = None,
    against: AgainstOption = "",
    reference: CompareOption = None,
    jobs: JobsOption = os.cpu_count() or 1,
    html: HtmlOption = None,
    pictures: PicturesOption = 6,
    table: CsvOption = None,
    price_file: PricesOption = None,
    settings: SettingsOption = None,
    emit_name: EmitOption = "",
    emit_to: EmitToOption = None,
    emit_kind: EmitKindOption = WorkloadKind.DEPLOYMENT,
    output: OutputOption = Output.TABLE,
) -> None:
    """Play strategies on traces, and print their figures."""
    expected = None if reference is None else _figures_of(reference)
    prices = RELATIVE_PRICES if price_file is None else read_prices(price_file)
    variants = NO_VARIANTS if settings is None else _variants(settings)
    emission = Emission(emit_name, emit_to, emit_kind)
    setting = chosen_setting(emission, variants)
    reading = read_traces(paths)
    warn(reading.problems)
    traces = _chosen(reading.traces, only or ["*"])
    names = list(dict.fromkeys([*(strategies or installed_names()), *variants, *([against] if against else [])]))
    played = sorted(play_all(names, traces, jobs, variants=variants), key=lambda each: names.index(each.name))
    outcome = _outcome(traces, played, prices, against)
    command = command_line(context)
    write_files(Written(html, pictures, table), outcome, traces, variants, command)
    if not emission.takes_output:
        _print(outcome, traces, played, output)
    is_told = output is Output.TABLE and not emission.takes_output
    is_near = _is_near(expected, outcome.figures, is_told=is_told)
    is_complete = setting is None or emit_objects(setting, emission, outcome.names)
    if not (is_near and is_complete):
        raise typer.Exit(1)


def _variants(file: Path) -> Mapping[str, Variant]:
    """Return the variants that a file names."""
    # The recommender comes along, which takes half a second that most runs need not pay.
    from evenkeel.replay.shell.settings_file import read_variants  # noqa: PLC0415

    return read_variants(file)


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


def _outcome(traces: Sequence[Trace], played: Sequence[Played], prices: PriceList, against: str) -> Outcome:
    """Return what the strategies came to."""
    sources = [trace.source for trace in traces]
    return Outcome(
        [trace.name for trace in traces],
        sources,
        {each.name: each.scores for each in played},
        {each.name: figures_by_source(each.scores, sources) for each in played},
        prices,
        against,
        _apart(played, against, sources),
    )


def _apart(played: Sequence[Played], against: str, sources: Sequence[str]) -> Mapping[str, Sequence[Difference]]:
    """Return what each strategy is apart from another one; empty where none is named."""
    other = next((each.scores for each in played if each.name == against), None)
    if other is None:
        return {}
    return {
        each.name: differences(each.scores, other, sources, np.random.default_rng(SEED))
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


def _print(outcome: Outcome, traces: Sequence[Trace], played: Sequence[Played], output: Output) -> None:
    """Print what the strategies came to."""
    rows = sum(map(len, traces))
    seconds = {each.name: round(each.seconds, 2) for each in played}
    emit(output, _finding(outcome, rows, seconds), _blocks(outcome, rows, seconds))


def _finding(outcome: Outcome, rows: int, seconds: Mapping[str, float]) -> Mapping[str, object]:
    """Return what JSON shows."""
    found: dict[str, object] = {
        "series": len(outcome.names),
        "rows": rows,
        "seconds": seconds,
        _FIGURES: outcome.figures,
        "money": {"prices": outcome.prices, "month": outcome.bills()},
        "limits": LIMITS,
    }
    return found | ({"against": {outcome.against: outcome.apart}} if outcome.apart else {})


def _blocks(outcome: Outcome, rows: int, seconds: Mapping[str, float]) -> Sequence[Block]:
    """Return what a terminal shows."""
    size = f"{len(outcome.names)} series, {rows} rows, {outcome.days:.0f} container-days behind the warm-up."
    times = ", ".join(f"{name} {each:.1f}" for name, each in seconds.items())
    blocks: list[Block] = [
        *figure_tables(outcome.figures),
        money_table(outcome.bills(), outcome.prices),
        f"{size} {LIMITS}",
        f"Processor seconds: {times}.",
    ]
    return [*blocks, *([difference_table(outcome.against, outcome.apart)] if outcome.apart else [])]


def _is_near(expected: ByStrategy | None, found: ByStrategy, *, is_told: bool) -> bool:
    """Say whether figures are as they should be.

    Args:
        expected: Those of another run; None for none.
        found: Those of this one.
        is_told: Whether each is printed beside the one that it should be.
    """
    if expected is None:
        return True
    compared = deviations(expected, found)
    if is_told:
        typer.echo()
        show((deviation_table(compared),))
        typer.echo(verdict(compared))
    return not any(each.is_beyond for each in compared)
