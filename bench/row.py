"""What every benchmark is, and how its two sides take turns."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from bench.cluster import Shape
from bench.duel import DuelPool
from bench.figures import Figure, Run, Spread, Target


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how large a benchmark runs.

    Args:
        folder: An empty folder for files that both sides read.
        is_quick: Whether a reduced size is enough.
        duels: Recommenders that several rows may use one after the other.
        cluster: The cluster of rows that are measured at several sizes; each row's own where there is none.
    """

    folder: Path
    is_quick: bool
    duels: DuelPool
    cluster: Shape | None = None

    def choose(self, whole: int, quick: int) -> int:
        """Return one of two sizes."""
        return quick if self.is_quick else whole

    def shape(self, whole: Shape, quick: Shape) -> Shape:
        """Return the cluster that is measured: one of two, unless it has been chosen for all rows."""
        if self.cluster is not None:
            return self.cluster
        return quick if self.is_quick else whole


class Benchmark(ABC):
    """One row of the table of benchmarks.

    Attributes:
        name: The row.
        title: What it measures, for people.
        warm_ups: Turns that do not count.
        turns: Turns that count.
        targets: What its figures are judged by, by their names.
        is_judged_when_quick: Whether a reduced run is judged by them, too.
    """

    name: str
    title: str
    warm_ups: int = 1
    turns: int = 5
    targets: Mapping[str, Target] = MappingProxyType({})
    is_judged_when_quick: bool = True

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @abstractmethod
    def set_up(self) -> None:
        """Make the data and start what has to run."""

    @abstractmethod
    def run_ours(self, turn: int) -> Run:
        """Do the work once with what we ship."""

    def run_peer(self, turn: int) -> Run | None:
        """Do the same work once with upstream's code; None where a row has no peer."""
        del turn
        return None

    def check(self) -> None:  # noqa: B027 a row without a peer has nothing to compare
        """Make sure that both sides did the same work.

        Raises:
            DisagreementError: They did not.
        """

    @abstractmethod
    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Return the figures of all turns that count, not judged yet."""

    def tear_down(self) -> None:  # noqa: B027 most rows leave nothing behind
        """End what was started."""

    def judged(self, figure: Figure) -> Figure:
        """Return one of its figures with the target that it has in this run, if any."""
        is_judged = self.is_judged_when_quick or not self.setting.is_quick
        return replace(figure, target=self.targets.get(figure.name) if is_judged else None)

    def seconds_figure(self, ours: Sequence[Run], peer: Sequence[Run], note: str = "") -> Figure:
        """Return the figure of rows that compare seconds of work."""
        return Figure(
            self.name,
            Spread.of([run.wall_seconds for run in ours]),
            Spread.of([run.wall_seconds for run in peer]) if peer else None,
            note=note,
            ours_cpu=Spread.of([run.cpu_seconds for run in ours]),
            peer_cpu=Spread.of([run.cpu_seconds for run in peer]) if peer else None,
        )

    def work_figures(self, ours: Sequence[Run], peer: Sequence[Run], note: str) -> list[Figure]:
        """Return the figures of rows that compare CPU time, for waiting is no work; wall time stands beside."""
        work, wall = (
            [Spread.of([run.value(name) for run in side]) for side in (ours, peer)] for name in ("cpu", "wall")
        )
        return [
            Figure(self.name, work[0], work[1], note=f"CPU time; {note}"),
            Figure(f"{self.name}/wall", wall[0], wall[1]),
        ]


def measure(benchmark: Benchmark) -> list[Figure]:
    """Run one benchmark and judge its figures: the sides alternate, and who begins alternates, too.

    Raises:
        DisagreementError: The sides did not do the same work.
    """
    ours: list[Run] = []
    peers: list[Run] = []
    try:
        benchmark.set_up()
        gc.collect()
        for turn in range(benchmark.warm_ups + benchmark.turns):
            counts = turn >= benchmark.warm_ups
            for is_ours in (True, False) if turn % 2 == 0 else (False, True):
                run = benchmark.run_ours(turn) if is_ours else benchmark.run_peer(turn)
                if counts and run is not None:
                    (ours if is_ours else peers).append(run)
        benchmark.check()
        return [benchmark.judged(figure) for figure in benchmark.report(ours, peers)]
    finally:
        benchmark.tear_down()
