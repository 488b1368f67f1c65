"""What a process and a simulated clock say to each other, and the process's end of the line.

A process joins with a request whose answer never ends: a line for each time the clock wakes it. When it has nothing
left to do it reports that, with what it has received so far; when something other than the clock makes it work, it says
so before it begins. The calls here block: they are made where an event loop would otherwise wait.
"""

from __future__ import annotations

from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from autoscaling.errors import ConfigurationError, EvenkeelError

CALL_HEADER = "X-Evenkeel-Call"
"""Marks requests of a process that has joined: its name, a slash and a number."""

MessageT = TypeVar("MessageT")

_ANSWER_SECONDS = 600.0
"""A clock that computes for so long over an answer counts as lost."""


class LockstepLostError(EvenkeelError):
    """The simulated clock that this process lives by is gone."""


class Welcome(msgspec.Struct, frozen=True):
    """What a process is told when it joins.

    Args:
        origin: Where the clock began; monotonic time counts from there.
        seed: For the process's dice.
    """

    origin: datetime
    seed: int


class Moment(msgspec.Struct, frozen=True):
    """The time.

    Args:
        now: What the clock shows.
        wake_ups: How often the process was woken so far, this time included.
    """

    now: datetime
    wake_ups: int


class Report(msgspec.Struct, frozen=True):
    """What a process says when it has nothing left to do.

    Args:
        wake_ups: How many it has seen.
        until: When it wants to be woken; None for never.
        calls: Its requests that have no answer yet.
        lines: Of watches that brought something since the last report, the lines so far.
        ended: Watches that have ended since the last report.
    """

    wake_ups: int
    until: datetime | None
    calls: int = 0
    lines: dict[str, int] = {}
    ended: tuple[str, ...] = ()


class Channel:
    """The line to a simulated clock.

    Args:
        url: Where this process joins; its last part is the process's name.

    Raises:
        ConfigurationError: It is no such URL.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.name = parts.path.rstrip("/").rpartition("/")[2]
        if parts.scheme != "http" or not parts.hostname or not parts.port or not self.name:
            raise ConfigurationError(f"--clock={url}: write http://HOST:PORT/PATH/NAME, as the simulator gives it")
        self._url = url
        self._path = parts.path.rstrip("/")
        self._stream = HTTPConnection(parts.hostname, parts.port)
        self._calls = HTTPConnection(parts.hostname, parts.port, timeout=_ANSWER_SECONDS)
        self._wake_ups: HTTPResponse | None = None

    def fileno(self) -> int:
        """Return the descriptor that can be read from when the clock wakes this process."""
        return self._stream.sock.fileno()

    def join(self) -> Welcome:
        """Join; the clock stands still from now on until this process reports.

        Raises:
            LockstepLostError: There is no clock, or it does not want this process.
        """
        try:
            self._stream.request("POST", self._path)
            answer = self._stream.getresponse()
            if answer.status != 200:
                raise self._lost(f"it answered {answer.status}: {answer.read().decode(errors='replace')}")
        except (OSError, HTTPException) as error:
            raise self._lost(str(error) or type(error).__name__) from error
        self._wake_ups = answer
        return self._next(Welcome)

    def wake_up(self) -> Moment:
        """Return the next wake-up, waiting for it.

        Raises:
            LockstepLostError: The clock is gone.
        """
        return self._next(Moment)

    def report(self, report: Report) -> None:
        """Say that there is nothing left to do.

        Raises:
            LockstepLostError: The clock is gone.
        """
        self._call("idle", msgspec.json.encode(report))

    def work(self) -> Moment:
        """Say that there is something to do, and return the time.

        Raises:
            LockstepLostError: The clock is gone.
        """
        return self._decoded(Moment, self._call("busy", b""))

    def leave(self) -> None:
        """Say that the clock need not wait for this process any more, and hang up."""
        try:
            self._call("leave", b"")
        except LockstepLostError:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Hang up without a word."""
        self._wake_ups = None
        self._stream.close()
        self._calls.close()

    def _next(self, kind: type[MessageT]) -> MessageT:
        """Read a line of the stream."""
        try:
            line = self._wake_ups.readline() if self._wake_ups is not None else b""
        except (OSError, HTTPException) as error:
            raise self._lost(str(error) or type(error).__name__) from error
        if not line.endswith(b"\n"):
            raise self._lost("it has hung up")
        return self._decoded(kind, line)

    def _call(self, verb: str, body: bytes) -> bytes:
        """Make one call and return the answer's body."""
        try:
            self._calls.request("POST", f"{self._path}/{verb}", body)
            answer = self._calls.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            raise self._lost(str(error) or type(error).__name__) from error
        if answer.status != 200:
            raise self._lost(f"it answered {answer.status} to {verb!r}: {text.decode(errors='replace')}")
        return text

    def _decoded(self, kind: type[MessageT], body: bytes) -> MessageT:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise self._lost(f"it sent something that is no {kind.__name__}: {error}") from error

    def _lost(self, why: str) -> LockstepLostError:
        return LockstepLostError(
            f"simulated clock {self._url}: {why}; a process lives and ends with its simulator, see that one's log"
        )
