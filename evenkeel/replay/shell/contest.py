"""Strategies that are installed, played in several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final

from autoscaling.errors import ConfigurationError
from evenkeel.replay.contest import IN_HINDSIGHT, Contender, contend
from evenkeel.replay.scores import Scores
from evenkeel.replay.trace import Trace
from recommender.kernels.compiling import UncompiledError, compiled
from recommender.kernels.suite import Kernels
from recommender.strategies.faults import Fault
from recommender.strategies.interface import Strategy
from recommender.strategies.known import ENTRY_POINTS, OWN_STRATEGIES, as_plugin
from recommender.strategies.vpa import BankStrategy

MANY_STEPS: Final = 4000
"""Steps of one series from which kernels are compiled: by then they have saved a second or two."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """What one strategy came to.

    Args:
        name: Of the strategy.
        scores: Of all series.
        seconds: Processor time that it took.
    """

    name: str
    scores: Scores
    seconds: float


def installed_names() -> tuple[str, ...]:
    """Return the names of all that can be played: our own strategies, those of other distributions, what no one has."""
    others = {point.name for point in entry_points(group=ENTRY_POINTS)}
    return (*OWN_STRATEGIES, *sorted(others - set(OWN_STRATEGIES)), *IN_HINDSIGHT)


def play_all(names: Sequence[str], traces: Sequence[Trace], jobs: int) -> Iterator[Played]:
    """Play strategies, and yield each as it is done.

    Args:
        names: Their names.
        traces: The series.
        jobs: How many processes play at a time; with 1 this process does.

    Raises:
        ConfigurationError: There is no strategy of a name, or it fails.
    """
    unknown = sorted(set(names) - set(installed_names()))
    if unknown:
        raise ConfigurationError(
            f"--strategy {', '.join(unknown)}: not installed; choose from {', '.join(installed_names())}"
        )
    if jobs == 1:
        for name in names:
            yield _play(name, traces)
        return
    # A fork would take the threads' locks along.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_play, name, traces) for name in names]):
            yield done.result()


def _play(name: str, traces: Sequence[Trace]) -> Played:
    begin = time.process_time()
    try:
        contender = Contender(name) if name in IN_HINDSIGHT else Contender(name, _strategy(name))
        scores = contend(contender, traces, _kernels(contender, traces))
    except Exception as error:
        raise ConfigurationError(f"strategy {name}: {type(error).__name__}: {error}; leave it out") from error
    return Played(name, scores, time.process_time() - begin)


def _kernels(contender: Contender, traces: Sequence[Trace]) -> Kernels | None:
    """Return compiled kernels where they gain more time than they take to compile."""
    if not isinstance(contender.strategy, BankStrategy) or max(map(len, traces)) < MANY_STEPS:
        return None
    try:
        return compiled()
    except UncompiledError:
        # The results are the same without.
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
