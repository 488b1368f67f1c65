"""A-1: how long the webhook takes to answer."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.rows.webhook import WebhookBenchmark

_FEW, _MANY = 1, 32


class WebhookLatency(WebhookBenchmark):
    """Real reviews over TLS connections that are kept, one at a time on each."""

    name = "A-1"
    title = "webhook latency with 10,000 VPAs, 1 and 32 connections"
    turns = 5
    targets = MappingProxyType({"A-1/1": Target(Bound.RATIO_AT_LEAST, 1), "A-1/32": Target(Bound.RATIO_AT_LEAST, 3)})

    def run_ours(self, turn: int) -> Run:
        """Put load on ours."""
        return self._both(self.ours, turn)

    def run_peer(self, turn: int) -> Run:
        """Put load on upstream's."""
        return self._both(self.theirs, turn)

    def _both(self, side: tuple[str, int], turn: int) -> Run:
        del turn
        seconds = float(self.setting.choose(5, 1))
        few, many = self.press(side, _FEW, seconds), self.press(side, _MANY, seconds)
        values = {f"{name}_few": value for name, value in few.values.items()}
        values |= {f"{name}_many": value for name, value in many.values.items()}
        return Run(few.wall_seconds + many.wall_seconds, few.cpu_seconds + many.cpu_seconds, values)

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report the 99th percentile at few and at many connections."""
        figures = []
        for which, connections in (("few", _FEW), ("many", _MANY)):
            figures.append(
                Figure(
                    f"{self.name}/{connections}",
                    Spread.of([run.value(f"p99_{which}") * 1000 for run in ours]),
                    Spread.of([run.value(f"p99_{which}") * 1000 for run in peer]),
                    Unit.MILLISECONDS,
                    note="p99; p50 "
                    + " : ".join(
                        f"{Spread.of([run.value(f'p50_{which}') * 1000 for run in side]).median:.2f}ms"
                        for side in (ours, peer)
                    ),
                )
            )
        return figures
