"""R-4: whole rounds of the recommender without a network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from bench.cluster import Shape, Usage, first_tick, pod_names
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.ours import OurRecommender
from bench.row import Benchmark
from bench.stopwatch import Stopwatch

_LARGE = Shape(100_000, 5)
_LARGE_ROUNDS = 3


class WholeRound(Benchmark):
    """Every step of a round, with as many checkpoints as a round must write at least."""

    name = "R-4"
    title = "a whole round without network, 100,000 containers, 10,000 VPAs"
    warm_ups = 3
    targets = MappingProxyType(
        {
            "R-4": Target(Bound.RATIO_AT_LEAST, 5),
            "R-4/absolute": Target(Bound.OURS_AT_MOST, 1, Unit.SECONDS),
            "R-4/1M": Target(Bound.OURS_AT_MOST, 10, Unit.SECONDS),
        }
    )

    def set_up(self) -> None:
        """Let both sides know the cluster."""
        self.duel = self.setting.duels.of(self.setting.shape(Shape(10_000, 5), Shape(2_000, 5)))
        self.first = self.duel.begin()

    def run_ours(self, turn: int) -> Run:
        """Run a round."""
        self.duel.ours.offline.usage = Path(self.duel.usage_file(self.first + turn)).read_bytes()
        self.duel.ours.offline.patches.clear()
        return one_round(self.duel.ours)

    def run_peer(self, turn: int) -> Run:
        """Run a round over the same usage."""
        answer = self.duel.peer.ask("round", file=self.duel.usage_file(self.first + turn))
        return answer.run(**answer.steps)

    def check(self) -> None:
        """Compare recommendations and checkpoints."""
        self.duel.compare_statuses()
        self.duel.check_checkpoints()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds per round, against the peer and by themselves, and those of a cluster ten times as large."""
        shares = ", ".join(
            f"{step} {Spread.of([run.value(step) for run in ours]).median * 1000:.0f}"
            f"/{Spread.of([run.value(step) for run in peer]).median * 1000:.0f}"
            for step in sorted(ours[0].values)
            if step != "total"
        )
        figures = [
            self.seconds_figure(ours, peer, f"ms ours/peer: {shares}"),
            Figure(
                f"{self.name}/absolute",
                Spread.of([run.wall_seconds for run in ours]),
                ours_cpu=Spread.of([run.cpu_seconds for run in ours]),
            ),
        ]
        return figures if self.setting.is_quick else [*figures, self._large()]

    def _large(self) -> Figure:
        """Run rounds of a cluster of a million containers, ours alone: the peer's start alone would take hours."""
        self.setting.duels.close()
        begin = first_tick(datetime.now(UTC))
        usage, names = Usage(_LARGE, begin), pod_names(_LARGE)
        side = OurRecommender.comparable(_LARGE, begin, "--checkpoints-timeout=0s")
        try:
            runs = []
            for _ in range(1 + _LARGE_ROUNDS):
                side.offline.usage = usage.tick().metrics_list(names)
                side.offline.patches.clear()
                runs.append(one_round(side))
        finally:
            side.stop()
        return Figure(
            f"{self.name}/1M",
            Spread.of([run.wall_seconds for run in runs[1:]]),
            ours_cpu=Spread.of([run.cpu_seconds for run in runs[1:]]),
            note="1,000,000 containers, 100,000 VPAs, one process",
        )


def one_round(side: OurRecommender) -> Run:
    """Run one round and tell how long each step took."""
    before = side.step_seconds()
    with Stopwatch() as watch:
        side.run(side.loop.run_round())
    return watch.run(**{step: seconds - before.get(step, 0.0) for step, seconds in side.step_seconds().items()})
