"""Traces from files of comma-separated values, packed or not, and from Parquet files."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TextIO

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import Reading
from evenkeel.replay.lots import HeldLot, Lot, Recordings, lots
from evenkeel.replay.reading import NoTracesError, read
from evenkeel.replay.selection import EVERYTHING, Selection
from evenkeel.replay.shell.index_file import INDEX, index_beside
from evenkeel.replay.shell.parquet_files import ENDING as PARQUET
from evenkeel.replay.shell.parquet_files import parquet_files, plan_lots
from evenkeel.replay.trace import Trace

_PACKED: Final = ".csv.gz"
_PLAIN: Final = ".csv"


def recordings(paths: Sequence[Path], selection: Selection = EVERYTHING) -> Recordings:
    """Find all series in files and folders; those of Parquet files are read when they are played.

    Args:
        paths: CSV files, Parquet files, or folders of them.
        selection: Which series are wanted.

    Raises:
        ConfigurationError: A path cannot be read, or no wanted series is in any of them.
    """
    planned = [plan_lots(path, selection) for path in paths if parquet_files(path)]
    of_text = [path for path in paths if path.is_dir() or not parquet_files(path)]
    reading = _read_all(of_text, selection)
    found: list[Lot] = [HeldLot(tuple(lot)) for lot in lots(reading.traces)]
    found += [lot for plan in planned for lot in plan.lots]
    others = (*reading.others, *(name for plan in planned for name in plan.others))
    if not found:
        raise _nothing(paths, others, selection)
    return Recordings(tuple(found), (*reading.problems, *(problem for plan in planned for problem in plan.problems)))


def read_traces(paths: Sequence[Path], selection: Selection = EVERYTHING) -> Reading:
    """Read CSV files, and folders of them.

    Args:
        paths: A file that holds no series is refused; in a folder it is passed over, with a word about it.
        selection: Which series are wanted.

    Raises:
        ConfigurationError: A path cannot be read, or no wanted series is in any of them.
    """
    reading = _read_all(paths, selection)
    if not reading.traces:
        raise _nothing(paths, reading.others, selection)
    return reading


def _nothing(paths: Iterable[Path], others: Sequence[str], selection: Selection) -> ConfigurationError:
    """Return the error that there is nothing to play."""
    if others:
        asked = ", ".join(selection.texts())
        return ConfigurationError(f"{asked}: names none of {len(others)} series; the first one is {others[0]}")
    return ConfigurationError(
        f"{', '.join(map(str, paths))}: no series in it; name {_PLAIN}, {_PACKED} or {PARQUET} files with columns of "
        "series"
    )


def _read_all(paths: Iterable[Path], selection: Selection) -> Reading:
    traces: list[Trace] = []
    problems: list[str] = []
    others: list[str] = []
    for path in paths:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.name == INDEX or (not file.name.endswith((_PACKED, _PLAIN)) and path.is_dir()):
                continue
            try:
                found = _read_file(file, selection)
            except NoTracesError as error:
                if not path.is_dir():
                    raise ConfigurationError(str(error)) from error
                problems.append(str(error))
                continue
            traces += found.traces
            problems += found.problems
            others += found.others
    return Reading(tuple(traces), tuple(problems), tuple(others))


def _read_file(file: Path, selection: Selection) -> Reading:
    try:
        with _opened(file) as stream:
            return read(str(file), csv.reader(stream), index_beside(file), selection)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}; name a {_PLAIN} or {_PACKED} file") from error


def _opened(file: Path) -> TextIO:
    if file.name.endswith(_PACKED):
        return gzip.open(file, "rt", encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")
