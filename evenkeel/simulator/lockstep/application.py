"""The HTTP surface of the clock: an answer that lasts as long as the process, and calls that are answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from autoscaling.runtime.lockstep_channel import Objection, Report, Welcome
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepError
from evenkeel.simulator.lockstep.participants import Participant

PREFIX = "/clock"
_REPORT = msgspec.json.Decoder(Report)
_OBJECTION = msgspec.json.Decoder(Objection)


class Presence(Response):
    """An answer that lasts as long as the process that asked, so that its death is noticed at once.

    Args:
        participant: The process.
        welcome: What it is told first.
        hung_up: Called when the connection is gone.
    """

    def __init__(self, participant: Participant, welcome: Welcome, hung_up: Callable[[Participant], None]) -> None:
        super().__init__()
        self._participant = participant
        self._welcome = welcome
        self._hung_up = hung_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the process goes away or is dismissed."""
        del scope
        line = msgspec.json.encode(self._welcome) + b"\n"
        ends = {
            asyncio.ensure_future(self._participant.dismissed.wait()),
            asyncio.ensure_future(_disconnected(receive)),
        }
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": line, "more_body": True})
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
            self._hung_up(self._participant)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


Endpoint = Callable[[str, bytes], Awaitable[Response]]


def application(lockstep: Lockstep) -> ASGIApp:
    """Return the ASGI application through which processes live by a clock."""

    async def join(name: str, _body: bytes) -> Response:
        return Presence(lockstep.join(name), lockstep.welcome(name), lockstep.hung_up)

    async def rest(name: str, body: bytes) -> Response:
        return Response(msgspec.json.encode(await lockstep.rest(name, _REPORT.decode(body))))

    async def work(name: str, body: bytes) -> Response:
        lockstep.work(name, _OBJECTION.decode(body))
        return Response()

    async def leave(name: str, _body: bytes) -> Response:
        lockstep.dismiss(name)
        return Response()

    # Without the middleware of a whole application, which would take longer than the calls themselves.
    path = PREFIX + "/{name}"
    return Router(
        [
            Route(path + "/rest", _answering(rest), methods=["POST"]),
            Route(path + "/work", _answering(work), methods=["POST"]),
            Route(path + "/leave", _answering(leave), methods=["POST"]),
            Route(path, _answering(join), methods=["POST"]),
        ]
    )


def _answering(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a request by an endpoint, or says why not."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request.path_params["name"], await request.body())
        except LockstepError as error:
            return PlainTextResponse(str(error), 409)
        except msgspec.MsgspecError as error:
            return PlainTextResponse(str(error), 400)

    return answer
