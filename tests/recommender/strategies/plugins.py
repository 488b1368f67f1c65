"""Strategies of other distributions, for tests: a well-behaved one, ones that fail, and folders to install them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.interface import Bounds, JsonObject, OomKills, ResourceBounds, StrategyState, Usage
from recommender.strategies.known import Plugin

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DISTRIBUTION = "peaks 1.2"


@dataclass
class PeakState:
    """The largest use of each row, and everything that was heard."""

    cpu: Floats
    memory: Floats
    heard: list[Usage] = field(default_factory=list)
    kills: list[OomKills] = field(default_factory=list)

    @classmethod
    def of(cls, rows: int) -> PeakState:
        return cls(np.full(rows, np.nan), np.full(rows, np.nan))

    def grow(self, rows: int) -> None:
        more = np.full(rows - len(self.cpu), np.nan)
        self.cpu, self.memory = np.append(self.cpu, more), np.append(self.memory, more)

    def clear(self, rows: Integers) -> None:
        self.cpu[rows] = self.memory[rows] = np.nan

    def observe(self, usage: Usage) -> None:
        self.heard.append(usage)
        np.fmax.at(self.cpu, usage.rows, usage.cpu_cores)
        np.fmax.at(self.memory, usage.rows, usage.memory_bytes)

    def observe_ooms(self, kills: OomKills) -> None:
        self.kills.append(kills)
        np.fmax.at(self.memory, kills.rows, 2.0 * kills.memory_bytes)

    def recommend(self, now_seconds: float) -> Bounds:
        return Bounds(ResourceBounds(self.cpu.copy()), ResourceBounds(self.memory.copy()))

    def save(self, row: int) -> JsonObject:
        return {"cpu": number(self.cpu[row]), "memory": number(self.memory[row])}

    def restore(self, row: int, saved: JsonObject) -> None:
        cpu, memory = saved["cpu"], saved["memory"]
        assert isinstance(cpu, float)
        assert isinstance(memory, float)
        self.cpu[row], self.memory[row] = cpu, memory


def number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass
class Peak:
    """Recommends the largest use; remembers its states."""

    name: str = "peak"
    states: list[PeakState] = field(default_factory=list)

    def start(self, rows: int) -> StrategyState:
        self.states.append(PeakState.of(rows))
        return self.states[-1]


@dataclass
class Failing:
    """Makes states of which one method fails.

    Args:
        method: Which; ``start`` for this object's own.
        result: What it returns, or raises.
    """

    method: str
    result: object
    name: str = "failing"

    def start(self, rows: int) -> StrategyState:
        if self.method == "start":
            return self.fail()  # type: ignore[return-value]  # that is the failure
        state = PeakState.of(rows)
        vars(state)[self.method] = self.fail
        return state

    def fail(self, *_: object) -> object:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def plugin(strategy: Peak | Failing) -> Plugin:
    return Plugin(strategy.name, DISTRIBUTION, strategy)


def install(folder: Path, name: str, modules: Mapping[str, str], points: Mapping[str, str]) -> None:
    """Put a distribution of version 1.0 into a folder as pip would: its modules beside its metadata.

    Args:
        folder: To be on the path.
        name: Of the distribution.
        modules: Source by module name.
        points: Entry points, name to value.
    """
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[evenkeel.strategies]\n{lines}")
