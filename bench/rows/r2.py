"""R-2: one tick from the bytes of the metrics API's answer into the histograms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from bench.cluster import Shape
from bench.figures import Bound, Figure, Run, Target
from bench.row import Benchmark
from bench.stopwatch import Stopwatch


class TakeMetricsList(Benchmark):
    """Decoding, matching and folding, as a round's step LoadMetrics does them."""

    name = "R-2"
    title = "the same from the bytes of the PodMetricsList"
    warm_ups = 3
    targets = MappingProxyType({"R-2": Target(Bound.RATIO_AT_LEAST, 6)})

    def set_up(self) -> None:
        """Let both sides know the cluster."""
        self.duel = self.setting.duels.of(self.setting.shape(Shape(10_000, 5), Shape(2_000, 5)))
        self.first = self.duel.begin()

    def run_ours(self, turn: int) -> Run:
        """Take in one answer."""
        self.duel.ours.offline.usage = Path(self.duel.usage_file(self.first + turn)).read_bytes()
        with Stopwatch() as watch:
            self.duel.ours.run(self.duel.ours.loop.load_usage())
        return watch.run()

    def run_peer(self, turn: int) -> Run:
        """Take in the same answer."""
        return self.duel.peer.ask("usage", file=self.duel.usage_file(self.first + turn)).run()

    def check(self) -> None:
        """Compare recommendations and checkpoints."""
        self.duel.check_statuses()
        self.duel.check_checkpoints()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds per answer."""
        size = Path(self.duel.usage_file(self.first)).stat().st_size / 2**20
        return [self.seconds_figure(ours, peer, note=f"{size:.0f} MiB of JSON")]
