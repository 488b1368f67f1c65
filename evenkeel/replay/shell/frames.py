"""Frames of pandas to the numbers of series, and what in them is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.columns import CPU, MEMORY, NAME, NAME_PARTS, NO_NUMBER, TIME, Columns, Problems
from evenkeel.replay.reading import Header, seconds_of
from evenkeel.replay.shell.extras import required

if TYPE_CHECKING:
    import pandas as pd

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a file that matter, and what its folders are named after.

    Args:
        names: Columns that together name a series.
        amounts: Columns of CPU and memory that are there.
        partition: Values of columns that are not in the file, as the folders above it have them.
    """

    names: tuple[str, ...]
    amounts: tuple[str, ...]
    partition: Mapping[str, str]

    @classmethod
    def of(cls, file: str, columns: Sequence[str], partition: Mapping[str, str]) -> Layout:
        """Return the layout of a file.

        Args:
            file: Its name, for messages.
            columns: Its columns.
            partition: Values of columns by its folders.

        Raises:
            NoTracesError: Columns that series need are not there.
        """
        there = [*columns, *partition]
        Header.of(file, there)
        names = (NAME,) if NAME in there else NAME_PARTS
        constant = {column: value for column, value in partition.items() if column not in columns}
        return cls(names, tuple(name for name in (CPU, MEMORY) if name in columns), constant)

    @property
    def stored_names(self) -> tuple[str, ...]:
        """Columns that name a series, as far as they are in the file."""
        return tuple(name for name in self.names if name not in self.partition)

    @property
    def stored(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.stored_names, TIME, *self.amounts)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Which series each row of a frame belongs to.

    Args:
        codes: int64[n], place of its name; -1 where it has none.
        names: The names, some of which no row may have.
    """

    codes: Integers
    names: tuple[str, ...]


def names_of(frame: pd.DataFrame, layout: Layout) -> Named:
    """Return which series the rows of a frame belong to."""
    pandas = required("pandas", "frames")
    codes: Integers = np.zeros(len(frame), dtype=np.int64)
    names: tuple[str, ...] = ("",)
    for place, column in enumerate(layout.names):
        if column in layout.partition:
            ours, values = np.zeros(len(frame), dtype=np.int64), [layout.partition[column]]
        else:
            found, uniques = pandas.factorize(frame[column])
            ours, values = found.astype(np.int64), [str(value) for value in uniques]
        # Of all pairs of what was there and what comes, only those that occur go on.
        pairs = np.where((codes < 0) | (ours < 0), -1, codes * len(values) + ours)
        distinct, codes = np.unique(pairs, return_inverse=True)
        lacking = int(len(distinct) > 0 and distinct[0] < 0)
        codes = codes.astype(np.int64) - lacking
        heads = [names[pair // len(values)] for pair in distinct[lacking:].tolist()]
        tails = [values[pair % len(values)] for pair in distinct[lacking:].tolist()]
        names = tuple(f"{head}/{tail}" if place else tail for head, tail in zip(heads, tails, strict=True))
    return Named(codes, names)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of several series.

    Args:
        owners: int64[n], number of the series of each row.
        columns: Their numbers; a time that is none is NaN.
    """

    owners: Integers
    columns: Columns

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return rows one after the other."""
        nothing = np.empty(0)
        columns = [
            np.concatenate([nothing, *(getattr(part.columns, name) for part in parts)])
            for name in ("times", "cpu_cores", "memory_bytes")
        ]
        whole = np.empty(0, dtype=np.int64)
        places = np.concatenate([whole, *(part.columns.places for part in parts)])
        return cls(np.concatenate([whole, *(part.owners for part in parts)]), Columns(places, *columns))

    def noted(self, names: Sequence[str], problems: Problems) -> Rows:
        """Return the rows that have a time; the others are told of."""
        timeless = np.isnan(self.columns.times)
        if not timeless.any():
            return self
        for owner in np.unique(self.owners[timeless]).tolist():
            places = self.columns.places[timeless & (self.owners == owner)].tolist()
            problems.note(names[owner], f"{TIME} is neither seconds nor a date; the row is left out", places)
        return self.select(~timeless)

    def select(self, chosen: Flags | Integers) -> Rows:
        """Return some rows."""
        columns = self.columns
        return Rows(
            self.owners[chosen],
            Columns(
                columns.places[chosen],
                columns.times[chosen],
                columns.cpu_cores[chosen],
                columns.memory_bytes[chosen],
            ),
        )

    def by_series(self, names: Sequence[str]) -> Mapping[str, Columns]:
        """Return the numbers of each series that has some; their order stays."""
        order = np.argsort(self.owners, kind="stable")
        ends = np.cumsum(np.bincount(self.owners, minlength=len(names))).tolist()
        found: dict[str, Columns] = {}
        begin = 0
        for name, end in zip(names, ends, strict=True):
            if end > begin:
                found[name] = self.select(order[begin:end]).columns
            begin = end
        return found


def rows_of(frame: pd.DataFrame, layout: Layout, numbers: Mapping[str, int], begin: int) -> Rows:
    """Return the rows of a frame that belong to some series.

    Args:
        frame: As read.
        layout: Its columns.
        numbers: Numbers of the series that are wanted, by name.
        begin: Place before that of the first row.
    """
    named = names_of(frame, layout)
    # The last one stands for rows without a name.
    of_names = np.array([*(numbers.get(name, -1) for name in named.names), -1], dtype=np.int64)
    owners = of_names[named.codes]
    chosen = np.flatnonzero(owners >= 0)
    wanted = frame.iloc[chosen]
    cpu, memory = (
        _amounts(wanted[column]) if column in layout.amounts else np.full(len(chosen), np.nan)
        for column in (CPU, MEMORY)
    )
    return Rows(owners[chosen], Columns(begin + 1 + chosen, _seconds(wanted[TIME]), cpu, memory))


def _amounts(values: pd.Series) -> Floats:
    """Return amounts; NaN where there is nothing, ``NO_NUMBER`` where there is something else."""
    pandas = required("pandas", "frames")
    if values.dtype == np.float64:
        return np.array(values, dtype=np.float64)
    if pandas.api.types.is_bool_dtype(values) or pandas.api.types.is_datetime64_any_dtype(values):
        return np.full(len(values), NO_NUMBER)
    is_text = not pandas.api.types.is_numeric_dtype(values)
    given = values.where(values != "", None) if is_text else values
    numbers = np.array(pandas.to_numeric(given, errors="coerce"), dtype=np.float64)
    return np.where(np.isnan(numbers) & np.array(given.notna()), NO_NUMBER, numbers)


def _seconds(values: pd.Series) -> Floats:
    """Return times in seconds, NaN where there is none; one without a time zone is of UTC."""
    pandas = required("pandas", "frames")
    if pandas.api.types.is_datetime64_any_dtype(values):
        aware = values.dt.tz_localize("UTC") if values.dt.tz is None else values
        nanoseconds = aware.fillna(pandas.Timestamp(0, tz="UTC")).dt.as_unit("ns").astype(np.int64)
        return np.where(np.array(values.isna()), np.nan, np.array(nanoseconds, dtype=np.float64) / 1e9)
    if pandas.api.types.is_numeric_dtype(values) and not pandas.api.types.is_bool_dtype(values):
        seconds = np.array(values.astype(np.float64), dtype=np.float64)
        return np.where(np.isfinite(seconds), seconds, np.nan)
    return np.array([_second(value) for value in values], dtype=np.float64)


def _second(value: object) -> float:
    try:
        return seconds_of(str(value))
    except ValueError:
        return float("nan")
