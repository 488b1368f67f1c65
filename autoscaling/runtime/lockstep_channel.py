"""What a process and a simulated clock say to each other, and the process's end of the line.

A process joins with a request whose answer lasts as long as both are there. When it has nothing left to do it says so,
with what it has received so far, and is answered when it is its turn to go on. When something else makes it go on
before that, it says so on another connection before it does anything. The calls here block: they are made where an
event loop would otherwise wait.
"""

from __future__ import annotations

import socket
from datetime import datetime
from http.client import HTTPException, HTTPResponse
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from autoscaling.errors import ConfigurationError, EvenkeelError

CALL_HEADER = "X-Evenkeel-Call"
"""Marks requests of a process that has joined: its name, a slash and a number."""

MessageT = TypeVar("MessageT")

_OK = 200


class LockstepLostError(EvenkeelError):
    """The simulated clock that this process lives by is gone."""


class Welcome(msgspec.Struct, frozen=True):
    """What a process is told when it joins.

    Args:
        origin: Where the clock began; monotonic time counts from there.
        now: What it shows.
        seed: For the process's dice.
    """

    origin: datetime
    now: datetime
    seed: int


class Moment(msgspec.Struct, frozen=True):
    """The time at which a process goes on.

    Args:
        now: What the clock shows.
        turns: How often it was the process's turn so far, this time included; the same as before when the process goes
            on for another reason.
    """

    now: datetime
    turns: int


class Report(msgspec.Struct, frozen=True):
    """What a process says when it has nothing left to do.

    Args:
        number: Counts the reports of the process.
        turns: How many it has had.
        until: When it wants the next one; None for never.
        calls: Its requests that have no answer yet.
        lines: Of watches that brought something since the last report, the lines so far.
        ended: Watches that have ended since the last report.
    """

    number: int
    turns: int
    until: datetime | None
    calls: int = 0
    lines: dict[str, int] = {}
    ended: tuple[str, ...] = ()


class Objection(msgspec.Struct, frozen=True):
    """What a process says when it has something to do before its turn.

    Args:
        number: Of the report that no longer holds; the report itself may arrive later than this.
    """

    number: int


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
        self._address = (parts.hostname, parts.port)
        self._path = parts.path.rstrip("/")
        self._presence: socket.socket | None = None
        self._rest: socket.socket | None = None
        self._words: socket.socket | None = None

    def fileno(self) -> int:
        """Return the descriptor that can be read from when it is this process's turn."""
        return -1 if self._rest is None else self._rest.fileno()

    def join(self) -> Welcome:
        """Join; the clock stands still from now on until this process rests.

        Raises:
            LockstepLostError: There is no clock, or it does not want this process.
        """
        try:
            self._presence, self._rest, self._words = self._connected(), self._connected(), self._connected()
            self._ask(self._presence, "")
            return self._decoded(Welcome, self._answer(self._presence, lasting=True))
        except LockstepLostError:
            self.close()
            raise

    def rest(self, report: Report) -> None:
        """Say that there is nothing left to do.

        Raises:
            LockstepLostError: The clock is gone.
        """
        self._ask(self._rest, "/rest", msgspec.json.encode(report))

    def turn(self) -> Moment:
        """Wait for this process's turn, after ``rest``.

        Raises:
            LockstepLostError: The clock is gone.
        """
        return self._decoded(Moment, self._answer(self._rest))

    def go_on(self, number: int) -> Moment:
        """Go on after ``rest`` although it is not this process's turn; if it is by now, the answer tells.

        Args:
            number: Of the report.

        Raises:
            LockstepLostError: The clock is gone.
        """
        self._ask(self._words, "/work", msgspec.json.encode(Objection(number)))
        moment = self.turn()
        # Taken before anything else is said, so that this word never overtakes a later one.
        self._answer(self._words)
        return moment

    def leave(self) -> None:
        """Say that the clock need not wait for this process any more, and hang up."""
        try:
            self._ask(self._words, "/leave")
            self._answer(self._words)
        except LockstepLostError:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Hang up without a word."""
        for connection in (self._presence, self._rest, self._words):
            if connection is not None:
                connection.close()
        self._presence = self._rest = self._words = None

    def _connected(self) -> socket.socket:
        try:
            connection = socket.create_connection(self._address)
        except OSError as error:
            raise self._lost(str(error)) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _ask(self, connection: socket.socket | None, verb: str, body: bytes = b"") -> None:
        """Send a request in one piece."""
        head = f"POST {self._path}{verb} HTTP/1.1\r\nHost: {self._address[0]}\r\nContent-Length: {len(body)}\r\n\r\n"
        if connection is None:
            raise self._lost("it has not been joined")
        try:
            connection.sendall(head.encode() + body)
        except OSError as error:
            raise self._lost(str(error)) from error

    def _answer(self, connection: socket.socket | None, *, lasting: bool = False) -> bytes:
        """Return the body of an answer, or the first line of one that does not end."""
        if connection is None:
            raise self._lost("it has not been joined")
        answer = HTTPResponse(connection, method="POST")
        try:
            answer.begin()
            body = answer.readline() if lasting and answer.status == _OK else answer.read()
        except (OSError, HTTPException) as error:
            raise self._lost(str(error) or type(error).__name__) from error
        finally:
            answer.close()
        if answer.status != _OK:
            raise self._lost(f"it answered {answer.status}: {body.decode(errors='replace')}")
        return body

    def _decoded(self, kind: type[MessageT], body: bytes) -> MessageT:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise self._lost(f"it sent something that is no {kind.__name__}: {error}") from error

    def _lost(self, why: str) -> LockstepLostError:
        return LockstepLostError(
            f"simulated clock {self._url}: {why}; a process lives and ends with its simulator, see that one's log"
        )
