"""What a pod counts for: the rule of the largest, pod sums, overhead and pod-level resources."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.pod_amounts import (
    effective_limits,
    effective_requests,
    is_infeasible,
    largest,
    spec_limits,
    spec_requests,
)
from tests.evenkeel.simulator.api.wire import container

INFEASIBLE: JsonObject = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED: JsonObject = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def one(spec: JsonObject, status: JsonObject | None, *conditions: JsonObject) -> JsonObject:
    """A pod of one container with requests in its spec, and resources in its status."""
    statuses: list[JsonObject] = [] if status is None else [{"name": "app"} | status]
    return {
        "spec": {"containers": [container(requests=spec, limits=spec)]},
        "status": {"containerStatuses": statuses, "conditions": list(conditions)},
    }


def status(actual: str, allocated: str) -> JsonObject:
    return {
        "resources": {"requests": {"cpu": actual}, "limits": {"cpu": actual}},
        "allocatedResources": {"cpu": allocated},
    }


@pytest.mark.parametrize(
    ("row", "pod", "requests", "limits"),
    [
        ("desired is largest", one({"cpu": "3"}, status("1", "2")), "3", "3"),
        ("allocated is largest", one({"cpu": "1"}, status("2", "3")), "3", "2"),
        ("actual is largest", one({"cpu": "1"}, status("3", "2")), "3", "3"),
        ("deferred counts desired", one({"cpu": "3"}, status("1", "1"), DEFERRED), "3", "3"),
        ("infeasible leaves desired out", one({"cpu": "3"}, status("1", "2"), INFEASIBLE), "2", "1"),
        ("status without resources", one({"cpu": "1"}, {"allocatedResources": {"cpu": "2"}}), "1", "1"),
        ("no status", one({"cpu": "1"}, None), "1", "1"),
        ("infeasible without status", one({"cpu": "3"}, None, INFEASIBLE), "3", "3"),
        ("empty resources count as reported", one({"cpu": "3"}, {"resources": {}}, INFEASIBLE), "None", "None"),
    ],
)
def test_the_largest_of_desired_allocated_and_actual_counts(
    row: str, pod: JsonObject, requests: str, limits: str
) -> None:
    """Spec: in-place-resize 2."""
    assert str(effective_requests(pod).get("cpu")) == requests, row
    assert str(effective_limits(pod).get("cpu")) == limits, row


def sidecar(name: str, cpu: str) -> JsonObject:
    return container(name, requests={"cpu": cpu}, limits={"cpu": cpu}) | {"restartPolicy": "Always"}


def setup(name: str, cpu: str) -> JsonObject:
    return container(name, requests={"cpu": cpu}, limits={"cpu": cpu})


@pytest.mark.parametrize(
    ("row", "init", "total"),
    [
        ("no init containers", [], "1"),
        ("a small one does not count", [setup("a", "500m")], "1"),
        ("a large one counts instead", [setup("a", "2")], "2"),
        ("a sidecar counts beside", [sidecar("s", "300m")], "1300m"),
        ("a sidecar before a large one counts beside it", [sidecar("s", "300m"), setup("a", "2")], "2300m"),
        ("a sidecar after a large one does not", [setup("a", "2"), sidecar("s", "300m")], "2"),
        ("several sidecars add up", [sidecar("s", "1"), sidecar("t", "1")], "3"),
    ],
)
def test_init_containers_count_only_beside_what_runs_with_them(row: str, init: list[JsonObject], total: str) -> None:
    pod: JsonObject = {"spec": {"containers": [setup("app", "1")], "initContainers": init}}
    assert str(spec_requests(pod)["cpu"]) == total, row
    assert str(effective_requests(pod)["cpu"]) == total, row
    assert str(spec_limits(pod)["cpu"]) == total, row


def test_a_sidecar_is_read_from_its_status_and_a_plain_init_container_from_its_spec() -> None:
    grown = {"resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"cpu": "5"}}
    pod: JsonObject = {
        "spec": {"containers": [setup("app", "1")], "initContainers": [sidecar("s", "1"), setup("a", "1")]},
        "status": {"initContainerStatuses": [{"name": "s"} | grown, {"name": "a"} | grown]},
    }
    assert str(effective_requests(pod)["cpu"]) == "6"


def test_pod_level_resources_replace_the_sum_and_overhead_comes_on_top() -> None:
    pod: JsonObject = {
        "spec": {
            "containers": [container(requests={"cpu": "1", "example.dev/gpu": "1"})],
            "resources": {"requests": {"cpu": "3", "example.dev/gpu": "9"}, "limits": {"cpu": "4"}},
            "overhead": {"cpu": "100m", "memory": "16Mi"},
        }
    }
    assert {name: str(amount) for name, amount in spec_requests(pod).items()} == {
        "cpu": "3100m",
        "example.dev/gpu": "1",
        "memory": "16Mi",
    }
    assert {name: str(amount) for name, amount in spec_limits(pod).items()} == {"cpu": "4100m"}


def test_only_a_pending_resize_can_be_infeasible() -> None:
    assert not is_infeasible({"status": {"conditions": [{"type": "PodResizeInProgress", "reason": "Infeasible"}]}})
    assert is_infeasible({"status": {"conditions": [INFEASIBLE]}})


def test_the_largest_of_nothing_is_nothing() -> None:
    assert largest() == {}
