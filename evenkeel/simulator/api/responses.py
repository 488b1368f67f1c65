"""Answers on the wire: objects, refusals, streams, and connections that are cut instead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from evenkeel.simulator.api.codec import JSON
from evenkeel.simulator.api.fields import JsonObject, encode
from evenkeel.simulator.api.status import StatusError

Cut = Callable[[Scope], None]
"""Cuts the connection that a request came over."""


class ConnectionCutError(Exception):
    """This request gets no answer: its connection is to be cut."""


class CutResponse(Response):
    """No answer at all.

    Args:
        cut: Cuts the connection.
    """

    def __init__(self, cut: Cut) -> None:
        super().__init__()
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Cut the connection, and wait until it is."""
        del send
        self._cut(scope)
        while (await receive())["type"] != "http.disconnect":
            pass


class WatchResponse(StreamingResponse):
    """A stream of events.

    Args:
        events: The events.
        cut: Cuts the connection at the end instead of ending the stream in good order, when given.
    """

    def __init__(self, events: AsyncGenerator[bytes, None], cut: Cut | None = None) -> None:
        super().__init__(events, media_type=JSON)
        self._events = events
        self._cut = cut
        self._scope: Scope = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end or the client goes away."""
        self._scope = scope
        await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the events, and make sure that their source is closed whatever happens."""
        async with aclosing(self._events) as events:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for chunk in events:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if self._cut is not None:
            self._cut(self._scope)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def json_response(body: JsonObject | bytes, code: int = 200, warnings: Iterable[str] = ()) -> Response:
    """Return an answer in JSON, with warnings as headers."""
    raw = body if isinstance(body, bytes) else encode(body)
    response = Response(raw, status_code=code, media_type=JSON)
    for warning in warnings:
        safe = warning.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.append("warning", f'299 - "{safe}"')
    return response


def long_json_response(pieces: Iterator[bytes]) -> Response:
    """Return a long answer in JSON, of which the next piece is made once the connection has taken the one before."""
    return StreamingResponse(_one_by_one(pieces), media_type=JSON)


async def _one_by_one(pieces: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield pieces, and notice between two of them when nobody waits for more."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def refusal(error: StatusError) -> Response:
    """Return the answer of a refused request."""
    response = json_response(error.body(), error.code)
    if error.retry_after_seconds is not None:
        response.headers["retry-after"] = str(error.retry_after_seconds)
    return response
