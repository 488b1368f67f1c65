"""R-1: one tick of samples from arrays into the histograms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from bench.cluster import Shape
from bench.figures import Bound, Figure, Run, Target
from bench.row import Benchmark
from bench.stopwatch import Stopwatch


class FoldArrays(Benchmark):
    """A CPU and a memory sample of every container; ready-made samples one by one at the peer, columns with us."""

    name = "R-1"
    title = "fold one tick of 100,000 containers from arrays"
    # The range of buckets in use settles in the first ticks, also that of their tails; after some days it has.
    warm_ups = 20
    turns = 7
    targets = MappingProxyType({"R-1": Target(Bound.RATIO_AT_LEAST, 80)})

    def set_up(self) -> None:
        """Let both sides know the cluster."""
        self.duel = self.setting.duels.of(self.setting.shape(Shape(10_000, 5), Shape(2_000, 5)))
        self.first = self.duel.begin() + 1
        # Once there are recommendations, samples are also compared with them.
        self.duel.ours.loop.take_usage(self.duel.columns(self.first - 1), datetime.now(UTC))
        self.duel.peer.ask("fold", file=self.duel.columns_file(self.first - 1))
        self.duel.check_statuses()

    def run_ours(self, turn: int) -> Run:
        """Fold one tick."""
        columns, now = self.duel.columns(self.first + turn), datetime.now(UTC)
        with Stopwatch() as watch:
            self.duel.ours.loop.take_usage(columns, now)
        return watch.run()

    def run_peer(self, turn: int) -> Run:
        """Add one tick's samples."""
        return self.duel.peer.ask("fold", file=self.duel.columns_file(self.first + turn)).run()

    def check(self) -> None:
        """Compare recommendations and checkpoints."""
        self.duel.check_statuses()
        self.duel.check_checkpoints()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds per tick."""
        return [self.seconds_figure(ours, peer)]
