"""Strategies that are installed, played in several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Final

from autoscaling.errors import ConfigurationError
from evenkeel.replay.contest import IN_HINDSIGHT, LOT_STEPS, SCORED_RATIO, Contender, contend, lots, run
from evenkeel.replay.course import Course
from evenkeel.replay.scores import Scores, joined
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


def play_all(
    names: Sequence[str],
    traces: Sequence[Trace],
    jobs: int,
    most_steps: int = LOT_STEPS,
    variants: Mapping[str, Variant] = NO_VARIANTS,
) -> Iterator[Played]:
    """Play strategies, and yield each as it is done.

    Args:
        names: Their names, each once.
        traces: The series.
        jobs: How many processes play at a time; with 1 this process does.
        most_steps: Steps of series that are played side by side.
        variants: What is played beside what is installed, by name.

    Raises:
        ConfigurationError: There is no strategy of a name, or it fails.
    """
    known = (*installed_names(), *variants)
    if unknown := sorted(set(names) - set(known)):
        raise ConfigurationError(f"--strategy {', '.join(unknown)}: not installed; choose from {', '.join(known)}")
    all_lots = list(lots(traces, most_steps))
    parts: dict[str, dict[int, Played]] = {name: {} for name in names}
    contestants = [variants.get(name, name) for name in names]
    for number, part in _parts(contestants, all_lots, jobs):
        done = parts[part.name]
        done[number] = part
        if len(done) == len(all_lots):
            in_order = [done[each] for each in range(len(all_lots))]
            scores = joined([each.scores for each in in_order])
            yield Played(part.name, scores, sum(each.seconds for each in in_order))


def _parts(
    contestants: Sequence[str | Variant], all_lots: Sequence[Sequence[Trace]], jobs: int
) -> Iterator[tuple[int, Played]]:
    """Play every strategy on every lot, and yield what it came to with the number of the lot."""
    tasks = [(contestant, number) for contestant in contestants for number in range(len(all_lots))]
    jobs = min(jobs, len(tasks))
    if jobs == 1:
        for contestant, number in tasks:
            yield number, _play(contestant, all_lots[number])
        return
    # A fork would take the threads' locks along. A lot goes to a process when its turn comes, not all of them at once.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        playing = {pool.submit(_play, contestant, all_lots[number]): number for contestant, number in tasks}
        for done in as_completed(playing):
            yield playing[done], done.result()


def course_of(contestant: str | Variant, traces: Sequence[Trace]) -> tuple[Steps, Course]:
    """Return what became of a few series with a strategy, at the ratio of limit to request that is scored.

    Args:
        contestant: A variant, or the name of a strategy that is installed.
        traces: The series.

    Raises:
        ConfigurationError: The strategy fails.
    """
    with _blamed(contestant):
        return run(_contender(contestant), traces, (SCORED_RATIO,))


def _play(contestant: str | Variant, traces: Sequence[Trace]) -> Played:
    begin = time.process_time()
    with _blamed(contestant):
        contender = _contender(contestant)
        scores = contend(contender, traces, _kernels(contender, traces))
    return Played(contender.name, scores, time.process_time() - begin)


@contextmanager
def _blamed(contestant: str | Variant) -> Iterator[None]:
    """Name the strategy that fails, whatever its code raises."""
    try:
        yield
    except Exception as error:
        name = contestant if isinstance(contestant, str) else contestant.name
        raise ConfigurationError(f"strategy {name}: {type(error).__name__}: {error}; leave it out") from error


def _contender(contestant: str | Variant) -> Contender:
    """Return what is played; a strategy is loaded where it plays, as not all of them can be sent there."""
    if isinstance(contestant, Variant):
        return Contender(contestant.name, contestant, limits_stay=contestant.limits_stay)
    return Contender(contestant) if contestant in IN_HINDSIGHT else Contender(contestant, _strategy(contestant))


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
