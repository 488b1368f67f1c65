"""Rows of text to series: what is wrong with them is told by file and row, and the rest goes on.

The rows come from the standard library's reader of comma-separated values. A frame of pandas would not do: it fills up
a row with too few cells, and has no place for the number of the row that something is wrong with.

Spec: quality Q-1; beyond B-36.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from evenkeel.replay.columns import (
    CPU,
    MEMORY,
    NAME,
    NAME_PARTS,
    NO_NUMBER,
    TIME,
    Columns,
    IndexEntry,
    Origin,
    Places,
    Problems,
    Reading,
    trace_of,
)
from evenkeel.replay.selection import EVERYTHING, Selection

_NO_SERIES = "(no series)"


class NoTracesError(ValueError):
    """A file whose header says that it holds no series."""


@dataclass(slots=True)
class _Cells:
    """Numbers of one series, as they stand in the file, with the row of each."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    cpu: array[float] = field(default_factory=lambda: array("d"))
    memory: array[float] = field(default_factory=lambda: array("d"))

    def columns(self) -> Columns:
        return Columns(*(np.array(each) for each in (self.rows, self.times, self.cpu, self.memory)))


@dataclass(frozen=True, slots=True)
class Header:
    """Where the columns of a file stand.

    Args:
        names: Of the columns that together name a series.
        time: Of the time.
        amounts: Of CPU and memory, -1 for one that is not there.
    """

    names: tuple[int, ...]
    time: int
    amounts: tuple[int, int]

    @classmethod
    def of(cls, place: str, header: Sequence[str]) -> Header:
        """Return where the columns stand.

        Args:
            place: Where the header stands, for messages.
            header: Names of all columns.

        Raises:
            NoTracesError: Columns that series need are not there.
        """
        found = {name.strip(): place for place, name in enumerate(header)}
        names = (NAME,) if NAME in found else NAME_PARTS
        missing = [] if set(names) <= found.keys() else [f"{NAME} (or {', '.join(NAME_PARTS)})"]
        missing += [] if TIME in found else [TIME]
        missing += [] if CPU in found or MEMORY in found else [f"{CPU} or {MEMORY}"]
        if missing:
            raise NoTracesError(f"{place}: the header has no {', no '.join(missing)}; name these columns there")
        return cls(tuple(found[name] for name in names), found[TIME], (found.get(CPU, -1), found.get(MEMORY, -1)))

    @property
    def last(self) -> int:
        """Place of the last column that is needed."""
        return max(*self.names, self.time, *self.amounts)


def read(
    file: str, lines: Iterable[Sequence[str]], index: Mapping[str, IndexEntry], selection: Selection = EVERYTHING
) -> Reading:
    """Read the series of one file.

    Args:
        file: Its name, for messages; without its folder and endings the source of its series.
        lines: Its rows as cells, the header first.
        index: What is known of series by their names.
        selection: Which series are wanted.

    Raises:
        NoTracesError: The header does not name the columns that series need.
    """
    following = iter(lines)
    header = Header.of(f"{file} row 1", next(following, ()))
    problems = Problems(Places((0,), (file,)))
    cells, others = _sorted_out(header, following, selection, problems)
    if not cells and not others:
        problems.note(_NO_SERIES, "there are no rows; nothing is read from this file", [1])
    source = file.rsplit("/", maxsplit=1)[-1].split(".", maxsplit=1)[0]
    # What a series was read into is let go as soon as it is one, as long traces of many containers fill gigabytes.
    traces = [
        trace_of(Origin(name, source, index.get(name)), cells.pop(name).columns(), problems) for name in list(cells)
    ]
    return Reading(tuple(trace for trace in traces if trace is not None), tuple(problems.texts()), others)


def _sorted_out(
    header: Header, lines: Iterable[Sequence[str]], selection: Selection, problems: Problems
) -> tuple[dict[str, _Cells], tuple[str, ...]]:
    """Return the cells of every series that is wanted, and the names of the others."""
    cells: dict[str, _Cells | None] = {}
    last = header.last
    for number, line in enumerate(lines, 2):
        if len(line) <= last:
            problems.note(_NO_SERIES, "has too few cells; the row is left out", [number])
            continue
        name = "/".join([line[place] for place in header.names])
        if name not in cells:
            cells[name] = _Cells() if selection.takes(name) else None
        series = cells[name]
        if series is None:
            continue
        time = line[header.time]
        try:
            seconds = seconds_of(time)
        except ValueError:
            problems.note(name, f"{TIME} {time!r} is neither seconds nor a date; the row is left out", [number])
            continue
        cpu, memory = (amount_of(line[place]) if place >= 0 else math.nan for place in header.amounts)
        series.rows.append(number)
        series.times.append(seconds)
        series.cpu.append(cpu)
        series.memory.append(memory)
    wanted = {name: series for name, series in cells.items() if series is not None and len(series.rows)}
    return wanted, tuple(name for name, series in cells.items() if series is None)


def seconds_of(cell: str) -> float:
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


def amount_of(cell: str) -> float:
    """Return a number; NaN where there is none, ``NO_NUMBER`` where there is something else."""
    if not cell:
        return math.nan
    try:
        amount = float(cell)
    except ValueError:
        return NO_NUMBER
    return NO_NUMBER if math.isnan(amount) else amount
