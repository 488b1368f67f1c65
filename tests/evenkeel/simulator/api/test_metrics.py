"""metrics.k8s.io over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.clock import EPOCH
from tests.evenkeel.simulator.api.wire import cluster

pytestmark = pytest.mark.anyio
METRICS = "/apis/metrics.k8s.io/v1beta1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def usage() -> StaticMetrics:
    source = StaticMetrics()
    window = Window(EPOCH, timedelta(seconds=15.04))
    source.put_pod(("default", "b"), {"app": ("100m", "64Mi"), "proxy": ("1500n", "4Ki")}, window, {"app": "b"})
    source.put_pod(("default", "a"), {"app": ("1", "1Gi")}, window)
    source.put_pod(("kube-system", "a"), {"app": ("1", "1Gi")}, window)
    source.put_node("n1", ("2", "4Gi"), window)
    return source


async def test_pod_metrics_are_listed_by_namespace_and_label() -> None:
    async with cluster() as wire:
        wire.server.metrics = usage()
        listed = await wire.get(f"{METRICS}/pods")
        assert (listed.body["kind"], listed.items) == ("PodMetricsList", ["a", "b", "a"])
        assert (await wire.get(f"{METRICS}/namespaces/default/pods")).items == ["a", "b"]
        assert (await wire.get(f"{METRICS}/pods?labelSelector=app%3Db")).items == ["b"]


async def test_one_pods_metrics() -> None:
    async with cluster() as wire:
        wire.server.metrics = usage()
        body = (await wire.get(f"{METRICS}/namespaces/default/pods/b")).body
        assert (body["kind"], body["apiVersion"]) == ("PodMetrics", "metrics.k8s.io/v1beta1")
        assert (body["timestamp"], body["window"]) == ("2026-01-01T00:00:00Z", "15.04s")
        assert {row["name"]: row["usage"] for row in rows(body, "containers")} == {
            "app": {"cpu": "100m", "memory": "64Mi"},
            "proxy": {"cpu": "1500n", "memory": "4Ki"},
        }
        missing = await wire.get(f"{METRICS}/namespaces/default/pods/c")
        assert (missing.code, missing.body["message"]) == (404, 'pods.metrics.k8s.io "c" not found')


async def test_node_metrics() -> None:
    async with cluster() as wire:
        wire.server.metrics = usage()
        assert (await wire.get(f"{METRICS}/nodes")).items == ["n1"]
        assert (await wire.get(f"{METRICS}/nodes/n1")).body["usage"] == {"cpu": "2", "memory": "4Gi"}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "pods?watch=true"), ("POST", "namespaces/default/pods"), ("DELETE", "nodes/n1")]
)
async def test_metrics_are_only_read(method: str, path: str) -> None:
    async with cluster() as wire:
        assert (await wire.call(method, f"{METRICS}/{path}", {} if method == "POST" else None)).code == 405


async def test_usage_can_be_set_on_the_server_as_it_comes() -> None:
    async with cluster() as wire:
        assert (await wire.get(f"{METRICS}/pods")).items == []
        wire.server.usage.put_pod(("default", "a"), {"app": ("1", "1Gi")}, Window(wire.clock.now()))
        assert rows((await wire.get(f"{METRICS}/pods")).body, "items")[0]["window"] == "15s"


async def test_any_source_will_do() -> None:
    class Source:
        def pods(self) -> list[JsonObject]:
            return [{"metadata": {"name": "x", "namespace": "default"}, "containers": []}]

        def nodes(self) -> list[JsonObject]:
            return []

    async with cluster() as wire:
        wire.server.metrics = Source()
        assert (await wire.get(f"{METRICS}/pods")).items == ["x"]
        assert child((await wire.get(f"{METRICS}/nodes")).body, "metadata") == {}
