"""Recorded usage: series of real systems, replayed.

The files are gzip-compressed CSV with the header ``trace_id,timestamp,cpu_cores,memory_bytes``, rows grouped by trace
and ascending in time; timestamps are seconds from the start of a trace, and an empty cell was not recorded.
"""

from __future__ import annotations

import csv
import gzip
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby, pairwise
from pathlib import Path

from evenkeel.simulator.workloads.demand import NOTHING, Demand

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded series; each value holds until the next, and the whole repeats from its end.

    Args:
        seconds: Times from the start of the series, ascending, the first at 0.
        demands: What was used from each of them on.
        length_seconds: After how long it begins anew.
    """

    seconds: tuple[float, ...]
    demands: tuple[Demand, ...]
    length_seconds: float

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        if not self.demands:
            return NOTHING
        moment = max(0.0, elapsed.total_seconds()) % self.length_seconds
        return self.demands[bisect_right(self.seconds, moment) - 1]


def load_traces(file: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, Trace]:
    """Read the traces of a file whose names are wanted, by name.

    Raises:
        OSError: The file cannot be read.
        ValueError: A row has no number where one must be.
    """
    with gzip.open(file, "rt", newline="") as lines:
        series = groupby(csv.DictReader(lines), key=lambda row: row["trace_id"])
        return {name: _trace_of(rows) for name, rows in series if wanted(name)}


def load_trace(file: Path, name: str) -> Trace:
    """Read one trace of a file.

    Raises:
        KeyError: It has no trace of that name.
    """
    return load_traces(file, lambda found: found == name)[name]


def _trace_of(rows: Iterator[Row]) -> Trace:
    """Make a trace of its rows; what was not recorded stays as it was, and is nothing before the first record."""
    seconds: list[float] = []
    demands: list[Demand] = []
    cpu, memory = 0.0, 0
    for row in rows:
        cpu = float(row["cpu_cores"]) if row["cpu_cores"] else cpu
        memory = int(row["memory_bytes"]) if row["memory_bytes"] else memory
        seconds.append(float(row["timestamp"]))
        demands.append(Demand(cpu, memory))
    start = seconds[0]
    step = _usual_step(seconds)
    return Trace(tuple(second - start for second in seconds), tuple(demands), seconds[-1] - start + step)


def _usual_step(seconds: list[float]) -> float:
    """Return the median distance of a series' times, for how long its last value holds."""
    steps = sorted(later - earlier for earlier, later in pairwise(seconds))
    return steps[len(steps) // 2] if steps else 1.0
