"""What a client waits for that is not time: told to whoever must know when a process is at rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Protocol

Headers = Mapping[str, str]
NO_HEADERS: Headers = MappingProxyType({})


class Traffic(Protocol):
    """Told of every request and every event, as a simulated clock has to be; in real time nobody listens."""

    def exchange(self) -> AbstractAsyncContextManager[Headers]:
        """Surround one request, from before it is sent until it is answered or given up.

        Entering may take as long as other requests of this process are under way. What is returned is sent along.
        """
        ...

    def following(self, sent: Headers) -> AbstractContextManager[Callable[[], None]]:
        """Surround the stream of one watch; what is returned is to be called for each line of it.

        Args:
            sent: What the watch's request was sent with.
        """
        ...


class UnobservedTraffic:
    """Traffic that nobody is told of."""

    __slots__ = ()

    def exchange(self) -> AbstractAsyncContextManager[Headers]:
        """Surround one request."""
        return nullcontext(NO_HEADERS)

    def following(self, sent: Headers) -> AbstractContextManager[Callable[[], None]]:  # noqa: ARG002 - nobody asks
        """Surround the stream of one watch."""
        return nullcontext(_nothing)


def _nothing() -> None:
    """Tell nobody."""


UNOBSERVED = UnobservedTraffic()
