"""What a strategy is: samples of use go in, in columns, and a target with bounds comes out.

A strategy makes a state that holds any number of rows, each for one container of one VerticalPodAutoscaler, and that
knows nothing of the others. It learns of the time only by what it is told, so what it recommends depends on nothing but
the samples of a row so far and the moment that is asked about.

Spec: beyond B-10; quality Q-2, Q-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Usage:
    """Samples in the order of time; the arrays are read-only and the strategy's to keep.

    A row occurs once for every pod that has such a container, also more than once at the same time. Samples of
    different pods may come some minutes late; those of one pod come in the order of time.

    Args:
        rows: int64[n], 0 and up.
        ends_seconds: float64[n], end of each sample, seconds since the Unix epoch.
        durations_seconds: float64[n], time that each sample stands for, above zero.
        cpu_cores: float64[n], NaN where there is no sample of CPU.
        memory_bytes: float64[n], NaN where there is no sample of memory.
    """

    rows: Integers
    ends_seconds: Floats
    durations_seconds: Floats
    cpu_cores: Floats
    memory_bytes: Floats


@dataclass(frozen=True, slots=True)
class OomKills:
    """Containers that ran out of memory; the arrays are read-only and the strategy's to keep.

    Args:
        rows: int64[n].
        times_seconds: float64[n], seconds since the Unix epoch.
        memory_bytes: float64[n], the request at the kill, or the use reported with an eviction; 0 where unknown.
    """

    rows: Integers
    times_seconds: Floats
    memory_bytes: Floats


@dataclass(frozen=True, slots=True)
class ResourceBounds:
    """What to request of one resource.

    Args:
        target: float64[rows], cores or bytes, at least 0; NaN where nothing is recommended.
        lower: float64[rows], a request below this is worth raising, at most the target; None for target / 1.1.
        upper: float64[rows], a request above this is worth lowering, at least the target; None for target / 0.9.
    """

    target: Floats
    lower: Floats | None = None
    upper: Floats | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What to request of both resources, for every row."""

    cpu_cores: ResourceBounds
    memory_bytes: ResourceBounds


class StrategyState(Protocol):
    """What a strategy has seen, of all its rows."""

    def grow(self, rows: int) -> None:
        """Have this many rows, never fewer than before; new ones have seen nothing."""

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen; they are given to other containers."""

    def observe(self, usage: Usage) -> None:
        """Take in samples."""

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills, after the samples of the same time."""

    def recommend(self, now_seconds: float) -> Bounds:
        """Return what to request from now on.

        Args:
            now_seconds: Seconds since the Unix epoch; not before the moment asked about last.
        """

    def save(self, row: int) -> JsonObject:
        """Return all that has to be known of a row after a restart."""

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved, as if there had been no restart.

        Raises:
            ValueError: The form is none that ``save`` writes; the row then starts anew.
        """


@runtime_checkable
class RowwiseState(StrategyState, Protocol):
    """A state that can also be asked about another moment for each row.

    A replay lets recordings whose times differ by seconds step forward together, so that there are fewer steps. A
    state without this method is told of samples, and asked, strictly in the order of time.
    """

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return what to request of every row from its moment on.

        Args:
            moments_seconds: float64[rows], seconds since the Unix epoch; for no row before its moment asked about last.
        """


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the targets of a row come from, in words for ``evenkeel explain``."""

    cpu: str
    memory: str


@runtime_checkable
class ExplainedState(StrategyState, Protocol):
    """A state that can also say what its targets come from."""

    def explain(self, row: int) -> Explanation:
        """Return what the targets of a row that were returned last come from."""


class Strategy(Protocol):
    """A way to recommend; holds settings at most, so that one object serves any number of states."""

    @property
    def name(self) -> str:
        """What ``spec.recommender.strategy`` calls it: lower-case letters, digits and inner hyphens."""

    def start(self, rows: int) -> StrategyState:
        """Return a state of so many rows that have seen nothing."""
