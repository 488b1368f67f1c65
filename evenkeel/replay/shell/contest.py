"""Strategies that are installed, played in several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Final

from autoscaling.errors import ConfigurationError
from evenkeel.replay.contest import IN_HINDSIGHT, LOT_STEPS, Contender, contend, lots
from evenkeel.replay.scores import Scores, joined
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


def play_all(names: Sequence[str], traces: Sequence[Trace], jobs: int, most_steps: int = LOT_STEPS) -> Iterator[Played]:
    """Play strategies, and yield each as it is done.

    Args:
        names: Their names, each once.
        traces: The series.
        jobs: How many processes play at a time; with 1 this process does.
        most_steps: Steps of series that are played side by side.

    Raises:
        ConfigurationError: There is no strategy of a name, or it fails.
    """
    unknown = sorted(set(names) - set(installed_names()))
    if unknown:
        raise ConfigurationError(
            f"--strategy {', '.join(unknown)}: not installed; choose from {', '.join(installed_names())}"
        )
    all_lots = list(lots(traces, most_steps))
    parts: dict[str, dict[int, Played]] = {name: {} for name in names}
    for number, part in _parts(names, all_lots, jobs):
        done = parts[part.name]
        done[number] = part
        if len(done) == len(all_lots):
            in_order = [done[each] for each in range(len(all_lots))]
            scores = joined([each.scores for each in in_order])
            yield Played(part.name, scores, sum(each.seconds for each in in_order))


def _parts(names: Sequence[str], all_lots: Sequence[Sequence[Trace]], jobs: int) -> Iterator[tuple[int, Played]]:
    """Play every strategy on every lot, and yield what it came to with the number of the lot."""
    tasks = [(name, number) for name in names for number in range(len(all_lots))]
    jobs = min(jobs, len(tasks))
    if jobs == 1:
        for name, number in tasks:
            yield number, _play(name, all_lots[number])
        return
    # A fork would take the threads' locks along. A lot goes to a process when its turn comes, not all of them at once.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        playing = {pool.submit(_play, name, all_lots[number]): number for name, number in tasks}
        for done in as_completed(playing):
            yield playing[done], done.result()


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
