"""Fuzz every target one after the other: ``python -m tests.fuzz --minutes 30 [--only NAME] FOLDER``."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.catalogue import TARGETS

_EXECUTED = re.compile(r"number_of_executed_units: *(\d+)")
_LONGEST_START_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one target.

    Args:
        name: Of the target.
        executed: Inputs that were tried; None where its process died.
        found: Laws that were broken, each in another place.
        said: The end of what the process wrote.
    """

    name: str
    executed: int | None
    found: int
    said: str

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return self.executed is not None and not self.found


def run(name: str, seconds: int, work: Path) -> Result:
    """Fuzz one target in a process of its own."""
    command = [sys.executable, "-m", "tests.fuzz.engine", name, str(seconds), str(work)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds + _LONGEST_START_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Result(name, None, 0, "it did not end in time; the machine may have had too much else to do")
    said = done.stdout + done.stderr
    executed = _EXECUTED.search(said) if done.returncode == 0 else None
    folder = work / "found" / name
    found = len(list(folder.glob("*.txt"))) if folder.is_dir() else 0
    return Result(name, int(executed[1]) if executed else None, found, said[-2000:])


def main(words: Sequence[str]) -> int:
    """Fuzz, print a line for each target and the sum; 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of all targets together")
    parser.add_argument("--only", action="append", choices=sorted(TARGETS), default=[], help="may be repeated")
    parser.add_argument("folder", type=Path, help="for corpus and finds")
    given = parser.parse_args(words)
    names = given.only or list(TARGETS)
    seconds = max(1, int(given.minutes * 60 / len(names)))
    results = []
    for name in names:
        result = run(name, seconds, given.folder.absolute())
        results.append(result)
        executed = "its process ended" if result.executed is None else f"{result.executed} executions"
        sys.stdout.write(f"{name}: {executed}, {result.found} laws broken\n")
        if result.executed is None:
            sys.stdout.write(f"{result.said}\n")
        sys.stdout.flush()
    total = sum(result.executed or 0 for result in results)
    sys.stdout.write(f"fuzz: {total} executions, {sum(result.found for result in results)} laws broken\n")
    return 0 if all(result.is_sound for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
