"""What was asked of the server, kept for tests and reports."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from evenkeel.simulator.api.fields import decode

DEFAULT_LENGTH = 100_000
"""Calls kept before the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One request with its outcome; a watch is recorded when its stream begins, others when they are answered.

    Args:
        verb: API verb such as ``patch``; the HTTP method in lower case off the resources.
        path: Without the query.
        query: Query parameters.
        user: Name of the user; empty when nobody was recognised.
        content_type: As sent.
        body: As sent.
        status: HTTP status code; 0 when the connection was cut instead.
        at: When, by the server's clock.
        resource: Such as ``pods/resize``; empty off the resources.
        caller: The process in lock-step that sent it; empty for anybody else.
    """

    verb: str
    path: str
    query: dict[str, str]
    user: str
    content_type: str
    body: bytes
    status: int
    at: datetime
    resource: str = ""
    caller: str = ""

    @property
    def json(self) -> object:
        """The body as JSON; None when there is none that can be read."""
        try:
            return decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


@dataclass(slots=True)
class RequestLog:
    """The calls of one server, oldest first.

    Args:
        entries: The calls.
        total: How many there were by verb and resource, also those forgotten.
    """

    entries: deque[RecordedCall] = field(default_factory=lambda: deque(maxlen=DEFAULT_LENGTH))
    total: Counter[tuple[str, str]] = field(default_factory=Counter)
    _observers: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, call: RecordedCall) -> None:
        """Add a call."""
        with self._lock:
            self.entries.append(call)
            self.total[call.verb, call.resource] += 1
            observers = list(self._observers)
        for observer in observers:
            observer()

    def calls(self, verb: str = "", path: str = "", resource: str = "") -> list[RecordedCall]:
        """Return the calls of a verb, of a resource, and with a path in which a pattern is found."""
        with self._lock:
            entries = list(self.entries)
        return [
            call
            for call in entries
            if verb in {"", call.verb} and resource in {"", call.resource} and re.search(path, call.path)
        ]

    def clear(self) -> None:
        """Forget every call."""
        with self._lock:
            self.entries.clear()
            self.total.clear()

    def observe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call back after each recorded call, in the server's thread; returns how to stop that."""
        with self._lock:
            self._observers.append(observer)

        def stop() -> None:
            with self._lock:
                self._observers.remove(observer)

        return stop

    async def until(self, condition: Callable[[RequestLog], bool], timeout_seconds: float = 10.0) -> None:
        """Wait until the log fulfils a condition.

        Raises:
            TimeoutError: It did not in time.
        """
        changed, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        stop = self.observe(wake)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not condition(self):
                    await changed.wait()
                    changed.clear()
        finally:
            stop()
