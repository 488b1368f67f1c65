"""R-3: from the histograms to encoded status patches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from bench.cluster import Shape
from bench.figures import Bound, Figure, Run, Target
from bench.row import Benchmark
from bench.stopwatch import Stopwatch


class Recommend(Benchmark):
    """Percentiles, post-processing, conditions and patches of all VPAs, as a round's step UpdateVPAs does them."""

    name = "R-3"
    title = "recommendations and status patches of 10,000 VPAs"
    warm_ups = 2
    targets = MappingProxyType({"R-3": Target(Bound.RATIO_AT_LEAST, 4)})

    def set_up(self) -> None:
        """Give both sides some history."""
        self.duel = self.setting.duels.of(self.setting.shape(Shape(10_000, 5), Shape(2_000, 5)))
        self.first = self.duel.begin()
        self._fold(self.first)

    def _fold(self, tick: int) -> None:
        self.duel.ours.loop.take_usage(self.duel.columns(tick), datetime.now(UTC))
        self.duel.peer.ask("fold", file=self.duel.columns_file(tick))

    def run_ours(self, turn: int) -> Run:
        """Recommend for all VPAs."""
        if turn % 2 == 0:
            self._fold(self.first + turn + 1)
        self.duel.ours.offline.patches.clear()
        with Stopwatch() as watch:
            self.duel.ours.run(self.duel.ours.loop.update_vpas())
        return watch.run()

    def run_peer(self, turn: int) -> Run:
        """Recommend for all VPAs."""
        if turn % 2:
            self._fold(self.first + turn + 1)
        return self.duel.peer.ask("recommend").run()

    def check(self) -> None:
        """Compare what both sides have written last."""
        self.duel.compare_statuses()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds per step."""
        return [self.seconds_figure(ours, peer)]
