"""R-9: how the steps of a round grow with the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from bench.cluster import Shape
from bench.figures import Bound, Figure, Run, Spread, Target, Unit, fitted_exponent
from bench.row import Benchmark
from bench.rows.r4 import one_round

STEPS = (
    "LoadVPAs",
    "LoadPods",
    "LoadMetrics",
    "UpdateVPAs",
    "MaintainCheckpoints",
    "GarbageCollect",
    "DeleteRemovedPods",
    "total",
)
"""Of a round, as the metrics of both sides name them."""

_ROUNDS = 4
_WARM = 1
_WORTH_FITTING_SECONDS = 0.005
"""By either side, at the largest size; below that the clock and the machine are measured, not the step."""


class Growth(Benchmark):
    """Rounds of clusters of which each is twice as large as the one before."""

    name = "R-9"
    title = "growth of each step with pods and VPAs doubled three times"
    warm_ups = 0
    turns = 4 * _ROUNDS
    targets = MappingProxyType({f"R-9/{step}": Target(Bound.OURS_AT_MOST, 1.05, Unit.EXPONENT) for step in STEPS})

    def set_up(self) -> None:
        """Choose the sizes."""
        smallest = self.setting.choose(1250, 250)
        self.shapes = [Shape(smallest * 2**power, 10) for power in range(4)]

    def _prepare(self, turn: int) -> int:
        """Make the cluster of a turn unless it is there; returns the number of the tick to be taken in."""
        shape = self.shapes[turn // _ROUNDS]
        fresh = self.setting.duels.of(shape)
        if turn % _ROUNDS == 0 and getattr(self, "duel", None) is not fresh:
            self.duel, self.first = fresh, fresh.begin() - turn
        return self.first + turn

    def run_ours(self, turn: int) -> Run:
        """Run a round."""
        tick = self._prepare(turn)
        side = self.duel.ours
        side.offline.usage = Path(self.duel.usage_file(tick)).read_bytes()
        side.offline.patches.clear()
        return self._marked(one_round(side), turn)

    def run_peer(self, turn: int) -> Run:
        """Run a round over the same usage."""
        answer = self.duel.peer.ask("round", file=self.duel.usage_file(self._prepare(turn)))
        return self._marked(answer.run(**answer.steps), turn)

    def _marked(self, run: Run, turn: int) -> Run:
        """Note the size, and whether the round counts."""
        counts = float(turn % _ROUNDS >= _WARM)
        return Run(run.wall_seconds, run.cpu_seconds, run.values | {"size": turn // _ROUNDS, "counts": counts})

    def check(self) -> None:
        """Compare what both sides have written last."""
        self.duel.compare_statuses()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report the fitted exponent of each step that takes either side long enough to be fitted."""
        figures = []
        for step in sorted(set(ours[0].values) - {"size", "counts"}):
            curve, others = self._curve(ours, step), self._curve(peer, step)
            if max(curve[-1], others[-1]) < _WORTH_FITTING_SECONDS:
                continue
            figures.append(
                Figure(
                    f"{self.name}/{step}",
                    _point(self._exponent(curve)),
                    _point(self._exponent(others)),
                    Unit.EXPONENT,
                    note=f"ms by size, ours {_milliseconds(curve)}, peer {_milliseconds(others)}",
                )
            )
        return figures

    def _curve(self, runs: Sequence[Run], step: str) -> list[float]:
        """Return the median seconds of a step at each size."""
        return [
            Spread.of([r.value(step) for r in runs if r.value("size") == size and r.value("counts")]).median
            for size in range(len(self.shapes))
        ]

    def _exponent(self, curve: Sequence[float]) -> float:
        return fitted_exponent([shape.pods for shape in self.shapes], curve)


def _point(value: float) -> Spread:
    return Spread(value, value, value, 1)


def _milliseconds(curve: Sequence[float]) -> str:
    return "/".join(f"{seconds * 1000:.1f}" for seconds in curve)
