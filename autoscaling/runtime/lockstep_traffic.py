"""What a process in lock-step has under way, so that its clock stands still meanwhile.

One request goes at a time: which of several reaches the server first would else depend on the machine.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from autoscaling.kube.traffic import Headers
from autoscaling.runtime.lockstep_channel import CALL_HEADER

Ticket = asyncio.Future[None]


class Turnstile:
    """Lets one task through at a time, in the order of their coming."""

    def __init__(self) -> None:
        self._inside: Ticket | None = None
        self._queue: deque[Ticket] = deque()

    @property
    def is_blocked(self) -> bool:
        """Whether somebody waits."""
        return any(not ticket.done() for ticket in self._queue)

    async def enter(self) -> Ticket:
        """Wait for one's turn."""
        ticket: Ticket = asyncio.get_running_loop().create_future()
        self._queue.append(ticket)
        if self._inside is None:
            self._admit()
        try:
            await ticket
        except asyncio.CancelledError:
            self.leave(ticket)
            raise
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Let the next one in, unless somebody else is inside already."""
        if self._inside is ticket:
            self._admit()

    def pass_by(self) -> None:
        """Let the next one in, although the one inside has not left."""
        self._admit()

    def _admit(self) -> None:
        self._inside = None
        while self._queue and self._inside is None:
            ticket = self._queue.popleft()
            if not ticket.done():
                self._inside = ticket
                ticket.set_result(None)


class LockstepTraffic:
    """The requests and watches of one process.

    Args:
        name: Of the process, as it joined.
    """

    def __init__(self, name: str) -> None:
        self.calls = 0
        self._name = name
        self._number = 0
        self._turnstile = Turnstile()
        self._lines: dict[str, int] = {}
        self._news: dict[str, None] = {}
        self._ended: list[str] = []

    @property
    def is_blocked(self) -> bool:
        """Whether a request waits for another one's answer."""
        return self._turnstile.is_blocked

    @asynccontextmanager
    async def exchange(self) -> AsyncIterator[Headers]:
        """Surround one request, once no other is under way."""
        ticket = await self._turnstile.enter()
        self.calls += 1
        self._number += 1
        try:
            yield {CALL_HEADER: f"{self._name}/{self._number}"}
        finally:
            self.calls -= 1
            self._turnstile.leave(ticket)

    @contextmanager
    def following(self, sent: Headers) -> Iterator[Callable[[], None]]:
        """Surround the stream of one watch."""
        mark = sent[CALL_HEADER]
        self._lines[mark] = 0
        self._news[mark] = None

        def told() -> None:
            self._lines[mark] += 1
            self._news[mark] = None

        try:
            yield told
        finally:
            del self._lines[mark]
            self._news.pop(mark, None)
            self._ended.append(mark)

    def pass_parked(self) -> None:
        """Let further requests go: time moves, so those under way are kept waiting by the clock itself."""
        self._turnstile.pass_by()

    def take_news(self) -> tuple[dict[str, int], tuple[str, ...]]:
        """Return what came since the last time: lines so far by watch, and watches that ended."""
        lines, ended = {mark: self._lines[mark] for mark in self._news}, tuple(self._ended)
        self._news.clear()
        self._ended.clear()
        return lines, ended
