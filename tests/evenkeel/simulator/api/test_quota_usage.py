"""What objects count for in quotas."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.quota_usage import unset_by_containers, usage_of
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, rfc3339
from tests.evenkeel.simulator.api.wire import container, pod


def kind(group: str, plural: str) -> Kind:
    found = ApiServer().registry.at(group, "v1", plural)
    assert found is not None
    return found


def shown(kind_: Kind, body: JsonObject) -> dict[str, str]:
    return {name: str(amount) for name, amount in usage_of(kind_, body, EPOCH).items()}


def rich() -> JsonObject:
    requests: JsonObject = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi", "example.dev/gpu": "1"}
    limits: JsonObject = {"cpu": "2", "hugepages-2Mi": "4Mi", "example.dev/gpu": "1"}
    return pod("a", container(requests=requests | {"hugepages-2Mi": "4Mi"}, limits=limits))


def test_a_pod_counts_under_every_name_of_its_resources() -> None:
    assert shown(kind("", "pods"), rich()) == {
        "count/pods": "1",
        "pods": "1",
        "requests.cpu": "1",
        "cpu": "1",
        "requests.memory": "1Gi",
        "memory": "1Gi",
        "requests.ephemeral-storage": "2Gi",
        "ephemeral-storage": "2Gi",
        "requests.example.dev/gpu": "1",
        "requests.hugepages-2Mi": "4Mi",
        "hugepages-2Mi": "4Mi",
        "limits.cpu": "2",
    }


@pytest.mark.parametrize(
    ("row", "phase", "going_for", "counts"),
    [
        ("running", "Running", None, True),
        ("succeeded", "Succeeded", None, False),
        ("failed", "Failed", None, False),
        ("going, in its grace", "Running", timedelta(0), True),
        ("going, at the end of its grace", "Running", timedelta(seconds=30), True),
        ("going, beyond its grace", "Running", timedelta(seconds=31), False),
    ],
)
def test_a_pod_stops_counting_when_it_ends(row: str, phase: str, going_for: timedelta | None, counts: bool) -> None:
    made = pod() | {"status": {"phase": phase}}
    if going_for is not None:
        metadata = {"deletionTimestamp": rfc3339(EPOCH - going_for), "deletionGracePeriodSeconds": 30}
        child(made, "metadata").update(metadata)
    assert ("pods" in shown(kind("", "pods"), made)) is counts, row
    assert shown(kind("", "pods"), made)["count/pods"] == "1", row


@pytest.mark.parametrize(
    ("row", "group", "plural", "names"),
    [
        ("core kind with a name of its own", "", "secrets", ["count/secrets", "secrets"]),
        ("core kind without", "", "serviceaccounts", ["count/serviceaccounts"]),
        ("kind of a group", "apps", "deployments", ["count/deployments.apps"]),
    ],
)
def test_other_objects_are_counted(row: str, group: str, plural: str, names: list[str]) -> None:
    assert shown(kind(group, plural), {}) == dict.fromkeys(names, "1"), row


def test_what_every_container_must_set() -> None:
    made = pod("a", container("a", requests={"cpu": "1"}), container("b", limits={"cpu": "1"}))
    child(made, "spec")["initContainers"] = [container("c", requests={"cpu": "1"}, limits={"cpu": "1"})]
    assert unset_by_containers(["pods", "limits.cpu", "cpu", "requests.cpu"], made) == [
        "cpu for: b",
        "limits.cpu for: a",
        "requests.cpu for: b",
    ]
    child(made, "spec")["resources"] = {"limits": {"cpu": "3"}}
    assert unset_by_containers(["limits.cpu"], made) == []
