"""What tables say about pods in many states, as a real server of version 1.35.4 says it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, ensure
from evenkeel.simulator.api.pod_columns import POD_COLUMNS
from evenkeel.simulator.api.tables import Shown
from evenkeel.simulator.clock import EPOCH

NOW = EPOCH + timedelta(days=333)
RUNNING: JsonObject = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def container(name: str, state: JsonObject, *, ready: bool = False, restarts: int = 0, **more: object) -> JsonObject:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": {}, **more}


def ended(reason: str, code: int = 1, signal: int = 0) -> JsonObject:
    return {"terminated": {"reason": reason, "exitCode": code, "signal": signal, "finishedAt": "2026-11-29T00:00:00Z"}}


def waiting(reason: str) -> JsonObject:
    return {"waiting": {"reason": reason}}


SIDE = container("side", RUNNING, ready=True, restarts=2)
INIT_DONE = container("i1", ended("Completed", 0), ready=True, restarts=1)


def conditions(status: str) -> list[JsonObject]:
    return [{"type": "Ready", "status": status}]


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        ({"phase": "Pending"}, ["0/2", "Pending", "0"]),
        (
            {"phase": "Running", "containerStatuses": [container("app", RUNNING, ready=True), SIDE]},
            ["2/2", "Running", "2"],
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [container("app", waiting("CrashLoopBackOff"), restarts=3), SIDE],
            },
            ["1/2", "CrashLoopBackOff", "5"],
        ),
        (
            {"phase": "Running", "containerStatuses": [container("app", ended("OOMKilled", 137), restarts=3), SIDE]},
            ["1/2", "OOMKilled", "5"],
        ),
        ({"phase": "Running", "containerStatuses": [container("app", ended("", 3)), SIDE]}, ["1/2", "ExitCode:3", "2"]),
        (
            {"phase": "Running", "containerStatuses": [container("app", ended("", 3, 9)), SIDE]},
            ["1/2", "Signal:9", "2"],
        ),
        (
            {"phase": "Succeeded", "containerStatuses": [container(n, ended("Completed", 0)) for n in ("app", "side")]},
            ["0/2", "Completed", "0"],
        ),
        (
            {
                "phase": "Running",
                "conditions": conditions("True"),
                "containerStatuses": [container("app", ended("Completed", 0)), SIDE],
            },
            ["1/2", "Running", "2"],
        ),
        (
            {
                "phase": "Running",
                "conditions": conditions("False"),
                "containerStatuses": [container("app", ended("Completed", 0)), SIDE],
            },
            ["1/2", "NotReady", "2"],
        ),
        ({"phase": "Failed", "reason": "Evicted"}, ["0/2", "Evicted", "0"]),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            ["0/2", "SchedulingGated", "0"],
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container("i1", waiting("PodInitializing"), restarts=1)]},
            ["0/2", "Init:0/2", "1"],
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [INIT_DONE, container("i2", ended("Error", 1))]},
            ["0/2", "Init:Error", "1"],
        ),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [INIT_DONE, container("i2", waiting("CrashLoopBackOff"), restarts=4)],
            },
            ["0/2", "Init:CrashLoopBackOff", "5"],
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    container("app", RUNNING, ready=True, restarts=2, lastState=ended("OOMKilled", 137)),
                    SIDE,
                ],
            },
            ["2/2", "Running", "4 (24h ago)"],
        ),
    ],
)
def test_states(status: JsonObject, cells: list[str]) -> None:
    assert shown(status)[1:4] == cells


def shown(status: JsonObject, **metadata: object) -> list[object]:
    spec: JsonObject = {
        "containers": [{"name": "app"}, {"name": "side"}],
        "initContainers": [{"name": "i1"}, {"name": "i2"}] if "initContainerStatuses" in status else [],
        "nodeName": "n1",
    }
    body: JsonObject = {"metadata": {"name": "p", **metadata}, "spec": spec, "status": status}
    return [column.cell(Shown(body, NOW)) for column in POD_COLUMNS]


def test_a_sidecar_counts_as_a_container() -> None:
    body: JsonObject = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "app"}],
            "initContainers": [{"name": "i1", "restartPolicy": "Always"}, {"name": "i2"}],
        },
        "status": {
            "phase": "Running",
            "initContainerStatuses": [
                container("i1", RUNNING, ready=True, restarts=1, started=True),
                container("i2", ended("Completed", 0), restarts=7),
            ],
            "containerStatuses": [container("app", RUNNING, ready=True, restarts=2)],
        },
    }
    cells = [column.cell(Shown(body, NOW)) for column in POD_COLUMNS]
    assert cells[1:4] == ["2/2", "Running", "3"]
    status = ensure(body, "status")
    status["initContainerStatuses"] = [container("i1", RUNNING, restarts=1, started=False)]
    assert [column.cell(Shown(body, NOW)) for column in POD_COLUMNS][1:4] == ["0/2", "Init:0/2", "1"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
    ],
)
def test_deleted_pods(status: JsonObject, reason: str) -> None:
    assert shown(status, deletionTimestamp="2026-01-01T00:00:30Z")[2] == reason


def test_wide_cells() -> None:
    body: JsonObject = {
        "metadata": {"name": "p", "creationTimestamp": "2026-11-29T23:00:00Z"},
        "spec": {"containers": [{"name": "app"}], "nodeName": "n1", "readinessGates": [{"conditionType": "g"}]},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "g", "status": "True"}]},
    }
    cells = [column.cell(Shown(body, NOW)) for column in POD_COLUMNS]
    assert cells[4:] == ["60m", "10.0.0.1", "n1", "<none>", "1/1"]
    assert shown({})[5:] == ["<none>", "n1", "<none>", "<none>"]
    headings = [(column.name, column.priority) for column in POD_COLUMNS]
    assert headings[:5] == [(name, 0) for name in ("Name", "Ready", "Status", "Restarts", "Age")]
    assert headings[5:] == [(name, 1) for name in ("IP", "Node", "Nominated Node", "Readiness Gates")]
