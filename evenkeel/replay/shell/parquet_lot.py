"""The series of one lot, out of groups of rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import ModuleType
from typing import TYPE_CHECKING, Final

import numpy as np

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import Columns, IndexEntry, Origin, Places, Problems, Reading, trace_of
from evenkeel.replay.shell.extras import required
from evenkeel.replay.shell.frames import Layout, Rows, rows_of

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS: Final = 1 << 18
"""Rows that are in memory as a frame at a time."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows of a file.

    Args:
        file: Path of the file.
        number: Number of the group in it.
        begin: Rows of the file before it.
        layout: Columns of the file.
        version: Another one as soon as the file is another one.
    """

    file: str
    number: int
    begin: int
    layout: Layout
    version: str


@dataclass(frozen=True, slots=True)
class ParquetLot:
    """Series in Parquet files; can be sent to another process, or to another machine that has the same files.

    Args:
        groups: Groups of rows that hold them, in order.
        names: Names of the series, in order.
        source: Figures are also told by it.
        index: What is known of series by their names.
    """

    groups: tuple[Group, ...]
    names: tuple[str, ...]
    source: str
    index: Mapping[str, IndexEntry]

    @property
    def mark(self) -> str:
        """Digest of what files, groups and series there are."""
        digest = blake2b(digest_size=16)
        for group in self.groups:
            digest.update(repr((group.file, group.number, group.version)).encode())
        digest.update(repr((self.names, self.source, sorted(self.index.items()))).encode())
        return digest.hexdigest()

    def read(self) -> Reading:
        """Read the series; what is wrong is told by file and row, of which the first is 1.

        Raises:
            ConfigurationError: A file cannot be read.
        """
        problems = Problems(self._places())
        found = self._columns(problems)
        traces = [
            trace_of(Origin(name, self.source, self.index.get(name)), found[name], problems)
            for name in self.names
            if name in found
        ]
        return Reading(tuple(trace for trace in traces if trace is not None), tuple(problems.texts()))

    def _places(self) -> Places:
        """Number the rows of all files through."""
        ends: dict[str, int] = {}
        for group in self.groups:
            ends[group.file] = group.begin + _MOST_ROWS
        starts = np.cumsum([0, *ends.values()])[:-1]
        return Places(starts.tolist(), tuple(ends))

    def _columns(self, problems: Problems) -> Mapping[str, Columns]:
        """Return the numbers of each series, in the order in which they stand in the files."""
        parquet = required("pyarrow.parquet", "Parquet files")
        numbers = {name: number for number, name in enumerate(self.names)}
        starts = dict(zip(problems.places.files, problems.places.starts, strict=True))
        parts: list[Rows] = []
        for group in self.groups:
            begin = starts[group.file] + group.begin
            try:
                for frame in batches(parquet, group, group.layout.stored):
                    parts.append(rows_of(frame, group.layout, numbers, begin).noted(self.names, problems))
                    begin += len(frame)
            except (OSError, ValueError) as error:
                raise ConfigurationError(
                    f"{group.file}: cannot be read: {error}; it has to stay as it was and be reachable wherever it is "
                    "played"
                ) from error
        return Rows.joined(parts).by_series(self.names)


_MOST_ROWS: Final = 1 << 40
"""Rows of a file at most, so that the rows of several can be numbered through."""


def batches(parquet: ModuleType, group: Group, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows of a group as frames of bounded size.

    Args:
        parquet: The module ``pyarrow.parquet``.
        group: The group.
        columns: Which columns are wanted.
    """
    texts = [column for column in group.layout.stored_names if column in columns]
    with parquet.ParquetFile(group.file, read_dictionary=texts) as opened:
        chosen = {"row_groups": [group.number], "columns": list(columns), "use_threads": False}
        for batch in opened.iter_batches(BATCH_ROWS, **chosen):
            yield batch.to_pandas()
