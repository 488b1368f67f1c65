"""A watch's answer as lines, and where a watch starts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WatchStart:
    """Where a watch starts and how long it lasts.

    Args:
        resource_version: Events after this one; empty for whatever the server begins with.
        timeout_seconds: After this time the server ends the stream in good order.
        silence_seconds: A stream that brings nothing for so long, not even a bookmark, counts as dead.
    """

    resource_version: str = ""
    timeout_seconds: int = 300
    silence_seconds: float = 180.0

    @property
    def query(self) -> dict[str, str]:
        """As query parameters."""
        version = {"resourceVersion": self.resource_version} if self.resource_version else {}
        return {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(self.timeout_seconds)} | version


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Cut a stream into lines, however its chunks fall.

    Args:
        chunks: The stream, in pieces of any size.

    Yields:
        Lines without their end; empty ones are left out, and so is a last line that was cut off.
    """
    pending: list[bytes] = []
    async for chunk in chunks:
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            pending.append(chunk)
            continue
        first = b"".join((*pending, head))
        if first:
            yield first
        lines = rest.split(b"\n")
        pending = [lines.pop()]
        for line in lines:
            if line:
                yield line
