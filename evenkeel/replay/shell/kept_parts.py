"""What is finished, kept in a folder: a file for each strategy and lot, which is whole or not there."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoscaling.errors import ConfigurationError
from evenkeel.replay.scores import Scores
from evenkeel.replay.shell.contest import Part, Task, identity

_SCORED = "scores."
_RATIOS = "oom_ratios"


@dataclass(frozen=True, slots=True)
class KeptParts:
    """Keeps what is finished, and finds it again as long as nothing that it depends on is another one.

    Args:
        folder: Is there.
    """

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> KeptParts:
        """Return what keeps in a folder, which is made where it is not there.

        Raises:
            ConfigurationError: It cannot be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"--resume {folder}: {error}; name a folder that can be made") from error
        return cls(folder)

    def find(self, task: Task) -> Part | None:
        """Return what a task came to in an earlier run; None where it was not finished, or cannot be read."""
        try:
            with self._file(task).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                return _part({name: stored[name] for name in stored.files})
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def keep(self, task: Task, part: Part) -> None:
        """Keep what a task came to.

        Raises:
            ConfigurationError: It cannot be written.
        """
        file = self._file(task)
        unfinished = file.with_suffix(".part")
        try:
            with unfinished.open("wb") as stream:
                np.savez_compressed(stream, allow_pickle=False, **_arrays(part))
            unfinished.replace(file)
        except OSError as error:
            raise ConfigurationError(f"--resume {self.folder}: {error}; name a folder that can be written") from error

    def _file(self, task: Task) -> Path:
        return self.folder / f"{blake2b(identity(task).encode(), digest_size=16).hexdigest()}.npz"


def _arrays(part: Part) -> Mapping[str, NDArray[np.generic]]:
    """Return all of a part as arrays by name."""
    arrays: dict[str, NDArray[np.generic]] = {
        "names": np.array(part.names, dtype=np.str_),
        "sources": np.array(part.sources, dtype=np.str_),
        "problems": np.array(part.problems, dtype=np.str_),
        "rows": np.array(part.rows),
        "seconds": np.array(part.seconds),
    }
    if part.scores is not None:
        for each in fields(part.scores):
            arrays[_SCORED + each.name] = np.array(getattr(part.scores, each.name))
    return arrays


def _part(stored: Mapping[str, NDArray[np.generic]]) -> Part:
    """Return the part that arrays are of.

    Raises:
        KeyError: Some are missing.
    """
    scored = {name.removeprefix(_SCORED): values for name, values in stored.items() if name.startswith(_SCORED)}
    names, sources, problems = (
        tuple(str(each) for each in stored[kind].tolist()) for kind in ("names", "sources", "problems")
    )
    scores = None
    if names:
        ratios = tuple(scored.pop(_RATIOS).astype(np.float64).tolist())
        scores = Scores(oom_ratios=ratios, **scored)  # type: ignore[arg-type]
    return Part(scores, names, sources, int(stored["rows"].item()), problems, float(stored["seconds"].item()))
