"""The pods and recommendations of a cluster as tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.pod_table import MOST_PODS, bar, pod_table, recommendation_table, short
from tests.evenkeel.simulator.scenarios.scene import evidence, pod, vpa


def rendered(table: Table) -> list[str]:
    output = io.StringIO()
    Console(file=output, width=140, color_system=None).print(table)
    return [" ".join(line.split()) for line in output.getvalue().splitlines()]


def metrics(name: str, cpu: str, memory: str) -> JsonObject:
    containers = [{"name": "main", "usage": {"cpu": cpu, "memory": memory}}]
    return {"metadata": {"name": name, "namespace": "default"}, "containers": containers}


@pytest.mark.parametrize(
    ("used", "request_", "limit", "text"),
    [
        (None, None, None, "       -/-/-"),
        (None, "1", "2", "       -/1/2"),
        ("250m", "1", "500m", "███░░░ 250m/1/500m"),
        ("500m", "1", "500m", "██████ 500m/1/500m"),
        ("2", "1", None, "██████ 2/1/-"),
        ("2", None, None, "░░░░░░ 2/-/-"),
        ("50Mi", "64Mi", "1Gi", "░░░░░░ 50Mi/64Mi/1Gi"),
        ("1", "0", "0", "██████ 1/0/0"),
    ],
)
def test_a_bar_is_full_at_the_limit(used: str | None, request_: str | None, limit: str | None, text: str) -> None:
    assert bar(used, request_, limit).plain == text


@pytest.mark.parametrize(
    ("used", "style"), [("449m", "green"), ("450m", "yellow"), ("809m", "yellow"), ("810m", "red"), ("2", "red")]
)
def test_a_bar_is_red_near_the_limit(used: str, style: str) -> None:
    assert any(span.style == style for span in bar(used, None, "900m").spans)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("499999999n", "500m"), ("2", "2"), ("1048576", "1Mi"), ("1572864", "2Mi"), ("1048575", "1048575")],
)
def test_amounts_are_short(amount: str, text: str) -> None:
    assert short(Quantity.parse(amount)) == text


def test_pods_of_workloads_have_a_row_for_each_container() -> None:
    leaving = pod("web-b", restarts=2, phase="Running")
    assert isinstance(leaving["metadata"], dict)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    waiting = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    foreign = pod("other")
    assert isinstance(foreign["metadata"], dict)
    foreign["metadata"]["labels"] = {}
    store = evidence(pod("web-a", conditions=[waiting]), leaving, foreign).store
    lines = rendered(pod_table(store, [metrics("web-a", "1", "100Mi")]))
    assert lines == [
        "pod node phase restarts cpu memory resize",
        "web-a node-1 Running 0 ██░░░░ 1/400m/4 ███░░░ 100Mi/100Mi/200Mi Pending Deferred",
        "web-a node-1 Running 0 -/1m/- -/-/- Pending Deferred",
        "web-b node-1 Terminating 2 -/400m/4 -/100Mi/200Mi",
        "web-b node-1 Terminating 0 -/1m/- -/-/-",
    ]


def test_sidecars_have_a_row_and_plain_init_containers_have_none() -> None:
    """Spec: beyond:B-16."""
    body = pod("web-a")
    spec, status = body["spec"], body["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    proxy = {"name": "proxy", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1m"}}}
    spec["initContainers"] = [{"name": "setup", "image": "i"}, proxy]
    status["initContainerStatuses"] = [{"name": "proxy", "restartCount": 3, "resources": {"requests": {"cpu": "2m"}}}]
    lines = rendered(pod_table(evidence(body).store, []))
    assert lines[1:] == [
        "web-a node-1 Running 0 -/400m/4 -/100Mi/200Mi",
        "web-a node-1 Running 0 -/1m/- -/-/-",
        "web-a node-1 Running 3 -/2m/- -/-/-",
    ]


def test_many_pods_are_counted_only() -> None:
    store = evidence(*(pod(f"web-{number:02}") for number in range(MOST_PODS + 3))).store
    assert rendered(pod_table(store, []))[-1] == "and 3 more"


def test_recommendations() -> None:
    assert rendered(recommendation_table(evidence(vpa()).store)) == [
        "VPA container lower target upper uncapped",
        "web main 25m/- 400m/100Mi 1/- -/-",
        "web side -/- 5m/- -/- -/-",
    ]
