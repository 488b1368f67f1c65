"""Use that comes piece by piece, kept as Parquet files until it is played, and longer where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.columns import CPU, MEMORY, NAME, TIME
from evenkeel.replay.selection import Selection
from evenkeel.replay.shell.extras import required
from recommender.history.past import PastPiece
from recommender.history.points import Points

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_NANOSECONDS_PER_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Spool:
    """Writes pieces to a file, some rows of all containers after the other.

    Args:
        selection: Which containers are wanted.
        arrow: The module ``pyarrow``.
        writer: An open ``pyarrow.parquet.ParquetWriter``.
    """

    selection: Selection
    arrow: ModuleType
    writer: _Writer

    def take(self, past: PastPiece) -> int:
        """Write a piece, and return the number of its rows."""
        names = ["/".join(key) for key in past.keys]
        wanted = np.array([self.selection.takes(name) for name in names], dtype=np.bool_)
        count = past.piece.span.count
        cpu, memory = (_of(points, wanted) for points in (past.points.cpu, past.points.memory))
        ours, theirs = cpu.cells(past.piece.span), memory.cells(past.piece.span)
        cells = np.union1d(ours, theirs)
        moments = past.piece.span.start + cells % count * past.piece.span.step
        table = self.arrow.table(
            {
                NAME: self.arrow.DictionaryArray.from_arrays(
                    (cells // count).astype(np.int32), self.arrow.array(names)
                ),
                TIME: self.arrow.array(moments // _NANOSECONDS_PER_MILLISECOND),
                CPU: _placed(cells, ours, cpu.values),
                MEMORY: _placed(cells, theirs, memory.values),
            }
        )
        if len(cells):
            self.writer.write(table.cast(_schema(self.arrow)))
        return len(cells)


class _Writer:
    """Writes tables."""

    def __init__(self, writer: object) -> None:
        self._write = getattr(writer, "write_table")  # noqa: B009 the library has no types

    def write(self, table: object) -> None:
        self._write(table)


@contextmanager
def spooled(file: Path, selection: Selection) -> Iterator[Spool]:
    """Write a file, which is there when all of it is written and not before.

    Args:
        file: Where it is to be.
        selection: Which containers are wanted.
    """
    arrow, parquet = required("pyarrow", "recordings"), required("pyarrow.parquet", "recordings")
    part = file.with_name(f"{file.name}.part")
    with parquet.ParquetWriter(part, _schema(arrow), compression="zstd") as writer:
        yield Spool(selection, arrow, _Writer(writer))
    part.replace(file)


def _schema(arrow: ModuleType) -> object:
    return arrow.schema(
        [
            (NAME, arrow.dictionary(arrow.int32(), arrow.string())),
            (TIME, arrow.timestamp("ms", "UTC")),
            (CPU, arrow.float64()),
            (MEMORY, arrow.float64()),
        ]
    )


def _of(points: Points, wanted: NDArray[np.bool_]) -> Points:
    """Return the points of wanted containers."""
    return points.select(wanted[points.owners]) if len(points) else points


def _placed(cells: Integers, places: Integers, values: Floats) -> Floats:
    """Return values at their places among cells, NaN elsewhere."""
    placed: Floats = np.full(len(cells), np.nan)
    placed[np.searchsorted(cells, places)] = values
    return placed
