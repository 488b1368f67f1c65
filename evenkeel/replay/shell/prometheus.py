"""Recorded use from Prometheus: namespace by namespace and slice by slice into files, which are then played.

Spec: beyond B-7, B-36.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Final

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.flag_model import HelpRequested
from autoscaling.runtime.go_literals import format_prometheus_duration
from evenkeel.replay.selection import EVERYTHING, Selection
from evenkeel.replay.shell.spool import spooled
from recommender.__main__ import past_use
from recommender.config import RecommenderConfig
from recommender.history.errors import HistoryError
from recommender.history.past import PastUse
from recommender.history.pieces import Budget, Span, cut

_LABELS: Final = (
    "--container-pod-name-label=pod",
    "--container-name-label=container",
    "--prometheus-cadvisor-job-name=",
)
"""What kubelets of today call the labels, whatever the job; the recommender's own defaults are upstream's."""

_PLAN: Final = "plan.json"
_SPELLINGS: Final[Mapping[str, str]] = {
    "--history-resolution": "--step",
    "shorten --history-length": "begin later with --from",
    "--prometheus-address": "--prometheus",
}
"""How what an error advises is called here."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Args:
        address: Of Prometheus.
        begin: First instant.
        end: Up to when.
        step: Time between two instants.
        flags: Flags of the recommender that say how Prometheus is asked, in one text.
        cluster: The only cluster; empty where Prometheus has those of one.
        selection: Which containers are wanted.
        environment: Environment variables, some of which sign in.
        budget: How large the pieces are that are asked for at once.
    """

    address: str
    begin: datetime
    end: datetime
    step: timedelta
    flags: str = ""
    cluster: str = ""
    selection: Selection = EVERYTHING
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    budget: Budget = field(default_factory=Budget)

    def config(self) -> RecommenderConfig:
        """Return the flags of a recommender that asks for this.

        Raises:
            ConfigurationError: They make no sense.
        """
        words = (
            *_LABELS,
            *_words(self.flags),
            f"--prometheus-address={self.address}",
            f"--history-length={format_prometheus_duration(self.end - self.begin)}",
            f"--history-resolution={format_prometheus_duration(self.step)}",
        )
        try:
            return RecommenderConfig.from_command_line(words, self.environment)
        except HelpRequested:
            raise ConfigurationError("--prometheus-flags: --help is no flag of a running recommender") from None
        except ConfigurationError as error:
            raise ConfigurationError(f"--prometheus-flags: {error}") from error

    def identity(self) -> Mapping[str, object]:
        """Return what tells it from other recordings, without the time and without secrets.

        Raises:
            ConfigurationError: The flags make no sense.
        """
        with _opened(self) as past:
            queries = list(past.queries())
        return {
            "address": self.address,
            "step_seconds": self.step.total_seconds(),
            "queries": queries,
            "selection": list(self.selection.texts()),
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded.

    Args:
        files: In the order in which it was asked for.
        problems: What was wrong with series.
    """

    files: tuple[Path, ...]
    problems: tuple[str, ...]


def record(wanted: Wanted, folder: Path) -> Recorded:
    """Record use into a folder; what an earlier run has finished there is not asked for again.

    Args:
        wanted: What is asked for; a folder that was begun is finished up to the end that it was begun with.
        folder: Is made where it is not there.

    Raises:
        ConfigurationError: Prometheus does not answer as it should, or the folder holds something else.
    """
    _make(folder)
    plan = _plan_in(wanted, folder)
    if plan is not None and all(file.exists() for file in plan.files):
        return Recorded(plan.files, ())
    ahead = wanted if plan is None else plan.wanted
    with _blamed(wanted.address), _opened(ahead) as past:
        if plan is None:
            plan = _new_plan(wanted, past, folder)
        for batch, file in zip(plan.batches, plan.files, strict=True):
            if not file.exists():
                with spooled(file, wanted.selection) as spool:
                    for piece in cut(past.span(), batch, wanted.budget):
                        for part in past.fetch(piece):
                            spool.take(part)
        bad = {flaw.value: count for flaw, count in past.flaws.counts.items()}
    return Recorded(plan.files, tuple(f"{wanted.address}: {count} series: {flaw}" for flaw, count in bad.items()))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is asked for in which order.

    Args:
        wanted: What was asked for when it was made.
        batches: Namespaces that are asked for together, with the number of series in each.
        files: Of each of them.
    """

    wanted: Wanted
    batches: tuple[Mapping[str, int], ...]
    files: tuple[Path, ...]


def _new_plan(wanted: Wanted, past: PastUse, folder: Path) -> _Plan:
    chosen = Selection(only=wanted.selection.namespaces)
    sizes = {name: size for name, size in past.sizes().items() if chosen.takes(name)}
    if not sizes:
        raise ConfigurationError(
            f"--prometheus {wanted.address}: no series of containers from {wanted.begin} to {wanted.end}; check the"
            " time, --namespace, and with --prometheus-flags the labels and the job"
        )
    batches = [{name: sizes[name] for name in names} for names in _together(past.span(), sizes, wanted.budget)]
    told = {
        **wanted.identity(),
        "begin": wanted.begin.isoformat(),
        "end": wanted.end.isoformat(),
        "batches": batches,
    }
    part = folder / f"{_PLAN}.part"
    part.write_text(json.dumps(told, indent=2), encoding="utf-8")
    part.replace(folder / _PLAN)
    return _Plan(wanted, tuple(batches), _files(folder, len(batches)))


def _together(span: Span, sizes: Mapping[str, int], budget: Budget) -> Iterator[tuple[str, ...]]:
    """Yield the namespaces that are asked for together."""
    for names, _ in groupby(cut(span, sizes, budget), key=lambda piece: piece.namespaces):
        yield names


def _files(folder: Path, count: int) -> tuple[Path, ...]:
    return tuple(folder / f"use-{number:05}.parquet" for number in range(count))


def _plan_in(wanted: Wanted, folder: Path) -> _Plan | None:
    """Return the plan that a folder was begun with, None where there is none.

    Raises:
        ConfigurationError: It is one of something else, or cannot be read.
    """
    file = folder / _PLAN
    if not file.exists():
        return None
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        begin, end = (datetime.fromisoformat(told[name]) for name in ("begin", "end"))
        batches = tuple({str(name): int(size) for name, size in each.items()} for each in told["batches"])
        identity = wanted.identity()
        same = {name: told[name] for name in identity} == identity
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{file}: {error!r}; remove the folder, or name another one") from error
    if not same:
        raise ConfigurationError(f"{folder}: holds a recording of something else (see {_PLAN}); name another folder")
    return _Plan(replace(wanted, begin=begin, end=end), batches, _files(folder, len(batches)))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder}: {error}; name a folder that can be made") from error


@contextmanager
def _opened(wanted: Wanted) -> Iterator[PastUse]:
    past = past_use(wanted.config(), wanted.end, wanted.cluster)
    try:
        yield past
    finally:
        past.close()


@contextmanager
def _blamed(address: str) -> Iterator[None]:
    """Name the options of this command in what Prometheus is blamed for."""
    try:
        yield
    except HistoryError as error:
        remedy = error.remedy
        for theirs, ours in _SPELLINGS.items():
            remedy = remedy.replace(theirs, ours)
        raise ConfigurationError(f"--prometheus {address}: {error.problem}; {remedy}") from error


def _words(flags: str) -> Sequence[str]:
    try:
        return shlex.split(flags)
    except ValueError as error:
        raise ConfigurationError(f"--prometheus-flags: {error}; quote them as a shell would") from error
