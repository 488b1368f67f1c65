"""Strategies on lots, here or in other processes (quality:Q-10, beyond:B-36)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import Reading
from evenkeel.replay.lots import HeldLot, Lot, lots
from evenkeel.replay.shell.contest import Part, Task
from evenkeel.replay.shell.playing import InTurn, Runner, Stage, play_all
from evenkeel.replay.shell.processes import Processes
from tests.evenkeel.replay.series import trace

SERIES = [trace([1.0 + number, 2.0 + number] * 6, name=f"web-{number}") for number in range(5)]


def held(most: int = 1_000) -> list[Lot]:
    return [HeldLot(tuple(lot)) for lot in lots(SERIES, most)]


@dataclass(frozen=True)
class Empty:
    """A lot of which nothing is left, as every series in it was too short."""

    mark: str = "empty"
    names: tuple[str, ...] = ("x",)

    def read(self) -> Reading:
        return Reading((), ("a.parquet row 1: x: is the only row of its series",))


@pytest.mark.parametrize("runner", [InTurn(), Processes(1), Processes(2)])
def test_lots_are_put_together_in_their_order(runner: Runner) -> None:
    """quality:Q-10: in whatever order they are done, each series keeps its place."""
    (whole,) = play_all(["static"], held(), Stage()).played
    outcome = play_all(["oracle", "static"], held(24), Stage(runner))
    oracle, static = outcome.played
    assert (oracle.name, static.name) == ("oracle", "static")
    assert static.scores.slack[0].tolist() == whole.scores.slack[0].tolist()
    assert oracle.scores.slack[0].tolist() != whole.scores.slack[0].tolist()
    assert outcome.names == tuple(each.name for each in SERIES)
    assert (outcome.rows, len(outcome.sources), len(oracle.scores.days)) == (60, 5, 5)


def test_a_lot_of_nothing_is_passed_over() -> None:
    """beyond:B-36: what is wrong with it is told once."""
    outcome = play_all(["static", "oracle"], [Empty(), *held()], Stage())
    assert outcome.problems == ("a.parquet row 1: x: is the only row of its series",)
    assert all(len(each.scores.days) == 5 for each in outcome.played)
    with pytest.raises(ConfigurationError, match=r"no series is left to play; .* a.parquet row 1: x: is the only"):
        play_all(["static"], [Empty()], Stage())


@dataclass
class Memory:
    """A shelf in memory."""

    kept: dict[tuple[str, int], Part] = field(default_factory=dict)

    def find(self, task: Task) -> Part | None:
        return self.kept.get((task.name, task.number))

    def keep(self, task: Task, part: Part) -> None:
        self.kept[task.name, task.number] = part


@dataclass
class Stopping:
    """A runner that is interrupted after some tasks."""

    most: int
    seen: int = 0

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Part]]:
        for each in InTurn().run(tasks):
            if self.seen == self.most:
                raise KeyboardInterrupt
            self.seen += 1
            yield each


def test_what_is_finished_is_not_played_again() -> None:
    """beyond:B-36: a run that was interrupted goes on, and comes to what it would have come to."""
    shelf, told = Memory(), list[tuple[int, int]]()
    with pytest.raises(KeyboardInterrupt):
        play_all(["static", "oracle"], held(24), Stage(Stopping(4), shelf))
    rest = Stopping(99)
    again = play_all(["static", "oracle"], held(24), Stage(rest, shelf, lambda done, of: told.append((done, of))))
    assert (len(shelf.kept), rest.seen) == (6, 2)
    assert told == [(4, 6), (5, 6), (6, 6)]
    whole = play_all(["static", "oracle"], held(24), Stage())
    for ours, theirs in zip(again.played, whole.played, strict=True):
        np.testing.assert_array_equal(ours.scores.slack, theirs.scores.slack)


def test_some_series_are_read_once_more() -> None:
    """beyond:B-36: by their numbers among all that were played, from the lots that they are in."""
    results = play_all(["static"], [Empty(), *held(24)], Stage())
    found = results.traces([4, 0, 3])
    assert {number: each.name for number, each in found.items()} == {0: "web-0", 3: "web-3", 4: "web-4"}
    assert results.traces([]) == {}


def test_a_strategy_of_no_name() -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match="--strategy crystal-ball: not installed"):
        play_all(["crystal-ball"], held(), Stage())
