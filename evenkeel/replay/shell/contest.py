"""Strategies that are installed, each played on a lot of series."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points, version
from types import MappingProxyType
from typing import Final

from autoscaling.errors import ConfigurationError
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.columns import Reading
from evenkeel.replay.contest import IN_HINDSIGHT, NOTHING_STORED, SCORED_RATIO, Contender, contend, run
from evenkeel.replay.course import Course
from evenkeel.replay.lots import HeldLot, Lot
from evenkeel.replay.scores import Scores
from evenkeel.replay.steps import Steps
from evenkeel.replay.trace import Trace
from evenkeel.replay.variants import Variant
from recommender.kernels.compiling import UncompiledError, compiled
from recommender.kernels.suite import Kernels
from recommender.strategies.faults import Fault
from recommender.strategies.interface import Strategy
from recommender.strategies.known import ENTRY_POINTS, OWN_STRATEGIES, as_plugin
from recommender.strategies.vpa import BankStrategy

MANY_STEPS: Final = 4000
"""Steps of one series from which kernels are compiled: by then they have saved a second or two."""


NO_VARIANTS: Final[Mapping[str, Variant]] = MappingProxyType({})

Contestant = str | Variant
"""What is to be played: a variant, or the name of a strategy that is installed."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Something to be played.

    Args:
        contestant: The strategy.
        number: Of the lot.
        lot: The series.
        beginnings: What strategies by histograms begin with.
    """

    contestant: Contestant
    number: int
    lot: Lot
    beginnings: Beginnings = NOTHING_STORED

    @property
    def name(self) -> str:
        """Name of the strategy."""
        return self.contestant if isinstance(self.contestant, str) else self.contestant.name


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What a strategy came to on a lot.

    Args:
        scores: Of its series; None where not one is left of them.
        names: Names of the series.
        sources: Where each comes from.
        rows: Rows of all of them.
        problems: What was wrong with the lot.
        seconds: Processor time that it took.
    """

    scores: Scores | None
    names: tuple[str, ...]
    sources: tuple[str, ...]
    rows: int
    problems: tuple[str, ...]
    seconds: float


class _LastRead(threading.local):
    """The lot that a thread has read last, as each strategy in turn is played on it."""

    def __init__(self) -> None:
        self.mark = ""
        self.reading: Reading | None = None

    def reading_of(self, lot: Lot) -> Reading:
        if isinstance(lot, HeldLot):
            return lot.read()
        if self.reading is None or lot.mark != self.mark:
            # What was read before is let go first.
            self.reading = None
            self.mark, self.reading = lot.mark, lot.read()
        return self.reading


def installed_names() -> tuple[str, ...]:
    """Return the names of all that can be played: our own strategies, those of other distributions, what no one has."""
    others = {point.name for point in entry_points(group=ENTRY_POINTS)}
    return (*OWN_STRATEGIES, *sorted(others - set(OWN_STRATEGIES)), *IN_HINDSIGHT)


def check_names(names: Sequence[str], variants: Mapping[str, Variant] = NO_VARIANTS) -> None:
    """Refuse names of nothing.

    Args:
        names: What is to be played.
        variants: What can be played beside what is installed, by name.

    Raises:
        ConfigurationError: There is no strategy of a name.
    """
    known = (*installed_names(), *variants)
    if unknown := sorted(set(names) - set(known)):
        raise ConfigurationError(f"--strategy {', '.join(unknown)}: not installed; choose from {', '.join(known)}")


def identity(task: Task) -> str:
    """Return text that is another one as soon as something else is played: series, start, strategy or its version."""
    contestant = task.contestant
    points = entry_points(group=ENTRY_POINTS, name=task.name)
    found = {f"{point.dist.name} {point.dist.version}" for point in points if point.dist is not None}
    begun = repr(sorted(task.beginnings.stored.items())) if task.beginnings.stored else ""
    return "\n".join((task.lot.mark, repr(contestant), f"evenkeel {version('evenkeel')}", *sorted(found), begun))


def play(task: Task) -> Part:
    """Play a strategy on a lot.

    Raises:
        ConfigurationError: The lot cannot be read, or the strategy fails.
    """
    begin = time.process_time()
    reading = _last_read().reading_of(task.lot)
    traces = reading.traces
    scores = _scores(task, traces) if traces else None
    return Part(
        scores,
        tuple(trace.name for trace in traces),
        tuple(trace.source for trace in traces),
        sum(map(len, traces)),
        reading.problems,
        time.process_time() - begin,
    )


@cache
def _last_read() -> _LastRead:
    return _LastRead()


def course_of(
    contestant: Contestant, traces: Sequence[Trace], beginnings: Beginnings = NOTHING_STORED
) -> tuple[Steps, Course]:
    """Return what became of a few series with a strategy, at the ratio of limit to request that is scored.

    Args:
        contestant: A variant, or the name of a strategy that is installed.
        traces: The series.
        beginnings: What strategies by histograms begin with.

    Raises:
        ConfigurationError: The strategy fails.
    """
    with _blamed(contestant):
        return run(_contender(contestant, beginnings), traces, (SCORED_RATIO,))


def _scores(task: Task, traces: Sequence[Trace]) -> Scores:
    with _blamed(task.contestant):
        contender = _contender(task.contestant, task.beginnings)
        return contend(contender, traces, _kernels(contender, traces))


@contextmanager
def _blamed(contestant: Contestant) -> Iterator[None]:
    """Name the strategy that fails, whatever its code raises."""
    try:
        yield
    except Exception as error:
        name = contestant if isinstance(contestant, str) else contestant.name
        raise ConfigurationError(f"strategy {name}: {type(error).__name__}: {error}; leave it out") from error


def _contender(contestant: Contestant, beginnings: Beginnings) -> Contender:
    """Return what is played; a strategy is loaded where it plays, as not all of them can be sent there."""
    if isinstance(contestant, Variant):
        return Contender(contestant.name, contestant, beginnings, limits_stay=contestant.limits_stay)
    strategy = None if contestant in IN_HINDSIGHT else _strategy(contestant)
    return Contender(contestant, strategy, beginnings)


def _kernels(contender: Contender, traces: Sequence[Trace]) -> Kernels | None:
    """Return compiled kernels where they gain more time than they take to compile."""
    if not isinstance(contender.strategy, BankStrategy) or max(map(len, traces)) < MANY_STEPS:
        return None
    return _compiled()


@cache
def _compiled() -> Kernels | None:
    """Return compiled kernels, or None where they cannot be: the results are the same without."""
    try:
        return compiled()
    except UncompiledError:
        return None


def _strategy(name: str) -> Strategy:
    """Return a strategy, loaded as the recommender does.

    Raises:
        TypeError: What is installed by this name is no strategy.
    """
    if name in OWN_STRATEGIES:
        return OWN_STRATEGIES[name]
    (point, *_) = entry_points(group=ENTRY_POINTS, name=name)
    found = as_plugin(name, str(point.dist and point.dist.name), point.load())
    if isinstance(found, Fault):
        raise TypeError(found.problem)
    return found.strategy
