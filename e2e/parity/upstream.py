"""The oracle: a program built from upstream's packages that answers questions line by line."""

from __future__ import annotations

import fcntl
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from e2e.cluster.binaries import GoModule, build_module
from e2e.parity.kinds import BEGIN, Case, Kind

PROGRAM: Final = "parity-oracle"
MODULE: Final = GoModule(PROGRAM, Path(__file__).parent / "oracle", {PROGRAM: "."})

_PIPE_BYTES: Final = 1 << 20
_MOST_LASTING: Final = 200
"""Questions after which a process that cannot let go of what it started is replaced by a new one."""

_SETTLING: Final = timedelta(minutes=2)
_LAST_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one question; exactly one member is set.

    Args:
        answer: Upstream's answer.
        crash: How upstream's code crashed.
        refusal: Why the question makes no sense.
    """

    answer: object = None
    crash: str = ""
    refusal: str = ""


class Upstream:
    """Answers questions about upstream, in a process of its own that is replaced when it dies.

    Args:
        program: The oracle; see ``build``.
    """

    def __init__(self, program: Path) -> None:
        self._program = program
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 it is closed with this object
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0
        self._free_from = BEGIN

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()
        self._log.close()

    def send(self, kind: Kind, cases: Sequence[Case]) -> Sent:
        """Ask about cases of one kind, without waiting for the answers."""
        if kind.lasts is not None and self._asked + len(cases) > _MOST_LASTING:
            self._end()
        sent = Sent(kind, tuple(cases))
        self._write(sent)
        return sent

    def receive(self, sent: Sent) -> list[Reply]:
        """Return the replies to what was sent last; a question that ends the process counts as a crash."""
        replies: list[Reply] = []
        is_second_time = False
        while len(replies) < len(sent.cases):
            answers = self._running().stdout
            assert answers is not None
            if line := answers.readline():
                replies.append(_reply(line))
                is_second_time = False
                continue
            said = self._last_words()
            self._end()
            # Somebody may have ended a process that says nothing, so its question is asked once more.
            if said.is_told or is_second_time:
                replies.append(Reply(crash=said.text))
                is_second_time = False
            else:
                is_second_time = True
            if len(replies) < len(sent.cases):
                self._write(Sent(sent.kind, sent.cases[len(replies) :]))
        return replies

    def ask(self, kind: Kind, case: Case) -> Reply:
        """Ask about one case and wait."""
        return self.receive(self.send(kind, [case]))[0]

    def _write(self, sent: Sent) -> None:
        process = self._running()
        self._asked += len(sent.cases)
        questions = [sent.kind.question(case, self._moment(sent.kind, case)) for case in sent.cases]
        text = "".join(json.dumps(question, separators=(",", ":")) + "\n" for question in questions)
        try:
            assert process.stdin is not None
            process.stdin.write(text.encode())
            process.stdin.flush()
        except BrokenPipeError:
            # It has died on an earlier line; whoever reads the replies finds out.
            return

    def _moment(self, kind: Kind, case: Case) -> datetime:
        """Return when a case takes place in the oracle's time."""
        if kind.lasts is None:
            return BEGIN
        moment = self._free_from + _SETTLING
        self._free_from = moment + kind.lasts(case) + _SETTLING
        return moment

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._log.seek(0)
            self._log.truncate()
            self._process = subprocess.Popen([self._program], stdin=pipe, stdout=pipe, stderr=self._log)
            for end in (self._process.stdin, self._process.stdout):
                assert end is not None
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._asked, self._free_from = 0, BEGIN
        return self._process

    def _end(self) -> None:
        if self._process is None:
            return
        for end in (self._process.stdin, self._process.stdout):
            assert end is not None
            try:
                end.close()
            except BrokenPipeError:
                continue
        self._process.kill()
        self._process.wait()
        self._process = None

    def _last_words(self) -> _LastWords:
        """Return what a process that died said of it."""
        assert self._process is not None
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.startswith(("panic:", "fatal error:")) or "pkg/" in line]
        if said:
            return _LastWords(" | ".join(said[:_LAST_WORDS]), is_told=True)
        return _LastWords(f"it ended with status {self._process.returncode}", is_told=False)


@dataclass(frozen=True, slots=True)
class _LastWords:
    """Why a process ended, and whether it told so itself."""

    text: str
    is_told: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """Questions under way."""

    kind: Kind
    cases: tuple[Case, ...]


def build() -> Path:
    """Build the oracle unless it is in the cache, and return the program.

    Raises:
        ClusterError: Go is missing or the build fails.
    """
    return build_module(MODULE) / PROGRAM


def _reply(line: bytes) -> Reply:
    read = json.loads(line)
    if "answer" in read or not read:
        return Reply(answer=read.get("answer"))
    return Reply(crash=read.get("crash", ""), refusal=read.get("refused", ""))
