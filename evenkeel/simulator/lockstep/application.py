"""The HTTP surface of the clock: an answer that lasts as long as the process, and calls that are answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

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


def application(lockstep: Lockstep) -> Starlette:
    """Return the ASGI application through which processes live by a clock."""

    async def join(request: Request) -> Response:
        name = _name(request)
        return Presence(lockstep.join(name), lockstep.welcome(name), lockstep.hung_up)

    async def rest(request: Request) -> Response:
        moment = await lockstep.rest(_name(request), _REPORT.decode(await request.body()))
        return Response(msgspec.json.encode(moment))

    async def work(request: Request) -> Response:
        lockstep.work(_name(request), _OBJECTION.decode(await request.body()))
        return Response()

    async def leave(request: Request) -> Response:
        lockstep.dismiss(_name(request))
        return Response()

    async def refused(_request: Request, error: Exception) -> Response:
        return PlainTextResponse(str(error), 409 if isinstance(error, LockstepError) else 400)

    path = PREFIX + "/{name}"
    routes = [
        Route(path + "/rest", rest, methods=["POST"]),
        Route(path + "/work", work, methods=["POST"]),
        Route(path + "/leave", leave, methods=["POST"]),
        Route(path, join, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={LockstepError: refused, msgspec.MsgspecError: refused})


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    return name
