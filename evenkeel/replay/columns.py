"""Numbers of one series as they were read, to a trace without what cannot be.

Spec: quality Q-1; beyond B-36.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.trace import Trace, counted_memory, pool_divisor

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NAME: Final = "trace_id"
NAMESPACE: Final = "namespace"
WORKLOAD: Final = "workload"
CONTAINER: Final = "container"
TIME: Final = "timestamp"
CPU: Final = "cpu_cores"
MEMORY: Final = "memory_bytes"

NAME_PARTS: Final = (NAMESPACE, WORKLOAD, CONTAINER)
"""Columns that together name a series where there is no ``trace_id``: their values joined by slashes."""

NO_NUMBER: Final = -np.inf
"""Stands for what is there and is no number, in columns of amounts."""

POOL_SOURCES: Final = frozenset({"cloudcluster"})
"""Sources whose series are totals of pools of machines, which are brought to the size of containers."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What an index says of a series.

    Args:
        source: Where it comes from, which tells totals of pools from containers.
        step_seconds: Its usual spacing, above zero.
    """

    source: str
    step_seconds: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What files hold.

    Args:
        traces: The series, in the order of the files.
        problems: What was left out, and where it stands.
        others: Names of the series that nobody has asked for.
    """

    traces: tuple[Trace, ...]
    problems: tuple[str, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Numbers of one series, as they stand in files.

    Args:
        places: int64[n], where each row stands, as ``Places`` counts.
        times: float64[n], seconds, finite.
        cpu_cores: float64[n], NaN where there is nothing, ``NO_NUMBER`` where there is something else.
        memory_bytes: float64[n], likewise.
    """

    places: Integers
    times: Floats
    cpu_cores: Floats
    memory_bytes: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """Rows of several files, numbered through.

    Args:
        starts: Number of the row before the first one of each file, ascending.
        files: Their names.
    """

    starts: Sequence[int]
    files: Sequence[str]

    def text(self, place: int) -> str:
        """Return file and row of a place."""
        file = max(0, bisect_right(self.starts, place - 1) - 1)
        return f"{self.files[file]} row {place - self.starts[file]}"


@dataclass(slots=True)
class Problems:
    """What is wrong in files; of what occurs often in a series the first row is named.

    Args:
        places: Say where rows stand.
    """

    places: Places
    _found: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def note(self, series: str, problem: str, places: Sequence[int]) -> None:
        """Note a problem of rows of a series."""
        if len(places):
            self._found.setdefault((series, problem), []).extend(places)

    def texts(self) -> Iterator[str]:
        """Yield a line for each problem of each series."""
        for (series, problem), places in self._found.items():
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            yield f"{self.places.text(min(places))}{more}: {series}: {problem}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a series comes from.

    Args:
        name: Tells it from all others.
        source: Figures are also told by it.
        entry: What an index says of the series; None where there is none.
    """

    name: str
    source: str
    entry: IndexEntry | None = None


def trace_of(origin: Origin, columns: Columns, problems: Problems) -> Trace | None:
    """Return a series in the order of time, without what cannot be.

    Args:
        origin: Its name, and whence it comes.
        columns: Its numbers, at least one row.
        problems: Are told what is wrong.

    Returns:
        None where too little is left.
    """
    name, entry = origin.name, origin.entry
    order = _in_order(name, columns, problems)
    places = columns.places[order]
    cpu, memory = (
        _possible((name, column), values[order], places, problems)
        for column, values in ((CPU, columns.cpu_cores), (MEMORY, columns.memory_bytes))
    )
    if entry is not None and entry.source in POOL_SOURCES:
        divisor = pool_divisor(cpu)
        cpu, memory = cpu / divisor, memory / divisor
    times = columns.times[order]
    if len(times) < 2:
        problems.note(name, "is the only row of its series, of which nothing can be told", places[:1].tolist())
        return None
    step = float(np.median(np.diff(times))) if entry is None else entry.step_seconds
    trace = Trace(name, origin.source, step, times, cpu, counted_memory(memory))
    if not trace.are_scored.any() or (np.isnan(cpu).all() and np.isnan(memory).all()):
        problems.note(name, "begins a series without use behind its warm-up; it is left out", places[:1].tolist())
        return None
    return trace


def _in_order(name: str, columns: Columns, problems: Problems) -> Integers:
    """Return the rows in the order of time, of those of the same time the first one."""
    late = np.flatnonzero(np.diff(columns.times) < 0.0) + 1
    problems.note(name, "is older than the row before; the series is put in order", columns.places[late].tolist())
    order = np.argsort(columns.times, kind="stable")
    repeated = np.append(False, np.diff(columns.times[order]) == 0.0)
    problems.note(name, "has the time of another row; the first one counts", columns.places[order[repeated]].tolist())
    kept: Integers = order[~repeated]
    return kept


def _possible(named: tuple[str, str], values: Floats, places: Integers, problems: Problems) -> Floats:
    """Return amounts with NaN in the place of those that cannot be.

    Args:
        named: Names of the series and of the column.
        values: float64[n].
        places: int64[n], where they stand.
        problems: Are told what cannot be.
    """
    name, column = named
    negative = (values < 0.0) & np.isfinite(values)
    for problem, chosen in (("is no plain number", np.isinf(values)), ("is negative", negative)):
        problems.note(name, f"{column} {problem}; it counts as no sample", places[chosen].tolist())
    return np.where(negative | np.isinf(values), np.nan, values)
