"""``evenkeel replay``: how good recommendations would have been on recorded use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import typer

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.options import ContextOption, GroupOption, KubeconfigOption, Output, OutputOption
from evenkeel.cli.printing import emit, show, warn
from evenkeel.cli.repeating import command_line
from evenkeel.cli.replay_files import Rerun, chosen_setting, emit_objects, write_files
from evenkeel.cli.replay_options import (
    AgainstOption,
    CompareOption,
    CsvOption,
    Emission,
    EmitKindOption,
    EmitOption,
    EmitToOption,
    HtmlOption,
    PicturesOption,
    PricesOption,
    SettingsOption,
    StrategiesOption,
    Written,
)
from evenkeel.cli.replay_sources import (
    DAYS,
    MINUTES,
    CheckpointOptions,
    CheckpointsOption,
    ClusterOption,
    ContainerOption,
    FromOption,
    OnlyOption,
    PathsArgument,
    PrometheusAddressOption,
    PrometheusFlagsOption,
    PrometheusOptions,
    RecordOption,
    ReplayNamespaceOption,
    StepOption,
    ToOption,
    WorkloadOption,
    recorded,
)
from evenkeel.cli.replay_stage import DaskOption, JobsOption, ResumeOption, stage
from evenkeel.inspection.documents import Block
from evenkeel.replay.autoscalers import Setting, WorkloadKind
from evenkeel.replay.figures import Figures, figures_by_source
from evenkeel.replay.intervals import SEED, Difference, differences
from evenkeel.replay.lots import Recordings
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
from evenkeel.replay.selection import Selection
from evenkeel.replay.shell.contest import NO_VARIANTS, check_names, installed_names
from evenkeel.replay.shell.playing import Played, Results, Stage, play_all
from evenkeel.replay.shell.price_list import read_prices
from evenkeel.replay.variants import Variant

HELP: Final = """Play strategies on recorded use: what they would have left unused, how often it would not have been
enough, how many resizes and OOM kills there would have been. No cluster is needed.

Traces are CSV files, packed by gzip or not, Parquet files, or folders of them, with the columns trace_id (or
namespace, workload and container), timestamp (seconds or a date), cpu_cores and memory_bytes. A cell that is empty is
no sample. A file index.csv beside them may tell the spacing (step_s) of each series. Figures are told for all series
and for those of each file or dataset. --namespace, --workload and --container choose among series whose names are
NAMESPACE/WORKLOAD/CONTAINER.

With --prometheus the use is what a Prometheus server has recorded: --from, --to and --step say of when, and
--prometheus-flags how its metrics are called, by the recommender's own flags. Names are NAMESPACE/POD/CONTAINER then.

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
  130  interrupted; with --resume what was finished is kept

\b
Examples:
  evenkeel replay traces/
  evenkeel replay week.csv.gz --strategy vpa-default --strategy oracle -o json > before.json
  evenkeel replay traces/ -s vpa-min0 -s krr-simple --against vpa-default
  evenkeel replay traces/ --only 'shop/*' --compare before.json
  evenkeel replay traces/ --html report.html --pictures 12 --csv figures.csv --prices prices.yaml
  evenkeel replay traces/ -s vpa-default --settings variants.yaml --against vpa-default
  evenkeel replay traces/ --settings variants.yaml --emit calm --emit-to - > autoscalers.yaml
  evenkeel replay fleet.parquet -n shop -n 'team-*' --container app
  evenkeel replay fleet/ --resume fleet-run/ --dask tcp://scheduler:8786
  evenkeel replay week.parquet -s vpa-default --checkpoints cluster --context staging
  evenkeel replay --prometheus http://localhost:9090 --from 14d -n shop --record shop-use/
"""

_FIGURES: Final = "figures"


def run(
    invocation: typer.Context,
    paths: PathsArgument = None,
    *,
    strategies: StrategiesOption = None,
    only: OnlyOption = None,
    namespaces: ReplayNamespaceOption = None,
    workloads: WorkloadOption = None,
    containers: ContainerOption = None,
    prometheus: PrometheusAddressOption = "",
    begin: FromOption = DAYS,
    end: ToOption = "",
    step: StepOption = MINUTES,
    cluster: ClusterOption = "",
    prometheus_flags: PrometheusFlagsOption = "",
    record: RecordOption = None,
    checkpoints: CheckpointsOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    api_group: GroupOption = ApiGroup.EVENKEEL,
    against: AgainstOption = "",
    reference: CompareOption = None,
    jobs: JobsOption = None,
    dask: DaskOption = "",
    resume: ResumeOption = None,
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
    files, emission = _Files(reference, price_file, settings), Emission(emit_name, emit_to, emit_kind)
    order = _Order.of(files, emission, strategies, against)
    selection = Selection(*(tuple(patterns or ()) for patterns in (only, namespaces, workloads, containers)))
    beginnings = CheckpointOptions(checkpoints, kubeconfig, context, api_group).beginnings()
    asked = PrometheusOptions(prometheus, begin, end, step, cluster, prometheus_flags, record)
    with stage(jobs, dask, resume, beginnings) as how, recorded(paths or [], selection, asked, resume) as found:
        results = _played(order, found, how)
        outcome = _outcome(results, order.prices, against)
        written, rerun = Written(html, pictures, table), Rerun(results, beginnings)
        write_files(written, outcome, rerun, order.variants, command_line(invocation))
    if not _told(order, outcome, results, output):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Files:
    """Files that say more about what is asked for; None where there is none.

    Args:
        reference: Figures of another run.
        prices: A price list.
        settings: Variants.
    """

    reference: Path | None
    prices: Path | None
    settings: Path | None


@dataclass(frozen=True, slots=True)
class _Order:
    """What is asked for.

    Args:
        names: Strategies and variants, each once.
        variants: Variants by name.
        expected: Figures that others are held against; None for none.
        prices: What resources cost.
        emission: Which objects are written.
        setting: What those are written for; None for nothing.
    """

    names: Sequence[str]
    variants: Mapping[str, Variant]
    expected: ByStrategy | None
    prices: PriceList
    emission: Emission
    setting: Setting | None

    @classmethod
    def of(cls, files: _Files, emission: Emission, strategies: Sequence[str] | None, against: str) -> _Order:
        """Read what is asked for.

        Args:
            strategies: None for all that are installed.
            against: The strategy that others are held against; empty for none.

        Raises:
            ConfigurationError: A file cannot be read, or there is no strategy of a name.
        """
        expected = None if files.reference is None else _figures_of(files.reference)
        prices = RELATIVE_PRICES if files.prices is None else read_prices(files.prices)
        variants = NO_VARIANTS if files.settings is None else _variants(files.settings)
        setting = chosen_setting(emission, variants)
        names = list(dict.fromkeys([*(strategies or installed_names()), *variants, *([against] if against else [])]))
        check_names(names, variants)
        return cls(names, variants, expected, prices, emission, setting)


def _played(order: _Order, found: Recordings, how: Stage) -> Results:
    """Play what is asked for, and say what is wrong with recordings."""
    warn(found.problems)
    results = play_all(order.names, found.lots, how, order.variants)
    warn(results.problems)
    return results


def _told(order: _Order, outcome: Outcome, results: Results, output: Output) -> bool:
    """Print figures and objects; say whether all are as asked for."""
    if not order.emission.takes_output:
        _print(outcome, results, output)
    is_told = output is Output.TABLE and not order.emission.takes_output
    is_near = _is_near(order.expected, outcome.figures, is_told=is_told)
    is_complete = order.setting is None or emit_objects(order.setting, order.emission, outcome.names)
    return is_near and is_complete


def _variants(file: Path) -> Mapping[str, Variant]:
    """Return the variants that a file names."""
    # The recommender comes along, which takes half a second that most runs need not pay.
    from evenkeel.replay.shell.settings_file import read_variants  # noqa: PLC0415

    return read_variants(file)


def _outcome(results: Results, prices: PriceList, against: str) -> Outcome:
    """Return what the strategies came to."""
    return Outcome(
        results.names,
        results.sources,
        {each.name: each.scores for each in results.played},
        {each.name: figures_by_source(each.scores, results.sources) for each in results.played},
        prices,
        against,
        _apart(results.played, against, results.sources),
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


def _print(outcome: Outcome, results: Results, output: Output) -> None:
    """Print what the strategies came to."""
    seconds = {each.name: round(each.seconds, 2) for each in results.played}
    emit(output, _finding(outcome, results.rows, seconds), _blocks(outcome, results.rows, seconds))


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
