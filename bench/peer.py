"""The Go program that runs upstream's packages: built once, asked line by line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec

from bench.errors import PeerError
from bench.figures import Run
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
    """A running peer; it rests between two questions."""

    def __init__(self) -> None:
        program = build_module(MODULE) / "peer"
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._decoder = msgspec.json.Decoder(Answer)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, do: str, **arguments: str | float) -> Answer:
        """Have it do one thing, and wait for that.

        Raises:
            PeerError: It could not, or has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode({"do": do, **arguments}) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(
                f"peer: ended with status {self._process.wait()} while it should {do}; run it by hand to see why"
            )
        answer = self._decoder.decode(line)
        if answer.error:
            raise PeerError(f"peer: {do}: {answer.error}")
        return answer

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
