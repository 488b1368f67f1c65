"""S-2: the demonstration from start to end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.row import Benchmark
from bench.stopwatch import Stopwatch


class Demonstration(Benchmark):
    """The command behind ``make demo``, after set-up, without a terminal."""

    name = "S-2"
    title = "make demo after set-up"
    warm_ups = 0
    turns = 3
    targets = MappingProxyType({"S-2": Target(Bound.OURS_AT_MOST, 60, Unit.SECONDS)})

    def set_up(self) -> None:
        """Run it once only where a reduced size is enough."""
        self.turns = self.setting.choose(3, 1)

    def run_ours(self, turn: int) -> Run:
        """Run the burn scenario."""
        del turn
        with Stopwatch() as watch:
            done = subprocess.run(
                [Path(sys.executable).with_name("evenkeel"), "demo"],
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
        if done.returncode != 0:
            raise DisagreementError(f"the demonstration ended with status {done.returncode}: {done.stdout[-2000:]}")
        return watch.run()

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds by the clock on the wall."""
        del peer
        return [
            Figure(
                self.name,
                Spread.of([run.wall_seconds for run in ours]),
            )
        ]
