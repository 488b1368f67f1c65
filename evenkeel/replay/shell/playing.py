"""All strategies on all lots, by whatever runs them; what has been finished once is not played again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from autoscaling.errors import ConfigurationError
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.contest import NOTHING_STORED
from evenkeel.replay.lots import Lot
from evenkeel.replay.scores import Scores, joined
from evenkeel.replay.shell.contest import NO_VARIANTS, Part, Task, check_names, play
from evenkeel.replay.trace import Trace
from evenkeel.replay.variants import Variant


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


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What all strategies came to.

    Args:
        played: The strategies, in the order in which they were named.
        names: Names of the series.
        sources: Where each of them comes from.
        rows: Rows of all series.
        problems: What was wrong with recordings.
        lots: The lots, with the number of series that are played of each.
    """

    played: tuple[Played, ...]
    names: tuple[str, ...]
    sources: tuple[str, ...]
    rows: int
    problems: tuple[str, ...]
    lots: tuple[tuple[Lot, int], ...]

    def traces(self, numbers: Iterable[int]) -> Mapping[int, Trace]:
        """Read some series once more, by their numbers."""
        found: dict[int, Trace] = {}
        wanted, begin = sorted(set(numbers)), 0
        for lot, count in self.lots:
            here = [number for number in wanted if begin <= number < begin + count]
            if here:
                traces = lot.read().traces
                found |= {number: traces[number - begin] for number in here}
            begin += count
        return found


class Runner(Protocol):
    """Plays."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Part]]:
        """Play all tasks, and yield each with what it came to as soon as it is done."""


class Shelf(Protocol):
    """Keeps what is finished."""

    def find(self, task: Task) -> Part | None:
        """Return what a task came to in an earlier run; None where it was not finished."""

    def keep(self, task: Task, part: Part) -> None:
        """Keep what a task came to."""


class InTurn:
    """Plays one after the other in this process."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Part]]:
        """Play all tasks."""
        for task in tasks:
            yield task, play(task)


class NoShelf:
    """Keeps nothing."""

    def find(self, task: Task) -> Part | None:  # noqa: ARG002 there is nothing, whatever is asked for
        """Return nothing."""
        return None

    def keep(self, task: Task, part: Part) -> None:
        """Do nothing."""


def tell_nobody(_done: int, _all: int) -> None:
    """Do nothing with how far it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """How it is played.

    Args:
        runner: Plays.
        shelf: Keeps what is finished.
        tell: Is told how many tasks are done, and of how many.
        beginnings: What strategies by histograms begin with.
    """

    runner: Runner = field(default_factory=InTurn)
    shelf: Shelf = field(default_factory=NoShelf)
    tell: Callable[[int, int], None] = tell_nobody
    beginnings: Beginnings = NOTHING_STORED


def play_all(
    names: Sequence[str], lots: Sequence[Lot], stage: Stage, variants: Mapping[str, Variant] = NO_VARIANTS
) -> Results:
    """Play strategies.

    Args:
        names: Their names, each once, at least one.
        lots: The series.
        stage: How.
        variants: What is played beside what is installed, by name.

    Raises:
        ConfigurationError: There is no strategy of a name, one fails, a lot cannot be read, or no series is left.
    """
    check_names(names, variants)
    # One strategy after the other plays a lot, so that whoever plays several in turn reads it once.
    tasks = [
        Task(variants.get(name, name), number, lot, stage.beginnings.among(lot.names))
        for number, lot in enumerate(lots)
        for name in names
    ]
    parts = {(task.name, task.number): part for task, part in _finished(tasks, stage)}
    of_first = [parts[names[0], number] for number in range(len(lots))]
    problems = tuple(problem for part in of_first for problem in part.problems)
    if not any(part.names for part in of_first):
        raise ConfigurationError(f"no series is left to play; the first problem is: {next(iter(problems), 'none')}")
    return Results(
        tuple(_whole(name, [parts[name, number] for number in range(len(lots))]) for name in names),
        tuple(name for part in of_first for name in part.names),
        tuple(source for part in of_first for source in part.sources),
        sum(part.rows for part in of_first),
        problems,
        tuple(zip(lots, (len(part.names) for part in of_first), strict=True)),
    )


def _finished(tasks: Sequence[Task], stage: Stage) -> Iterator[tuple[Task, Part]]:
    """Yield every task with what it came to, those of an earlier run first."""
    left: list[Task] = []
    for task in tasks:
        part = stage.shelf.find(task)
        if part is None:
            left.append(task)
        else:
            yield task, part
    done = len(tasks) - len(left)
    stage.tell(done, len(tasks))
    for task, part in stage.runner.run(left):
        stage.shelf.keep(task, part)
        done += 1
        stage.tell(done, len(tasks))
        yield task, part


def _whole(name: str, parts: Sequence[Part]) -> Played:
    scores = joined([part.scores for part in parts if part.scores is not None])
    return Played(name, scores, sum(part.seconds for part in parts))
