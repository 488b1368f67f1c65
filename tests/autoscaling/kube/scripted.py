"""A real HTTP server on this machine that answers as the test has written down."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

from aiohttp import web
from kubernetes.aio.client.configuration import Configuration

from autoscaling.kube.calls import CallRecord, ClientSettings
from autoscaling.kube.client import KubeClient
from autoscaling.kube.connection import Connection
from autoscaling.kube.pacing import Pacing
from autoscaling.kube.retry import Patience


class End(Enum):
    """What the server does after the last byte it has to say."""

    ORDERLY = "orderly"
    DROP = "drop"
    HANG = "hang"


@dataclass(frozen=True)
class Answer:
    """One answer; a body of several pieces is sent piece by piece."""

    status: int = 200
    pieces: tuple[bytes, ...] = (b"{}",)
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = End.ORDERLY


def ok(body: object) -> Answer:
    return Answer(200, (json.dumps(body).encode(),))


def no(
    code: int,
    reason: str = "",
    message: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, object] | None = None,
) -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    body = status | {"reason": reason, "message": message, "details": details}
    return Answer(code, (json.dumps(body).encode(),), headers or {})


def lines(*events: object, end: End = End.ORDERLY) -> Answer:
    return Answer(200, tuple(json.dumps(event).encode() + b"\n" for event in events), end=end)


DROPPED = Answer(0, (), end=End.DROP)
SILENT = Answer(0, (), end=End.HANG)


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        decoded: dict[str, object] = json.loads(self.body)
        return decoded


class ScriptedServer:
    """Answers each method and path from its own list; the last answer of a list is given again and again."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.url = ""
        self._answers: dict[tuple[str, str], list[Answer]] = defaultdict(list)
        self._arrived = asyncio.Condition()
        self._closing = asyncio.Event()

    def script(self, method: str, path: str, *answers: Answer) -> None:
        self._answers[method, path] = list(answers)

    def asked(self, method: str, path: str = "") -> list[Seen]:
        return [seen for seen in self.requests if seen.method == method and path in {"", seen.path}]

    async def arrival(self, method: str, path: str, count: int) -> Seen:
        """Wait for the count-th request of a kind."""
        async with asyncio.timeout(10), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked(method, path)) >= count)
        return self.asked(method, path)[count - 1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with self._arrived:
            self.requests.append(Seen(request.method, request.path, dict(request.query), request.headers, body))
            self._arrived.notify_all()
        answers = self._answers[request.method, request.path]
        if not answers:
            answers.append(no(404, "NotFound", f"nothing is written down for {request.method} {request.path}"))
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return await self._give(request, answer)

    async def _give(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status or 200, headers=dict(answer.headers))
        response.content_type = "application/json"
        if answer.status:
            if answer.end is End.ORDERLY and len(answer.pieces) == 1:
                response.content_length = len(answer.pieces[0])
            await response.prepare(request)
            for piece in answer.pieces:
                await response.write(piece)
        if answer.end is End.HANG:
            await self._closing.wait()
        if answer.end is not End.ORDERLY and request.transport is not None:
            request.transport.abort()
        return response

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedServer]:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            self._closing.set()
            await runner.cleanup()


@asynccontextmanager
async def client_of(
    url: str, pacing: Pacing, patience: Patience | None = None, qps: float = 0.0, burst: int = 1
) -> AsyncIterator[tuple[KubeClient, list[CallRecord]]]:
    """A client of the server at this address, with the records of its calls."""
    configuration = Configuration()
    configuration.host = url
    configuration.api_key["BearerToken"] = "Bearer secret"
    calls: list[CallRecord] = []
    settings = ClientSettings("evenkeel-test/1", qps=qps, burst=burst, patience=patience or Patience())
    client = KubeClient(Connection(configuration, pacing=pacing), settings, pacing, calls.append)
    try:
        yield client, calls
    finally:
        await client.close()
