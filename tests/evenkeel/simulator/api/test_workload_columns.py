"""What tables say about workloads, as a real server of version 1.35.4 says it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.tables import Column, Shown
from evenkeel.simulator.api.workload_columns import (
    AUTOSCALER_COLUMNS,
    CRON_JOB_COLUMNS,
    DAEMON_SET_COLUMNS,
    DEPLOYMENT_COLUMNS,
    JOB_COLUMNS,
    REPLICA_SET_COLUMNS,
    REVISION_COLUMNS,
    STATEFUL_SET_COLUMNS,
)
from evenkeel.simulator.clock import EPOCH

NOW = EPOCH + timedelta(minutes=5)
META: JsonObject = {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}
CONTAINERS: list[JsonObject] = [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]
TEMPLATE: JsonObject = {"spec": {"containers": CONTAINERS, "nodeSelector": {"z": "1", "disk": "ssd"}}}
SELECTOR: JsonObject = {
    "matchLabels": {"app": "x"},
    "matchExpressions": [{"key": "t", "operator": "In", "values": ["b", "a"]}],
}
WIDE = ["a,b", "i:1,j:2"]


def cells(columns: tuple[Column, ...], spec: JsonObject, status: JsonObject, **more: object) -> list[object]:
    body: JsonObject = {"metadata": META, "spec": spec, "status": status, **more}
    return [column.cell(Shown(body, NOW)) for column in columns]


def test_controllers_of_replicas() -> None:
    spec: JsonObject = {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}
    status: JsonObject = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}
    selector = "app=x,t in (a,b)"
    assert cells(DEPLOYMENT_COLUMNS, spec, status) == ["x", "2/3", 1, 2, "5m", *WIDE, selector]
    assert cells(REPLICA_SET_COLUMNS, spec, status) == ["x", 3, 3, 2, "5m", *WIDE, selector]
    assert cells(STATEFUL_SET_COLUMNS, spec, status) == ["x", "2/3", "5m", *WIDE]
    assert cells(DEPLOYMENT_COLUMNS, {}, {}) == ["x", "0/0", 0, 0, "5m", "", "", "<none>"]


def test_daemon_sets() -> None:
    counted = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    status: JsonObject = {name: number for number, name in enumerate(counted, 1)}
    found = cells(DAEMON_SET_COLUMNS, {"template": TEMPLATE, "selector": {"matchLabels": {"d": "d"}}}, status)
    assert found == ["x", 1, 2, 3, 4, 5, "disk=ssd,z=1", "5m", *WIDE, "d=d"]


@pytest.mark.parametrize(
    ("owners", "controller"),
    [
        ([], "<none>"),
        ([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d"}], "<none>"),
        ([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}], "daemonset.apps/d"),
        ([{"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}], "pod/p"),
    ],
)
def test_revisions(owners: list[JsonObject], controller: str) -> None:
    body: JsonObject = {"metadata": {**META, "ownerReferences": owners}, "revision": 4}
    assert [column.cell(Shown(body, NOW)) for column in REVISION_COLUMNS] == ["x", controller, 4, "5m"]


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 1, "parallelism": 1}, {}, ["Running", "0/1", ""]),
        (
            {"completions": 3},
            {"succeeded": 2, "startTime": "2026-01-01T00:04:00Z"},
            ["Running", "2/3", "60s"],
        ),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": "2026-01-01T00:01:00Z",
                "completionTime": "2026-01-01T00:01:30Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "30s"],
        ),
        ({"completions": 1}, {"conditions": [{"type": "Failed", "status": "True"}]}, ["Failed", "0/1", ""]),
        ({"completions": 1}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
        ({"completions": 1}, {"conditions": [{"type": "Suspended", "status": "False"}]}, ["Running", "0/1", ""]),
        ({"parallelism": 3}, {"succeeded": 1}, ["Running", "1/1 of 3", ""]),
        ({"parallelism": 1}, {}, ["Running", "0/1", ""]),
    ],
)
def test_jobs(spec: JsonObject, status: JsonObject, shown: list[str]) -> None:
    found = cells(JOB_COLUMNS, {**spec, "template": TEMPLATE, "selector": {"matchLabels": {"j": "j"}}}, status)
    assert found == ["x", *shown, "5m", *WIDE, "j=j"]


def test_a_job_that_is_being_deleted() -> None:
    body: JsonObject = {"metadata": {**META, "deletionTimestamp": "2026-01-01T00:05:00Z"}}
    assert JOB_COLUMNS[1].cell(Shown(body, NOW)) == "Terminating"


def test_cron_jobs() -> None:
    spec: JsonObject = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}
    assert cells(CRON_JOB_COLUMNS, spec, {}) == ["x", "0 0 1 1 *", "<none>", "True", 0, "<none>", "5m", *WIDE, "<none>"]
    spec = {**spec, "suspend": False, "timeZone": "UTC"}
    status: JsonObject = {"lastScheduleTime": "2026-01-01T00:04:30Z", "active": [{"name": "j"}]}
    assert cells(CRON_JOB_COLUMNS, spec, status)[2:6] == ["UTC", "False", 1, "30s"]


def test_horizontal_autoscalers() -> None:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    metrics: list[JsonObject] = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
        {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "10"}}},
        {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"value": "30"}}},
    ]
    spec: JsonObject = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, "metrics": metrics}
    status: JsonObject = {
        "currentReplicas": 2,
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}},
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "current": {}}},
        ],
    }
    shown = "cpu: 40%/50%, rps: <unknown>/10, queue: <unknown>/30"
    assert cells(AUTOSCALER_COLUMNS, spec, status) == ["x", "Deployment/web", shown, "1", 3, 2, "5m"]
    assert cells(AUTOSCALER_COLUMNS, {"scaleTargetRef": target, "maxReplicas": 3}, {})[2:4] == ["<none>", "<unset>"]
