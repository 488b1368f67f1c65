"""The file beside recordings that tells source and step of every series in them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from autoscaling.errors import ConfigurationError
from evenkeel.replay.columns import NAME, IndexEntry

INDEX: Final = "index.csv"


def index_beside(recorded: Path) -> Mapping[str, IndexEntry]:
    """Return what the index in a folder, or in that of a file, says; nothing where there is none.

    Raises:
        ConfigurationError: It is not as it should be.
    """
    index = recorded / INDEX if recorded.is_dir() else recorded.with_name(INDEX)
    if not index.exists():
        return {}
    with index.open(encoding="utf-8", newline="") as stream:
        try:
            return {row[NAME]: _entry(row) for row in csv.DictReader(stream)}
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{index}: {error!r}; give each row a {NAME}, a source and the seconds of a step as step_s"
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
