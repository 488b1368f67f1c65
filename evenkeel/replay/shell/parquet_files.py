"""Traces from Parquet: single files, and folders of files that partitions may be named in.

A look at the names alone tells which series are in which groups of rows. Each lot then reads the groups that it needs,
some rows at a time, so that memory is bounded by a lot, however large the whole is and in whatever order it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import IndexEntry
from evenkeel.replay.lots import LOT_STEPS, ends
from evenkeel.replay.reading import NoTracesError
from evenkeel.replay.selection import EVERYTHING, Selection
from evenkeel.replay.shell.extras import required
from evenkeel.replay.shell.frames import Layout, Named, names_of
from evenkeel.replay.shell.index_file import index_beside
from evenkeel.replay.shell.parquet_lot import Group, ParquetLot, batches

Integers = NDArray[np.int64]

ENDING: Final = ".parquet"
_PURPOSE: Final = "Parquet files"


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a file or folder is played together.

    Args:
        lots: In the order in which series occur first.
        problems: Files that hold no series.
        others: Names of the series that nobody has asked for.
    """

    lots: tuple[ParquetLot, ...]
    problems: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(slots=True)
class _Census:
    """Which series there are, how long each is, and where its rows lie.

    Attributes:
        sizes: Rows of each wanted series, by name in the order of first occurrence.
        homes: Groups of rows with each of them.
        others: Names of the series that nobody has asked for.
        groups: All groups of rows.
    """

    selection: Selection
    sizes: dict[str, int] = field(default_factory=dict)
    homes: dict[str, list[int]] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def take(self, group: Group, counts: Mapping[str, int]) -> None:
        """Take in a group of rows, with the number of rows of each series in it."""
        number = len(self.groups)
        self.groups.append(group)
        for name, count in counts.items():
            if name in self.sizes or (name not in self.others and self.selection.takes(name)):
                self.sizes[name] = self.sizes.get(name, 0) + count
                self.homes.setdefault(name, []).append(number)
            else:
                self.others[name] = None

    def lots(self, root: Path, most_steps: int) -> Iterator[ParquetLot]:
        """Yield lots of series."""
        names, begin = list(self.sizes), 0
        index, source = index_beside(root), root.name.removesuffix(ENDING)
        for end in ends(list(self.sizes.values()), most_steps):
            chosen = names[begin:end]
            begin = end
            homes = sorted({number for name in chosen for number in self.homes[name]})
            known: dict[str, IndexEntry] = {name: index[name] for name in chosen if name in index}
            yield ParquetLot(tuple(self.groups[number] for number in homes), tuple(chosen), source, known)


def parquet_files(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files that a path names or that are below it, in order; none where it is something else."""
    if path.is_dir():
        return tuple(sorted(file for file in path.rglob(f"*{ENDING}") if file.is_file()))
    return (path,) if path.name.endswith(ENDING) else ()


def plan_lots(root: Path, selection: Selection = EVERYTHING, most_steps: int = LOT_STEPS) -> Plan:
    """Look at the names of all series in a file or below a folder, and divide them into lots.

    Args:
        root: Parquet file, or folder of some.
        selection: Which series are wanted.
        most_steps: Rows of a lot of several series.

    Raises:
        ConfigurationError: A file cannot be read, or the packages for it are not installed.
    """
    parquet = required("pyarrow.parquet", _PURPOSE)
    required("pandas", _PURPOSE)
    census, problems = _Census(selection), list[str]()
    for file in parquet_files(root):
        try:
            for group, counts in _counted(parquet, root, file):
                census.take(group, counts)
        except NoTracesError as error:
            if not root.is_dir():
                raise ConfigurationError(str(error)) from error
            problems.append(str(error))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{file}: cannot be read: {error}; name a {ENDING} file") from error
    return Plan(tuple(census.lots(root, most_steps)), tuple(problems), tuple(census.others))


def _counted(parquet: ModuleType, root: Path, file: Path) -> Iterator[tuple[Group, Mapping[str, int]]]:
    """Yield each group of rows of a file with the number of rows of each series in it."""
    partition = _partition(root, file)
    with parquet.ParquetFile(file) as opened:
        columns = [str(name) for name in opened.schema_arrow.names]
        sizes = [int(opened.metadata.row_group(number).num_rows) for number in range(opened.num_row_groups)]
    layout = Layout.of(str(file), columns, partition)
    state = file.stat()
    version = blake2b(f"{state.st_size} {state.st_mtime_ns}".encode(), digest_size=8).hexdigest()
    begin = 0
    for number, size in enumerate(sizes):
        group = Group(str(file), number, begin, layout, version)
        counts: dict[str, int] = {}
        for batch in batches(parquet, group, layout.stored_names):
            _count(names_of(batch, layout), counts)
        yield group, counts
        begin += size


def _count(named: Named, counts: dict[str, int]) -> None:
    """Add the rows of each series."""
    of_each: Sequence[int] = np.bincount(named.codes[named.codes >= 0], minlength=len(named.names)).tolist()
    for name, count in zip(named.names, of_each, strict=True):
        counts[name] = counts.get(name, 0) + count


def _partition(root: Path, file: Path) -> Mapping[str, str]:
    """Return the values of columns that the folders above a file are named after."""
    folders = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = (folder.partition("=") for folder in folders)
    return {column: unquote(value) for column, sign, value in pairs if sign}
