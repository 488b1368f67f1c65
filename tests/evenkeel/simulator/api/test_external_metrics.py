"""external.metrics.k8s.io over HTTP."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from evenkeel.simulator.api.external_metrics import StaticExternalMetrics, UsageAsExternalMetrics
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.clock import EPOCH
from tests.evenkeel.simulator.api.wire import Wire, cluster

pytestmark = pytest.mark.anyio
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def source() -> StaticExternalMetrics:
    made = StaticExternalMetrics()
    made.put("cpu", "default", {"app": "web", "pod": "web-0", "name": "main"}, "100m", EPOCH)
    made.put("cpu", "default", {"app": "web", "pod": "web-1", "name": "main"}, "200m", EPOCH)
    made.put("cpu", "shop", {"app": "web", "pod": "web-0", "name": "main"}, "300m", EPOCH)
    made.declare("memory")
    return made


async def values(wire: Wire, metric: str, namespace: str = "default", selector: str = "") -> list[str]:
    query = f"?labelSelector={quote(selector)}" if selector else ""
    body = (await wire.get(f"{EXTERNAL}/namespaces/{namespace}/{metric}{query}")).body
    assert (body["kind"], body["apiVersion"]) == ("ExternalMetricValueList", "external.metrics.k8s.io/v1beta1")
    return [text(row, "value") for row in rows(body, "items")]


async def test_values_are_listed_by_namespace_and_label() -> None:
    async with cluster() as wire:
        wire.server.serve_external(source())
        assert await values(wire, "cpu") == ["100m", "200m"]
        assert await values(wire, "cpu", "shop") == ["300m"]
        assert await values(wire, "cpu", selector="app=web,pod=web-1") == ["200m"]
        assert await values(wire, "cpu", selector="app in (web),pod=web-2") == []


async def test_a_value_is_a_whole_object() -> None:
    async with cluster() as wire:
        wire.server.serve_external(source())
        listed = (await wire.get(f"{EXTERNAL}/namespaces/shop/cpu")).body
        assert rows(listed, "items") == [
            {
                "metricName": "cpu",
                "metricLabels": {"app": "web", "pod": "web-0", "name": "main"},
                "timestamp": "2026-01-01T00:00:00Z",
                "value": "300m",
            }
        ]


async def test_a_metric_without_values_is_not_one_that_is_not_there() -> None:
    async with cluster() as wire:
        assert (await wire.get(f"{EXTERNAL}/namespaces/default/cpu")).code == 404
        wire.server.serve_external(source())
        assert await values(wire, "memory") == []
        assert (await wire.get(f"{EXTERNAL}/namespaces/default/disk")).code == 404
        wire.server.serve_external(StaticExternalMetrics())
        assert (await wire.get(f"{EXTERNAL}/namespaces/default/cpu")).code == 404


async def test_a_value_of_the_same_labels_takes_the_place_of_the_old_one() -> None:
    async with cluster() as wire:
        made = source()
        wire.server.serve_external(made)
        made.put("cpu", "default", {"name": "main", "pod": "web-0", "app": "web"}, "1", EPOCH + timedelta(minutes=1))
        assert await values(wire, "cpu") == ["1", "200m"]


async def test_metrics_are_discovered_and_only_read() -> None:
    async with cluster() as wire:
        wire.server.serve_external(source())
        found = {text(row, "name"): row for row in rows((await wire.get(EXTERNAL)).body, "resources")}
        assert {name: (row["kind"], row["namespaced"]) for name, row in found.items()} == {
            "cpu": ("ExternalMetricValueList", True),
            "memory": ("ExternalMetricValueList", True),
        }
        path = f"{EXTERNAL}/namespaces/default/cpu"
        assert (await wire.call("POST", path, {})).code == 405
        assert (await wire.get(f"{path}?watch=true")).code == 405
        assert (await wire.get(f"{path}/one")).code == 405


async def test_usage_of_pods_can_be_shown_as_external_metrics() -> None:
    usage = StaticMetrics()
    usage.put_pod(("default", "web-0"), {"main": ("100m", "64Mi")}, Window(EPOCH), {"app": "web"})
    usage.put_pod(("shop", "web-0"), {"main": ("1", "1Gi")}, Window(EPOCH), {"app": "web"})
    async with cluster() as wire:
        wire.server.serve_external(UsageAsExternalMetrics(usage, {"cpu": "c", "memory": "m"}, "container"))
        assert await values(wire, "c", selector="app=web,pod=web-0,container=main") == ["100m"]
        assert await values(wire, "m", "shop") == ["1Gi"]
        for container in rows(usage.pod_rows["shop", "web-0"], "containers"):
            del child(container, "usage")["memory"]
        assert await values(wire, "m", "shop") == [], "what is not told is no value"


async def test_any_source_will_do() -> None:
    class Source:
        def names(self) -> tuple[str, ...]:
            return ("queue",)

        def values(self, namespace: str, metric: str) -> list[JsonObject]:
            return [{"metricLabels": None, "value": f"{namespace} {metric}"}]

    async with cluster() as wire:
        wire.server.serve_external(Source())
        assert await values(wire, "queue") == ["default queue"]
        listed = await wire.get(f"{EXTERNAL}/namespaces/default/queue")
        assert child(listed.body, "metadata") == {}
