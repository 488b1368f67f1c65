"""What a connection and the service behind it hand each other: requests, what came of them, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Protocol


class Reply:
    """An answer, with everything that is the same for all of its kind put into bytes beforehand.

    Args:
        status: Of the answer.
        content_type: Of the body; empty to leave it out.
    """

    __slots__ = ("closing_head", "head")

    def __init__(self, status: HTTPStatus, content_type: bytes = b"") -> None:
        line = b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
        kind = b"content-type: %b\r\n" % content_type if content_type else b""
        self.head = line + kind + b"content-length: "
        self.closing_head = line + kind + b"connection: close\r\ncontent-length: "


@dataclass(slots=True)
class Request:
    """A request, as far as it has come.

    Args:
        target: Path and query.
        headers: The first value of each header that is read, by its name in small letters.
        parts: Pieces of the body; nothing once it is too large.
        size: Of the body so far, in bytes.
        method: Known once the head is complete.
        began: When the head was complete, by ``time.perf_counter``; 0 before.
        keeps_alive: Whether another request may follow on the same connection.
        is_waited_for: Whether the rest of the body is being waited for.
        is_answered: Whether what still comes of it counts for nothing.
    """

    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    method: bytes = b""
    began: float = 0.0
    keeps_alive: bool = True
    is_waited_for: bool = False
    is_answered: bool = False

    @property
    def has_head(self) -> bool:
        """Whether its head is complete."""
        return self.began > 0.0

    @property
    def body(self) -> bytes:
        """The body as far as it has come."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    @property
    def stated_size(self) -> int:
        """Size of the whole body by its header, 0 where that does not say."""
        stated = self.headers.get(b"content-length", b"")
        return int(stated) if stated.isdigit() else 0


class Arrival(Enum):
    """What came of a request's body."""

    WHOLE = "all of it"
    NOT_WANTED = "nobody waits for it"
    TOO_LARGE = "more than is taken"
    LATE = "not in time"
    BROKEN = "the connection ended, or what came was no HTTP"


Send = Callable[[Reply, bytes], None]
"""Sends an answer with a body; to one who has gone, it does nothing."""


class Service(Protocol):
    """What answers requests."""

    def wants_body(self, request: Request) -> bool:
        """Say by its head whether the body of a request matters."""
        ...

    def patience_seconds(self, request: Request) -> float:
        """Return how long to wait for a body."""
        ...

    def answer(self, request: Request, arrival: Arrival, send: Send) -> asyncio.Task[None] | None:
        """Answer a request by calling ``send`` once.

        Returns:
            None where that is done; else the task that does it, before which no later request is answered. Only a
            request of which everything has come may be answered by a task.
        """
        ...
