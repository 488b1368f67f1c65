"""Strategies that have a model of each resource and go by the same rules for the rest.

A model estimates, and the target is that, times a factor, but no less than a floor. After an OOM kill the memory target
is for 24 hours no less than what that asks for. Bounds are left to those who ask.

Spec: beyond B-10; quality Q-2, Q-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.interface import Bounds, JsonObject, OomKills, ResourceBounds, Usage
from recommender.strategies.packing import nested
from recommender.strategies.recent_maximum import RecentMaximum
from recommender.strategies.steps import Samples, Step, samples_of, steps

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

OOM_FACTOR: Final = 1.2
OOM_BYTES: Final = 100.0 * 1024 * 1024
OOM_SECONDS: Final = 24.0 * 3600


class Model(Protocol):
    """What was seen of one resource of all rows."""

    def grow(self, rows: int) -> None:
        """Have this many rows, never fewer than before."""

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""

    def take(self, step: Step) -> None:
        """Take in what some rows used in one second."""

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return the amount of every row at its moment, NaN where nothing was seen."""

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved."""


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """How one resource is recommended.

    Args:
        model: Returns a model of so many rows.
        factor: What an estimate is multiplied by.
        floor: Least target, cores or bytes.
    """

    model: Callable[[int], Model]
    factor: float
    floor: float

    def target(self, estimates: Floats) -> Floats:
        """Return the target of every row, NaN where there is no estimate."""
        return np.maximum(self.factor * estimates, self.floor)


@dataclass(frozen=True, slots=True)
class ModelledStrategy:
    """A strategy with a model of each resource.

    Args:
        name: What ``spec.recommender.strategy`` calls it.
        cpu: How CPU is recommended.
        memory: How memory is.
    """

    name: str
    cpu: ResourceRule
    memory: ResourceRule

    def start(self, rows: int) -> ModelledState:
        """Return a state of so many rows that have seen nothing."""
        return ModelledState(self, rows)


class ModelledState:
    """The state of such a strategy.

    Args:
        strategy: Its rules.
        rows: How many rows there are at first.
    """

    def __init__(self, strategy: ModelledStrategy, rows: int) -> None:
        self._strategy = strategy
        self._rows = rows
        self._cpu = strategy.cpu.model(rows)
        self._memory = strategy.memory.model(rows)
        self._oom_needs = RecentMaximum(OOM_SECONDS, rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._rows = rows
        for part in (self._cpu, self._memory, self._oom_needs):
            part.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for part in (self._cpu, self._memory, self._oom_needs):
            part.clear(rows)

    def observe(self, usage: Usage) -> None:
        """Take in samples."""
        for model, samples in zip((self._cpu, self._memory), samples_of(usage), strict=True):
            for step in steps(samples):
                model.take(step)

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills."""
        needs = np.maximum(kills.memory_bytes + OOM_BYTES, OOM_FACTOR * kills.memory_bytes)
        for step in steps(Samples(kills.rows, kills.times_seconds, np.zeros(len(needs)), needs)):
            self._oom_needs.take(step)

    def recommend(self, now_seconds: float) -> Bounds:
        """Return the target of every row."""
        return self.recommend_each(np.full(self._rows, now_seconds))

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return the target of every row at a moment of its own."""
        memory = self._strategy.memory.target(self._memory.estimate(moments_seconds))
        return Bounds(
            ResourceBounds(self._strategy.cpu.target(self._cpu.estimate(moments_seconds))),
            ResourceBounds(np.fmax(memory, self._oom_needs.estimate(moments_seconds))),
        )

    def save(self, row: int) -> JsonObject:
        """Return all that was seen of a row."""
        parts = (("cpu", self._cpu), ("memory", self._memory), ("oomNeeds", self._oom_needs))
        return {name: dict(part.save(row)) for name, part in parts}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        self._cpu.restore(row, nested(saved, "cpu"))
        self._memory.restore(row, nested(saved, "memory"))
        self._oom_needs.restore(row, nested(saved, "oomNeeds"))
