"""The kubelet's six series, and the rows of metrics.k8s.io (in-place-resize 3.12 and 5)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.simulator.api.fields import JsonObject, ensure
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.meters import Meter
from evenkeel.simulator.kubelet.metrics import (
    MeteredNode,
    MeteredPod,
    NodeMetricsSource,
    ResizeMetrics,
    operation,
)
from evenkeel.simulator.kubelet.podview import read_pod
from evenkeel.simulator.kubelet.runtime import Container, Sandbox
from tests.evenkeel.simulator.kubelet.pods import container, held, pod

SECOND = timedelta(seconds=1)


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def series(metrics: ResizeMetrics) -> dict[str, dict[str, float]]:
    """Return all samples, by name and labels."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(metrics.text()):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


OPERATIONS = [("2", "1", "increase"), ("1", "2", "decrease"), ("1", "", "add"), ("", "1", "remove"), ("1", "1000m", "")]


@pytest.mark.parametrize(("new", "old", "expected"), OPERATIONS)
def test_operations(new: str, old: str, expected: str) -> None:
    assert operation(held(new).request("cpu") if new else None, held(old).request("cpu") if old else None) == expected


def test_every_changed_amount_is_counted() -> None:
    metrics = ResizeMetrics()
    metrics.count_request(held(("2", "3"), "1Mi"), held("1", ("1Mi", "2Mi")))
    metrics.count_request(held("2"), held("1"))
    assert series(metrics)["kubelet_container_requested_resizes_total"] == {
        "operation=increase,requirement=requests,resource=cpu": 2.0,
        "operation=add,requirement=limits,resource=cpu": 1.0,
        "operation=remove,requirement=limits,resource=memory": 1.0,
    }


def test_durations_fall_into_buckets() -> None:
    metrics = ResizeMetrics()
    for milliseconds in (10, 11, 700_000):
        metrics.time_step(timedelta(milliseconds=milliseconds), success=True)
    metrics.time_step(timedelta(milliseconds=5), success=False)
    found = series(metrics)
    buckets = found["kubelet_pod_resize_duration_milliseconds_bucket"]
    assert buckets["le=10,success=true"] == 1
    assert buckets["le=50,success=true"] == 2
    assert buckets["le=600000,success=true"] == 2
    assert buckets["le=+Inf,success=true"] == 3
    assert buckets["le=10,success=false"] == 1
    assert len([key for key in buckets if key.endswith("success=true")]) == 15
    assert found["kubelet_pod_resize_duration_milliseconds_sum"]["success=true"] == 700_021
    assert found["kubelet_pod_resize_duration_milliseconds_count"] == {"success=true": 3, "success=false": 1}


def test_gauges_and_counters() -> None:
    metrics = ResizeMetrics()
    assert series(metrics) == {"kubelet_pod_in_progress_resizes": {"": 0.0}}
    metrics.pending["deferred"] = 2
    metrics.in_progress = 1
    metrics.infeasible["insufficient_node_allocatable"] += 1
    metrics.deferred_accepted["pods_removed"] += 3
    found = series(metrics)
    assert found["kubelet_pod_pending_resizes"] == {"reason=deferred": 2.0}
    assert found["kubelet_pod_in_progress_resizes"] == {"": 1.0}
    assert found["kubelet_pod_infeasible_resizes_total"] == {"reason_detail=insufficient_node_allocatable": 1.0}
    assert found["kubelet_pod_deferred_accepted_resizes_total"] == {"retry_trigger=pods_removed": 3.0}


def metered(cores: float, memory: int, readings: tuple[float, ...], started: float = 0.0) -> Meter:
    """A meter that was read at these times."""
    meter = Meter(at(started))
    for second in readings:
        meter.count(at(second), cores, memory, memory)
        meter.publish(at(second + 10))
    return meter


def running(name: str, meter: Meter) -> Container:
    return Container(f"id-{name}", name, 0, EPOCH, Cgroup(), meter)


def metered_pod(body: JsonObject, *containers: Container) -> MeteredPod:
    sandbox = Sandbox("uid-a", "10.0.0.1", EPOCH, Cgroup(), Meter(EPOCH))
    sandbox.containers = {c.name: c for c in containers}
    return MeteredPod(read_pod(body), sandbox)


def source(now: float, *pods: MeteredPod, node: Meter | None = None) -> NodeMetricsSource:
    nodes = [MeteredNode("n", node or Meter(EPOCH), pods)]
    return NodeMetricsSource(lambda: nodes, lambda: at(now), EPOCH, 15 * SECOND)


TWO = pod("a", container("app"), container("proxy"))
APP = running("app", metered(0.25, 5000, (12.0, 24.5)))


def test_a_pod_as_metrics_server_shows_it() -> None:
    body = pod("a", container("app"))
    ensure(body, "metadata")["labels"] = {"app": "web"}
    (row,) = source(31, metered_pod(body, APP)).pods()
    assert row == {
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": {"app": "web"},
            "creationTimestamp": "2026-01-01T00:00:30Z",
        },
        "timestamp": "2026-01-01T00:00:24Z",
        "window": "12.5s",
        "containers": [{"name": "app", "usage": {"cpu": "250000000n", "memory": "4Ki"}}],
    }


ABSENT: list[tuple[str, float, MeteredPod]] = [
    ("only one reading yet", 29, metered_pod(pod("a"), APP)),
    ("one container has none", 31, metered_pod(TWO, APP, running("proxy", metered(0.1, 1, (24.0,))))),
    ("one container does not run", 31, metered_pod(TWO, APP)),
    ("nothing runs", 31, metered_pod(pod("a", container("app")))),
]


@pytest.mark.parametrize(("case", "now", "found"), ABSENT, ids=[row[0] for row in ABSENT])
def test_pods_that_are_left_out(case: str, now: float, found: MeteredPod) -> None:
    assert source(now, found).pods() == []


def test_the_oldest_container_dates_the_pod() -> None:
    proxy = running("proxy", metered(0.1, 1, (10.0, 20.0)))
    (row,) = source(31, metered_pod(TWO, APP, proxy)).pods()
    assert (row["timestamp"], row["window"]) == ("2026-01-01T00:00:20Z", "10s")


def test_finished_init_containers_are_left_out_and_sidecars_are_not() -> None:
    setup = running("setup", Meter(EPOCH))
    setup.finished = at(1)
    body = pod("a", container("app"), initContainers=[container("setup"), container("side", restartPolicy="Always")])
    side = running("side", metered(0.1, 2048, (10.0, 20.0)))
    (row,) = source(31, metered_pod(body, APP, setup, side)).pods()
    names = row["containers"]
    assert isinstance(names, list)
    assert [c["name"] for c in names] == ["side", "app"]


def test_pods_come_by_name() -> None:
    rows = source(31, metered_pod(pod("b"), APP), metered_pod(pod("a"), APP)).pods()
    assert [row["metadata"]["name"] for row in rows if isinstance(row["metadata"], dict)] == ["a", "b"]


def test_only_what_was_there_when_usage_was_collected_is_shown() -> None:
    late = running("app", metered(0.25, 5000, (12.0, 24.0, 36.0)))
    (row,) = source(44, metered_pod(pod("a"), late)).pods()
    assert row["timestamp"] == "2026-01-01T00:00:24Z"
    (row,) = source(45, metered_pod(pod("a"), late)).pods()
    assert row["timestamp"] == "2026-01-01T00:00:36Z"


def test_nodes() -> None:
    (row,) = source(31, node=metered(1.5, 4096, (10.0, 20.0))).nodes()
    assert row["usage"] == {"cpu": "1500000000n", "memory": "4Ki"}
    assert source(31).nodes() == []
