"""The Go program that runs upstream's packages: built once, asked line by line."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.errors import PeerError
from bench.figures import Run
from bench.hosting import LineProcess, until_at_rest
from e2e.cluster.binaries import GoModule, build_module

SOURCE = Path(__file__).parent / "peer"
MODULE = GoModule("bench-peer", SOURCE, {"peer": "."})


class Answer(msgspec.Struct, frozen=True):
    """One answer of the peer; times are seconds."""

    wall: float
    cpu: float
    count: int
    steps: dict[str, float] = {}
    error: str = ""

    def run(self, **values: float) -> Run:
        """Return it as a run, with other measures beside it."""
        return Run(self.wall, self.cpu, values)


class Peer:
    """A running peer; it rests between two questions.

    Its garbage collector works on after an answer, in the very processor that our side is measured on next, so an
    answer counts as given once the process has used no processor for a while.
    """

    def __init__(self) -> None:
        self._process = LineProcess("the peer", build_module(MODULE) / "peer")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, do: str, **arguments: str | float) -> Answer:
        """Have it do one thing, and wait for that, and until it rests.

        Raises:
            PeerError: It could not, or has ended.
        """
        self._process.tell({"do": do, **arguments})
        answer = self._process.hear(Answer)
        if answer.error:
            raise PeerError(f"peer: {do}: {answer.error}")
        until_at_rest(self.pid)
        return answer

    def stop(self) -> None:
        """End it."""
        self._process.stop()
