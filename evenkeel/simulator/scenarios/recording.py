"""Recordings of runs: one JSON object a line, the same for the same scenario, profile and seed."""

from __future__ import annotations

from types import TracebackType
from typing import IO, Self

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.fields import JsonObject, encode
from evenkeel.simulator.scenarios.checks import Outcome
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.happenings import Happening, as_record


class Recording:
    """Writes what happens in a run to a file; used as a context, whose end closes the file.

    Args:
        file: Where to; opened for bytes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self, scenario: Scenario, profile: Profile, seed: int) -> None:
        """Write what is run."""
        about = {"title": scenario.title, "seconds": scenario.duration.total_seconds()}
        self._write({"what": "scenario", **about, "profile": profile.value, "seed": seed})

    def take(self, happening: Happening) -> None:
        """Write a happening."""
        self._write(as_record(happening))

    def end(self, outcomes: tuple[Outcome, ...]) -> None:
        """Write what came of each expectation."""
        for outcome in outcomes:
            self._write({"what": "expectation", "text": outcome.text, "problems": list(outcome.problems)})

    def _write(self, record: JsonObject) -> None:
        self._file.write(encode(record) + b"\n")
