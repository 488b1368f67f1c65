"""Options of ``evenkeel replay`` that say what is played, and where."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import structlog
import typer

from autoscaling.kube.paths import Selection as KindSelection
from autoscaling.kube.paths import checkpoints, vertical_pod_autoscalers
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.go_literals import parse_prometheus_duration
from evenkeel.cli.printing import warn
from evenkeel.cli.session import Session, read_all
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.contest import NOTHING_STORED
from evenkeel.replay.lots import Recordings
from evenkeel.replay.selection import Selection
from evenkeel.replay.shell.stored_histories import stored_in, stored_of
from evenkeel.replay.shell.trace_files import recordings

PathsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="[PATH...]", help="CSV files, Parquet files, or folders of them.")
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="PATTERN", help="Series that are played, as in 'shop/*'.")
]
ReplayNamespaceOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="PATTERN", help="Namespaces of series that are played."),
]
WorkloadOption = Annotated[
    list[str] | None, typer.Option("--workload", metavar="PATTERN", help="Workloads of them, or pods.")
]
ContainerOption = Annotated[
    list[str] | None, typer.Option("--container", metavar="PATTERN", help="Containers of them.")
]
PrometheusAddressOption = Annotated[
    str, typer.Option("--prometheus", metavar="URL", help="Prometheus whose recorded use is played.")
]
FromOption = Annotated[
    str, typer.Option("--from", metavar="TIME", help="Begin of that use: a date, or a duration before the end.")
]
ToOption = Annotated[str, typer.Option("--to", metavar="TIME", help="Its end: a date; now by default.")]
StepOption = Annotated[str, typer.Option("--step", metavar="DURATION", help="Time between two of its samples.")]
ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="The only value of the label cluster, where there are several.")
]
PrometheusFlagsOption = Annotated[
    str,
    typer.Option(
        "--prometheus-flags",
        metavar="FLAGS",
        help="Flags of the recommender about Prometheus: labels, metrics, job, how to sign in.",
    ),
]
RecordOption = Annotated[
    Path | None,
    typer.Option("--record", metavar="FOLDER", help="Keep what Prometheus tells here, and go on with what is here."),
]
CheckpointsOption = Annotated[
    str,
    typer.Option(
        "--checkpoints",
        metavar="FILE|cluster",
        help="Stored histograms that vpa-default and vpa-min0 begin with: kubectl's output, or those of the cluster.",
    ),
]
DAYS: Final = "8d"
MINUTES: Final = "5m"

_SOURCE: Final = "prometheus"


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """What is asked of Prometheus, as it was given.

    Args:
        address: Of Prometheus; empty for nothing.
        begin: A date, or a duration before the end.
        end: A date; empty for now.
        step: A duration.
        cluster: The only cluster; empty for any.
        flags: Flags of the recommender.
        folder: Where it is kept; None for nowhere.
    """

    address: str
    begin: str
    end: str
    step: str
    cluster: str
    flags: str
    folder: Path | None


@contextmanager
def recorded(
    paths: list[Path], selection: Selection, asked: PrometheusOptions, resumed: Path | None = None
) -> Iterator[Recordings]:
    """Find all that is to be played; what is in no folder of the user's is gone afterwards.

    Args:
        paths: Files and folders.
        selection: Which series are wanted.
        asked: What is asked of Prometheus.
        resumed: Folder that the run is kept in; None for nowhere.
    """
    if not asked.address:
        if not paths:
            raise WrongUsageError("name files or folders of recorded use, or a Prometheus server with --prometheus")
        yield recordings(paths, selection)
        return
    with TemporaryDirectory(prefix="evenkeel-replay-") as spare:
        folder = asked.folder or (resumed or Path(spare)) / _SOURCE
        with _logs_on_stderr():
            problems = _record(asked, selection, folder)
        warn(problems)
        yield recordings([*paths, folder], selection)


@contextmanager
def _logs_on_stderr() -> Iterator[None]:
    """Keep what the recommender's parts log apart from what the command prints, for the time of a ``with`` block."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        yield
    finally:
        structlog.configure(**before)


def _record(asked: PrometheusOptions, selection: Selection, folder: Path) -> tuple[str, ...]:
    """Record what Prometheus tells, and return what is wrong with it."""
    # What only Prometheus needs takes a while to load.
    from evenkeel.replay.shell.prometheus import Wanted, record  # noqa: PLC0415

    step = _duration("--step", asked.step)
    end = _moment("--to", asked.end) if asked.end else _whole(datetime.now(UTC), step)
    begin = end - span if (span := _given_duration(asked.begin)) is not None else _moment("--from", asked.begin)
    if begin >= end:
        raise WrongUsageError(f"--from {asked.begin}: is not before --to, {end.isoformat()}")
    wanted = Wanted(asked.address, begin, end, step, asked.flags, asked.cluster, selection, dict(os.environ))
    return record(wanted, folder).problems


def _whole(moment: datetime, step: timedelta) -> datetime:
    """Return the last of the whole steps up to a moment."""
    return moment - (moment - datetime.fromtimestamp(0, UTC)) % step


def _given_duration(text: str) -> timedelta | None:
    try:
        return parse_prometheus_duration(text)
    except ValueError:
        return None


def _duration(option: str, text: str) -> timedelta:
    found = _given_duration(text)
    if not found:
        raise WrongUsageError(f"{option} {text}: is no duration; write for example 1m, 5m or 1h")
    return found


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsageError(f"{option} {text}: is no time; write a date such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


CLUSTER: Final = "cluster"


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Where stored histograms are.

    Args:
        place: A file, or ``cluster``; empty for nowhere.
        kubeconfig: Of the cluster.
        context: Likewise.
        group: API group of its checkpoints.
    """

    place: str
    kubeconfig: str
    context: str
    group: ApiGroup

    def beginnings(self) -> Beginnings:
        """Read them, and name on standard error those that cannot be loaded."""
        if not self.place:
            return NOTHING_STORED
        if self.place == CLUSTER:
            found, problems = asyncio.run(self._of_cluster())
        else:
            found, problems = stored_in(Path(self.place))
        warn(problems)
        return found

    async def _of_cluster(self) -> tuple[Beginnings, tuple[str, ...]]:
        session = Session.of(self.kubeconfig, self.context, "", is_everywhere=True)
        async with session.client() as client:
            kinds = checkpoints(self.group), vertical_pod_autoscalers(self.group)
            stored, vpas = [await read_all(client, KindSelection(kind), bytes) for kind in kinds]
        return stored_of(stored, vpas)
