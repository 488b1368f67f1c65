"""Fetching from the external metrics API of the embedded server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import external_metric
from evenkeel.simulator.api.external_metrics import StaticExternalMetrics
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from recommender.external_usage import ExternalMetrics
from recommender.samples import MISSING
from recommender.shell.external_usage import CONCURRENT_REQUESTS, ExternalMetricsSource
from recommender.shell.metrics import RecommenderMetrics
from recommender.usage_table import UsageTable
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.builders import T0
from tests.embedded import api_server, client_for
from tests.recommender.scene import MINUTE, Scene, pod, vpa

pytestmark = pytest.mark.anyio

BOTH = ExternalMetrics("cpu_cores", "memory_bytes", "container")
UPSTREAM, OWN = Behaviour.of(Profile.UPSTREAM), Behaviour.of(Profile.EVENKEEL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Fetching:
    """A source with all that it reads and counts."""

    source: ExternalMetricsSource
    registry: CollectorRegistry
    scene: Scene

    async def rows(self) -> list[tuple[str, int, int]] | None:
        """Fetch, and return container, millicores and bytes of each row."""
        table = await self.source.fetch(self.scene.model)
        return None if table is None else rows_of(table)

    def responses(self, is_error: str) -> float | None:
        labels = {"is_error": is_error, "client_name": "default-metrics-client"}
        return self.registry.get_sample_value("vpa_recommender_metric_server_responses", labels)


def rows_of(table: UsageTable) -> list[tuple[str, int, int]]:
    return list(zip(table.containers, table.millicores.tolist(), table.memory_bytes.tolist(), strict=True))


def fetching(
    client: KubeClient,
    external: ExternalMetrics = BOTH,
    behaviour: Behaviour = OWN,
    namespace: str = "",
    scene: Scene | None = None,
) -> Fetching:
    registry = CollectorRegistry()
    source = ExternalMetricsSource(client, external, namespace, behaviour, RecommenderMetrics.register(registry))
    return Fetching(source, registry, scene or Scene().observe(pod("p0"), pod("p1")).follow(vpa()))


@pytest.fixture
def values() -> StaticExternalMetrics:
    made = StaticExternalMetrics()
    for name, cpu, memory in (("p0", "100m", "300Mi"), ("p1", "1", "1Gi")):
        labels = {"app": "a", "pod": name, "container": "main"}
        made.put("cpu_cores", "default", labels, cpu, T0)
        made.put("memory_bytes", "default", labels, memory, T0)
    return made


@pytest.fixture
def server(values: StaticExternalMetrics) -> ApiServer:
    made = api_server()
    made.serve_external(values)
    return made


async def test_each_pod_and_metric_is_asked_for_by_label(server: ApiServer) -> None:
    """Spec: recommender:8.2."""
    async with client_for(server) as client:
        fetched = fetching(client)
        assert await fetched.rows() == [("main", 100, 300 << 20), ("main", 1000, 1 << 30)]
    calls = server.requests.calls("list", path="external")
    base = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"
    assert sorted((call.path, *call.query.items()) for call in calls) == [
        (f"{base}/cpu_cores", ("labelSelector", "app=a,pod=p0")),
        (f"{base}/cpu_cores", ("labelSelector", "app=a,pod=p1")),
        (f"{base}/memory_bytes", ("labelSelector", "app=a,pod=p0")),
        (f"{base}/memory_bytes", ("labelSelector", "app=a,pod=p1")),
    ]
    assert (fetched.responses("false"), fetched.responses("true")) == (1, None)


async def test_samples_reach_the_histograms(server: ApiServer) -> None:
    async with client_for(server) as client:
        fetched = fetching(client)
        table = await fetched.source.fetch(fetched.scene.model)
    assert table is not None
    assert (table.pods, table.sizes) == (["p0", "p1"], [1, 1])
    assert fetched.scene.cpu(T0 + MINUTE, 1, pod="p0"), "the model is as before"


@pytest.mark.parametrize(
    ("row", "external", "ours", "upstreams"),
    [
        ("recommender:8.2", ExternalMetrics("cpu_cores", "", "container"), (100, MISSING), (100, 0)),
        ("recommender:8.2", ExternalMetrics("", "memory_bytes", "container"), (MISSING, 300 << 20), (0, 300 << 20)),
        ("recommender:8.2", ExternalMetrics("cpu_cores", "empty", "container"), (100, MISSING), (100, 0)),
    ],
)
async def test_a_resource_without_metric_or_value(
    server: ApiServer,
    values: StaticExternalMetrics,
    row: str,
    external: ExternalMetrics,
    ours: tuple[int, int],
    upstreams: tuple[int, int],
) -> None:
    """Spec: recommender:13.14."""
    values.declare("empty")
    server.serve_external(values)
    async with client_for(server) as client:
        scene = Scene().observe(pod("p0")).follow(vpa())
        assert await fetching(client, external, OWN, scene=scene).rows() == [("main", *ours)], row
        assert await fetching(client, external, UPSTREAM, scene=scene).rows() == [("main", *upstreams)], row


async def test_only_the_namespace_that_is_served_is_asked_about(server: ApiServer) -> None:
    async with client_for(server) as client:
        assert await fetching(client, namespace="shop").rows() == []
    assert server.requests.calls("list", path="external") == []


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (HTTPStatus.NOT_FOUND, "install an adapter that serves this metric"),
        (HTTPStatus.FORBIDDEN, "kubectl apply -k manifests/external-metrics"),
        (HTTPStatus.BAD_REQUEST, ""),
    ],
)
@pytest.mark.parametrize("behaviour", [OWN, UPSTREAM], ids=["evenkeel", "upstream"])
async def test_one_refusal_ends_the_whole_fetch(
    server: ApiServer, behaviour: Behaviour, code: HTTPStatus, remedy: str
) -> None:
    """Spec: recommender:8.2."""
    server.faults.add(Fault(Refuse(code), path="memory_bytes", count=1, skip=1))
    async with client_for(server) as client:
        fetched = fetching(client, behaviour=behaviour)
        with capture_logs() as logs:
            assert await fetched.rows() is None
        assert (fetched.responses("false"), fetched.responses("true")) == (None, 1)
        (entry,) = logs
        assert (entry["event"], entry["log_level"]) == ("usage not fetched", "warning")
        assert "memory_bytes" in entry["error"]
        assert remedy in entry["remedy"]
        assert bool(entry["remedy"]) == bool(remedy)
        assert await fetched.rows() is not None, "the next round asks again"


async def test_an_answer_that_cannot_be_read_ends_the_whole_fetch(
    server: ApiServer, values: StaticExternalMetrics
) -> None:
    values.put("cpu_cores", "default", {"app": "a", "pod": "p1", "container": "main"}, "much", T0)
    async with client_for(server) as client:
        fetched = fetching(client)
        with capture_logs() as logs:
            assert await fetched.rows() is None
    assert fetched.responses("true") == 1
    assert "default/cpu_cores (app=a,pod=p1): quantity 'much'" in logs[0]["error"]


async def test_a_pod_that_cannot_be_asked_for_is_left_out_and_ends_upstreams_fetch(server: ApiServer) -> None:
    """Spec: recommender:8.2."""
    long = "p" * 64
    scene = Scene().observe(pod("p0"), pod(long)).follow(vpa())
    async with client_for(server) as client:
        with capture_logs() as logs:
            assert await fetching(client, behaviour=OWN, scene=scene).rows() == [("main", 100, 300 << 20)]
        assert [(e["event"], e["objects"]) for e in logs] == [("pods cannot be asked for", [f"Pod default/{long}"])]
        server.requests.clear()
        fetched = fetching(client, behaviour=UPSTREAM, scene=scene)
        assert await fetched.rows() is None
        assert fetched.responses("true") == 1


async def test_use_without_a_time_is_left_out_and_named(server: ApiServer) -> None:
    class Undated(StaticExternalMetrics):
        def values(self, namespace: str, metric: str) -> list[dict[str, object]]:
            return [{**value, "timestamp": None} for value in super().values(namespace, metric)]

    undated = Undated()
    undated.put("cpu_cores", "default", {"app": "a", "pod": "p0", "container": "main"}, "1", T0)
    server.serve_external(undated)
    async with client_for(server) as client:
        with capture_logs() as logs:
            assert await fetching(client, ExternalMetrics("cpu_cores", "", "container")).rows() == []
    assert [e["object"] for e in logs] == ["Pod default/p0"]


async def test_without_a_metric_nothing_is_asked_and_that_is_said_once(server: ApiServer) -> None:
    async with client_for(server) as client:
        with capture_logs() as logs:
            fetched = fetching(client, ExternalMetrics("", "", "container"))
            assert await fetched.rows() == []
            assert await fetched.rows() == []
    assert server.requests.calls("list", path="external") == []
    assert ["--external-metrics-cpu-metric" in e["remedy"] for e in logs] == [True]


@dataclass
class Adapter:
    """An adapter without values that lets requests wait until so many are under way."""

    opens_at: int
    refused: int = 0
    asked: int = 0
    under_way: int = 0
    most: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.asked == self.refused:
            return web.json_response({"code": 400}, status=400)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.under_way >= self.opens_at:
                self.gate.set()
            await self.gate.wait()
            return web.json_response({"items": []})
        finally:
            self.under_way -= 1


@asynccontextmanager
async def adapted(adapter: Adapter) -> AsyncIterator[KubeClient]:
    app = web.Application()
    app.router.add_route("*", external_metric("cpu_cores").path("default"), adapter.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with client_of(f"http://127.0.0.1:{runner.addresses[0][1]}", HeldPacing()) as (client, _):
            yield client
    finally:
        await runner.cleanup()


def many_pods() -> Scene:
    return Scene().observe(*(pod(f"p{number}") for number in range(5 * CONCURRENT_REQUESTS))).follow(vpa())


async def test_so_many_requests_are_under_way_at_a_time_and_no_more() -> None:
    adapter = Adapter(CONCURRENT_REQUESTS)
    async with asyncio.timeout(10), adapted(adapter) as client:
        fetched = fetching(client, ExternalMetrics("cpu_cores", "", "container"), scene=many_pods())
        assert await fetched.rows() == []
    assert (adapter.asked, adapter.most) == (5 * CONCURRENT_REQUESTS, CONCURRENT_REQUESTS)


async def test_a_failure_ends_what_is_under_way() -> None:
    """Spec: recommender:8.2."""
    adapter = Adapter(2 * CONCURRENT_REQUESTS, refused=3)
    async with asyncio.timeout(10), adapted(adapter) as client:
        before = asyncio.all_tasks()
        fetched = fetching(client, ExternalMetrics("cpu_cores", "", "container"), scene=many_pods())
        assert await fetched.rows() is None
        left = {task for task in asyncio.all_tasks() - before if "ExternalMetricsSource" in str(task.get_coro())}
    assert left == set()
    assert adapter.asked <= CONCURRENT_REQUESTS
