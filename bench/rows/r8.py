"""R-8: checkpoints of all VPAs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from bench.cluster import CONTAINERS, Shape
from bench.figures import Bound, Figure, Run, Spread, Target
from bench.row import Benchmark
from bench.stopwatch import Stopwatch


class WriteCheckpoints(Benchmark):
    """Merging, encoding and writing; the peer looks at every pod for every VPA, so it is asked for some VPAs only."""

    name = "R-8"
    title = "checkpoints of 10,000 VPAs with 100,000 pods known"
    turns = 3
    targets = MappingProxyType({"R-8": Target(Bound.RATIO_AT_LEAST, 50)})

    def set_up(self) -> None:
        """Give both sides some history."""
        shape = self.setting.shape(Shape(10_000, 10), Shape(2_000, 10))
        self.duel = self.setting.duels.of(shape)
        tick = self.duel.begin()
        self.duel.ours.loop.take_usage(self.duel.columns(tick), datetime.now(UTC))
        self.duel.peer.ask("fold", file=self.duel.columns_file(tick))
        self.compared = 0

    def run_ours(self, turn: int) -> Run:
        """Write all checkpoints."""
        del turn
        side = self.duel.ours
        side.offline.patches.clear()
        with Stopwatch() as watch:
            side.run(side.write_all_checkpoints())
        return watch.run(vpas=self.duel.shape.vpas)

    def run_peer(self, turn: int) -> Run:
        """Write checkpoints for some seconds."""
        del turn
        answer = self.duel.peer.ask("checkpoints", seconds=float(self.setting.choose(5, 2)))
        return answer.run(vpas=answer.count / len(CONTAINERS))

    def check(self) -> None:
        """Compare the checkpoints that the peer got to with ours."""
        self.compared = self.duel.compare_checkpoints()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds for all VPAs, the peer's extrapolated from those that it got to."""
        whole = self.duel.shape.vpas
        return [
            Figure(
                self.name,
                Spread.of([run.wall_seconds for run in ours]),
                Spread.of([run.wall_seconds / run.value("vpas") for run in peer]).scaled(whole),
                note=f"the peer's time is that of {peer[-1].value('vpas'):.0f} VPAs, scaled; "
                f"{self.compared} checkpoints compared",
                ours_cpu=Spread.of([run.cpu_seconds for run in ours]),
                peer_cpu=Spread.of([run.cpu_seconds / run.value("vpas") for run in peer]).scaled(whole),
            )
        ]
