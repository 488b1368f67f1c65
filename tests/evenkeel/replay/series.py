"""Short ways to write recorded series, and strategies that say what they are told to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.trace import Trace
from recommender.strategies.interface import Bounds, OomKills, ResourceBounds, Usage

Floats = NDArray[np.float64]
Uses = Sequence[float] | Floats

HOUR = 3600.0
DAY = 24 * HOUR
NAN = float("nan")
MI = 2.0**20
GI = 2.0**30


def trace(
    cpu: Uses,
    memory: Uses | None = None,
    *,
    step: float = HOUR,
    name: str = "web",
    source: str = "s",
) -> Trace:
    """Return a series of evenly spaced steps; without memory there is no sample of it."""
    use = np.array(cpu, dtype=np.float64)
    held = np.full(len(use), np.nan) if memory is None else np.array(memory, dtype=np.float64)
    return Trace(name, source, step, np.arange(len(use), dtype=np.float64) * step, use, held)


@dataclass
class Script:
    """A player whose targets are those of a list, the next one at every question; the last one stays.

    Args:
        targets: Cores and bytes.
        rows: Number of rows, which all get the same.
        spread: How far the bounds are from the target, in shares of it.
    """

    targets: Sequence[tuple[float, float]]
    rows: int
    spread: float = 0.05
    heard: list[Usage] = field(default_factory=list)
    kills: list[OomKills] = field(default_factory=list)
    asked: int = 0

    def observe(self, usage: Usage) -> None:
        self.heard.append(usage)

    def observe_ooms(self, kills: OomKills) -> None:
        self.kills.append(kills)

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        cpu, memory = self.targets[min(self.asked, len(self.targets) - 1)]
        self.asked += 1
        return Bounds(self._bounds(cpu), self._bounds(memory))

    def _bounds(self, target: float) -> ResourceBounds:
        amounts = (target, target * (1 - self.spread), target * (1 + self.spread))
        return ResourceBounds(*(np.full(self.rows, amount) for amount in amounts))
