"""A-2: how many reviews the webhook answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.rows.webhook import WebhookBenchmark

_CONNECTIONS = 32


class WebhookRate(WebhookBenchmark):
    """As many reviews as 32 connections get answered."""

    name = "A-2"
    title = "webhook reviews per second with 10,000 VPAs"
    turns = 5
    targets = MappingProxyType({"A-2": Target(Bound.RATIO_AT_LEAST, 1.5)})

    def run_ours(self, turn: int) -> Run:
        """Put load on ours."""
        del turn
        return self.press(self.ours, _CONNECTIONS, float(self.setting.choose(5, 1)))

    def run_peer(self, turn: int) -> Run:
        """Put load on upstream's."""
        del turn
        return self.press(self.theirs, _CONNECTIONS, float(self.setting.choose(5, 1)))

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report reviews per second; the CPU times are those of one review of each."""
        rates = [Spread.of([run.value("rate") for run in side]) for side in (ours, peer)]
        cpu = [Spread.of([r.cpu_seconds / (r.value("rate") * r.wall_seconds) for r in side]) for side in (ours, peer)]
        return [
            Figure(
                self.name,
                rates[0],
                rates[1],
                Unit.PER_SECOND,
                is_more_better=True,
                note="CPU per review",
                ours_cpu=cpu[0],
                peer_cpu=cpu[1],
            )
        ]
