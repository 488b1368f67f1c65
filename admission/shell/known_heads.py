"""Requests whose heads were parsed before, told by their bytes: API servers send the same ones again and again.

A parser of HTTP calls back for every header, which takes about as long as deciding on a pod of a known template. It is
left out for a request that comes in one piece, whose head is, byte for byte, that of an earlier one: what the parser
made of that one holds for this one, too.

Spec: performance A-2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from admission.shell.service import Request

_END = b"\r\n\r\n"
_LARGEST = 2048
"""Bytes of a head that is remembered."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What a head came to."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    body_bytes: int


class KnownHeads:
    """The latest heads of requests that were followed by bodies in the same piece.

    Args:
        size: Most of them to remember; the oldest makes room for a new one. With 0 everything is parsed.
    """

    __slots__ = ("_heads", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._heads: dict[bytes, _Head] = {}

    def request(self, data: bytes) -> Request | None:
        """Return the request that a piece is, None where it is more or less than one or has an unknown head.

        Args:
            data: What has come, after the end of another request or as the first of all.
        """
        end = data.find(_END, 0, _LARGEST) + len(_END)
        known = self._heads.get(data[:end])
        if known is None or len(data) != end + known.body_bytes:
            return None
        return Request(
            known.target, known.headers, [data[end:]], known.body_bytes, known.method, began=time.perf_counter()
        )

    def learn(self, data: bytes, request: Request) -> None:
        """Remember the head of a request, unless more of it counts than a body of a stated size.

        Args:
            data: The piece that it came in, with nothing before it.
            request: What the parser made of that, the one request in it.
        """
        end = data.find(_END, 0, _LARGEST) + len(_END)
        is_plain = request.keeps_alive and request.parts == [data[end:]] and request.stated_size == request.size
        if not self._size or end < len(_END) or not is_plain or data[:end] in self._heads:
            return
        if len(self._heads) >= self._size:
            del self._heads[next(iter(self._heads))]
        self._heads[data[:end]] = _Head(request.method, request.target, request.headers, request.size)
