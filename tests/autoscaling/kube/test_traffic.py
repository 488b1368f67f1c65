"""What a client tells of its requests and watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager

import pytest
from kubernetes.aio.client.configuration import Configuration

from autoscaling.errors import ApiRefusedError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient
from autoscaling.kube.connection import Connection
from autoscaling.kube.paths import PODS, Selection
from autoscaling.kube.streams import WatchStart
from autoscaling.kube.traffic import UNOBSERVED, Headers
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import Answer, ScriptedServer, no, ok

pytestmark = pytest.mark.anyio

POD = "/api/v1/namespaces/ns/pods/a"


class Diary:
    """Traffic that writes down what it is told."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.requests = 0

    @asynccontextmanager
    async def exchange(self) -> AsyncIterator[Headers]:
        self.requests += 1
        number = self.requests
        self.entries.append(f"{number} begins")
        try:
            yield {"X-Number": str(number)}
        finally:
            self.entries.append(f"{number} ends")

    @contextmanager
    def following(self, sent: Headers) -> Iterator[Callable[[], None]]:
        yield lambda: self.entries.append(f"line of {sent['X-Number']}")
        self.entries.append(f"stream of {sent['X-Number']} ends")


@asynccontextmanager
async def told(server: ScriptedServer) -> AsyncIterator[tuple[KubeClient, Diary]]:
    configuration = Configuration()
    configuration.host = server.url
    diary, pacing = Diary(), InstantPacing()
    client = KubeClient(Connection(configuration, pacing=pacing), ClientSettings("test", qps=0), pacing, traffic=diary)
    try:
        yield client, diary
    finally:
        await client.close()


async def test_every_try_is_an_exchange_of_its_own_with_headers_of_its_own(server: ScriptedServer) -> None:
    server.script("GET", POD, no(500), ok({"kind": "Pod"}))
    async with told(server) as (client, diary):
        await client.get(POD)
        assert client.traffic is diary
    assert diary.entries == ["1 begins", "1 ends", "2 begins", "2 ends"]
    assert [request.headers["X-Number"] for request in server.requests] == ["1", "2"]


async def test_a_watch_is_an_exchange_until_it_begins_and_then_line_for_line_a_stream(server: ScriptedServer) -> None:
    lines = (b'{"a":1}\n{"b":', b"2}\n")
    server.script("GET", "/api/v1/pods", Answer(200, lines))
    async with told(server) as (client, diary), aclosing(client.watch(Selection(PODS), WatchStart())) as stream:
        assert [line async for line in stream] == [b'{"a":1}', b'{"b":2}']
    assert diary.entries == ["1 begins", "1 ends", "line of 1", "line of 1", "stream of 1 ends"]


async def test_a_refused_watch_is_no_stream(server: ScriptedServer) -> None:
    server.script("GET", "/api/v1/pods", no(410, "Expired"))
    async with told(server) as (client, diary):
        watch = client.watch(Selection(PODS), WatchStart())
        with pytest.raises(ApiRefusedError):
            await anext(watch)
    assert diary.entries == ["1 begins", "1 ends"]


async def test_nobody_is_told_unless_somebody_asks() -> None:
    async with UNOBSERVED.exchange() as headers:
        assert isinstance(headers, Mapping)
        assert not headers
        with UNOBSERVED.following(headers) as line:
            line()
