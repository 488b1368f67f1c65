"""Traces from files of comma-separated values, packed or not."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TextIO

from autoscaling.errors import ConfigurationError
from evenkeel.replay.reading import NAME, IndexEntry, NoTracesError, Reading, read
from evenkeel.replay.trace import Trace

INDEX: Final = "index.csv"
"""Name of the file beside others that tells source and step of every series in them."""

_PACKED: Final = ".csv.gz"
_PLAIN: Final = ".csv"


def read_traces(paths: Iterable[Path]) -> Reading:
    """Read files, and folders of files.

    Args:
        paths: A file that holds no series is refused; in a folder it is passed over, with a word about it.

    Raises:
        ConfigurationError: A path cannot be read, or there is not one series in all of them.
    """
    traces: list[Trace] = []
    problems: list[str] = []
    for path in paths:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.name == INDEX or (not file.name.endswith((_PACKED, _PLAIN)) and path.is_dir()):
                continue
            try:
                found = _read_file(file)
            except NoTracesError as error:
                if not path.is_dir():
                    raise ConfigurationError(str(error)) from error
                problems.append(str(error))
                continue
            traces += found.traces
            problems += found.problems
    if not traces:
        raise ConfigurationError(
            f"{', '.join(map(str, paths))}: no series in it; name {_PLAIN} or {_PACKED} files with a header"
        )
    return Reading(tuple(traces), tuple(problems))


def _read_file(file: Path) -> Reading:
    try:
        with _opened(file) as stream:
            return read(str(file), csv.reader(stream), _index(file.with_name(INDEX)))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}; name a {_PLAIN} or {_PACKED} file") from error


def _opened(file: Path) -> TextIO:
    if file.name.endswith(_PACKED):
        return gzip.open(file, "rt", encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")


def _index(file: Path) -> Mapping[str, IndexEntry]:
    """Return what an index says; nothing where there is none.

    Raises:
        ConfigurationError: It is not as it should be.
    """
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        try:
            return {row[NAME]: _entry(row) for row in csv.DictReader(stream)}
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{file}: {error!r}; give each row a {NAME}, a source and the seconds of a step as step_s"
            ) from error


def _entry(row: Mapping[str, str]) -> IndexEntry:
    """Return what a row of an index says.

    Raises:
        ValueError: Its step is no length of time.
    """
    step = float(row["step_s"])
    if not 0.0 < step < math.inf:
        raise ValueError(f"step_s {row['step_s']} of {row[NAME]} is no length of time")
    return IndexEntry(row["source"], step)
