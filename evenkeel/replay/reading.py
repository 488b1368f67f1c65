"""Rows of text to series: what is wrong with them is told by file and row, and the rest goes on.

Spec: quality Q-1; beyond B-36.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.trace import Trace, counted_memory, pool_divisor

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NAME: Final = "trace_id"
TIME: Final = "timestamp"
CPU: Final = "cpu_cores"
MEMORY: Final = "memory_bytes"

POOL_SOURCES: Final = frozenset({"cloudcluster"})
"""Sources whose series are totals of pools of machines, which are brought to the size of containers."""


class NoTracesError(ValueError):
    """A file whose header says that it holds no series."""


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
    """

    traces: tuple[Trace, ...]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Cells:
    """Numbers of one series, as they stand in the file, with the row of each."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    cpu: array[float] = field(default_factory=lambda: array("d"))
    memory: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class _Problems:
    """What is wrong in one file; of what occurs often in a series the first row is named."""

    file: str
    _found: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def note(self, series: str, problem: str, rows: Sequence[int]) -> None:
        """Note a problem of rows of a series."""
        if len(rows):
            self._found.setdefault((series, problem), []).extend(rows)

    def texts(self) -> Iterable[str]:
        """Yield a line for each problem of each series."""
        for (series, problem), rows in self._found.items():
            more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
            yield f"{self.file} row {min(rows)}{more}: {series}: {problem}"


def read(file: str, lines: Iterable[Sequence[str]], index: Mapping[str, IndexEntry]) -> Reading:
    """Read the series of one file.

    Args:
        file: Its name, for messages; without its folder and endings the source of its series.
        lines: Its rows as cells, the header first.
        index: What is known of series by their names.

    Raises:
        NoTracesError: The header does not name the columns that series need.
    """
    following = iter(lines)
    places = _places(file, next(following, ()))
    problems = _Problems(file)
    cells: defaultdict[str, _Cells] = defaultdict(_Cells)
    for number, line in enumerate(following, 2):
        if len(line) <= max(places):
            problems.note("(no series)", "has too few cells; the row is left out", [number])
            continue
        name, time, cpu, memory = (line[place] if place >= 0 else "" for place in places)
        try:
            seconds = _seconds(time)
        except ValueError:
            problems.note(name, f"{TIME} {time!r} is neither seconds nor a date; the row is left out", [number])
            continue
        series = cells[name]
        series.rows.append(number)
        series.times.append(seconds)
        series.cpu.append(_amount(cpu))
        series.memory.append(_amount(memory))
    if not cells:
        problems.note("(no series)", "there are no rows; nothing is read from this file", [1])
    # What a series was read into is let go as soon as it is one, as long traces of many containers fill gigabytes.
    traces = [_trace(name, cells.pop(name), index.get(name), problems) for name in list(cells)]
    return Reading(tuple(trace for trace in traces if trace is not None), tuple(problems.texts()))


def _places(file: str, header: Sequence[str]) -> tuple[int, int, int, int]:
    """Return where the columns stand, -1 for one resource that is not there."""
    found = {name.strip(): place for place, name in enumerate(header)}
    missing = [name for name in (NAME, TIME) if name not in found]
    if CPU not in found and MEMORY not in found:
        missing.append(f"{CPU} or {MEMORY}")
    if missing:
        raise NoTracesError(f"{file} row 1: the header has no {', no '.join(missing)}; name these columns there")
    return found[NAME], found[TIME], found.get(CPU, -1), found.get(MEMORY, -1)


def _seconds(cell: str) -> float:
    """Return a time in seconds; a date without a time zone is one of UTC.

    Raises:
        ValueError: It is none.
    """
    try:
        seconds = float(cell)
    except ValueError:
        date = datetime.fromisoformat(cell)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise ValueError(cell)
    return seconds


def _amount(cell: str) -> float:
    """Return a number; NaN where there is none, minus infinity where there is something else."""
    if not cell:
        return math.nan
    try:
        amount = float(cell)
    except ValueError:
        return -math.inf
    return -math.inf if math.isnan(amount) else amount


def _trace(name: str, cells: _Cells, entry: IndexEntry | None, problems: _Problems) -> Trace | None:
    """Return a series in the order of time, without what cannot be; None where too little is left."""
    times, rows = np.array(cells.times), np.array(cells.rows)
    if (np.diff(times) < 0.0).any():
        late = rows[1:][np.diff(times) < 0.0]
        problems.note(name, "is older than the row before; the series is put in order", late.tolist())
    order = np.argsort(times, kind="stable")
    repeated = np.append(False, np.diff(times[order]) == 0.0)
    problems.note(name, "has the time of another row; the first one counts", rows[order[repeated]].tolist())
    order = order[~repeated]
    cpu, memory = (
        _possible(name, column, np.array(values)[order], rows[order], problems)
        for column, values in ((CPU, cells.cpu), (MEMORY, cells.memory))
    )
    source = problems.file.split("/")[-1].split(".")[0]
    if entry is not None and entry.source in POOL_SOURCES:
        divisor = pool_divisor(cpu)
        cpu, memory = cpu / divisor, memory / divisor
    times = times[order]
    if len(times) < 2:
        problems.note(name, "is the only row of its series, of which nothing can be told", rows[:1].tolist())
        return None
    step = float(np.median(np.diff(times))) if entry is None else entry.step_seconds
    trace = Trace(name, source, step, times, cpu, counted_memory(memory))
    if not trace.are_scored.any() or (np.isnan(cpu).all() and np.isnan(memory).all()):
        problems.note(name, "begins a series without use behind its warm-up; it is left out", rows[:1].tolist())
        return None
    return trace


def _possible(name: str, column: str, values: Floats, rows: NDArray[np.int64], problems: _Problems) -> Floats:
    """Return amounts with NaN in the place of those that cannot be."""
    no_number, negative = values == -np.inf, (values < 0.0) & np.isfinite(values)
    for problem, chosen in (("is no plain number", no_number | (values == np.inf)), ("is negative", negative)):
        problems.note(name, f"{column} {problem}; it counts as no sample", rows[chosen].tolist())
    return np.where(negative | np.isinf(values), np.nan, values)
