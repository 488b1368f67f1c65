"""Pods as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.pod import ConditionStatus, Pod, PodPhase
from autoscaling.sidecars import with_sidecars
from autoscaling.wire.pods import (
    decode_placed_pod,
    decode_placed_pod_outline,
    decode_placed_pod_outline_with_sidecars,
    decode_placed_pod_with_sidecars,
    decode_pod,
    decode_pod_outline,
    decode_pod_outline_with_sidecars,
    decode_pod_with_sidecars,
)
from tests.builders import printed

POD: dict[str, object] = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"app": "a"},
        "annotations": {},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "x", "controller": True}
        ],
        "managedFields": [{"manager": "m"}],
    },
    "spec": {
        "nodeName": "n",
        "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "50m", "memory": 33554432}, "limits": {"cpu": 0.5}},
                "resizePolicy": [
                    {"resourceName": "cpu", "restartPolicy": "NotRequired"},
                    {"resourceName": "memory", "restartPolicy": "RestartContainer"},
                ],
            },
            {"name": "bare", "resources": {}},
        ],
    },
    "status": {
        "phase": "Running",
        "qosClass": "Burstable",
        "startTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 2,
        "conditions": [
            {
                "type": "PodResizePending",
                "status": "True",
                "reason": "Deferred",
                "message": "m",
                "observedGeneration": 3,
            },
            {"type": "Odd", "status": "Maybe", "reason": None},
        ],
        "containerStatuses": [
            {
                "name": "c",
                "ready": True,
                "restartCount": 2,
                "resources": {"requests": {"cpu": "50m"}},
                "allocatedResources": {"cpu": "60m"},
                "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}},
                "lastState": {
                    "terminated": {
                        "reason": "OOMKilled",
                        "exitCode": 137,
                        "startedAt": "2026-01-01T00:00:00Z",
                        "finishedAt": "2026-01-01T00:00:05.5Z",
                    },
                },
            },
        ],
    },
}


def test_every_field_that_is_used() -> None:
    pod = decode_pod(json.dumps(POD).encode())
    assert str(pod.ref) == "Pod ns/p"
    assert (pod.uid, pod.resource_version, pod.generation, pod.observed_generation) == ("u", "7", 3, 2)
    assert pod.annotations == {}, "an empty map is present"
    assert (pod.owners[0].kind, pod.owners[0].controller) == ("ReplicaSet", True)
    assert (pod.phase, pod.node_name, pod.qos_class) == (PodPhase.RUNNING, "n", "Burstable")
    assert pod.start_time == datetime(2026, 1, 1, tzinfo=UTC)
    assert [(c.is_sidecar, c.init_position) for c in pod.init_containers] == [(True, 0), (False, 1)]
    assert [(c.is_sidecar, c.init_position) for c in pod.containers] == [(False, None), (False, None)]
    assert pod.init_statuses == ()
    container, bare = pod.containers
    assert printed(container.resources.requests or {}) == {"cpu": "50m", "memory": "33554432"}
    assert printed(container.resources.limits or {}) == {"cpu": "500m"}
    assert [(p.resource, p.restarts_container) for p in container.resize_policy] == [("cpu", False), ("memory", True)]
    assert bare.resources.requests is None
    pending, odd = pod.conditions
    assert (pending.reason, pending.observed_generation) == ("Deferred", 3)
    assert odd.status is ConditionStatus.UNKNOWN
    status = pod.status_of("c")
    assert status is not None
    assert (status.restart_count, status.is_running, status.is_ready, status.terminated) == (2, True, True, None)
    assert status.last_terminated is not None
    assert status.last_terminated.reason == "OOMKilled"
    assert status.last_terminated.finished_at == datetime(2026, 1, 1, 0, 0, 5, 500000, tzinfo=UTC)
    assert pod.actual_resources(container).limits is None, "updater:P-3: the reported resources count whole"
    assert pod.actual_resources(bare) == bare.resources, "updater:P-3"
    assert pod.condition("Ready") is None


def with_init(statuses: object, restart_policy: str | None = "Always") -> bytes:
    """Return a pod with the init containers setup and proxy, in this order."""
    proxy = {"name": "proxy", "resources": {"requests": {"cpu": "10m"}}} | (
        {"restartPolicy": restart_policy} if restart_policy else {}
    )
    spec = {"initContainers": [{"name": "setup"}, proxy], "containers": [{"name": "app", "restartPolicy": "Always"}]}
    return json.dumps({"spec": spec, "status": {"initContainerStatuses": statuses}}).encode()


STATUSES = [{"name": "setup", "restartCount": 1}, {"name": "proxy", "restartCount": 2, "resources": {}}]


def test_statuses_of_init_containers_are_read_where_one_is_a_sidecar() -> None:
    """Spec: beyond:B-16."""
    pod = decode_pod(with_init(STATUSES))
    assert [(s.name, s.restart_count) for s in pod.init_statuses] == [("setup", 1), ("proxy", 2)]
    assert [c.name for c in pod.containers] == ["app"]
    assert not pod.containers[0].is_sidecar, "regular containers may say Always, too"
    assert decode_pod(with_init(STATUSES, None)).init_statuses == ()
    assert decode_pod(with_init("nobody reads this", None)).init_statuses == ()
    assert decode_pod(with_init(None)).init_statuses == ()
    with pytest.raises(InvalidObjectError, match="Expected `array"):
        decode_pod(with_init("wrong"))


def test_sidecars_count_as_containers_for_those_who_want_it() -> None:
    """Spec: beyond:B-16, case:26."""
    pod = decode_pod_with_sidecars(with_init(STATUSES))
    assert [(c.name, pod.path_of(i)) for i, c in enumerate(pod.containers)] == [
        ("app", "/spec/containers/0"),
        ("proxy", "/spec/initContainers/1"),
    ]
    assert [s.name for s in pod.statuses] == ["proxy"]
    assert decode_pod_with_sidecars(json.dumps(POD).encode()).containers[-1].name == "side"


@pytest.mark.parametrize("raw", [with_init(STATUSES), with_init(STATUSES, None), b'{"spec": {"containers": [{}]}}'])
def test_both_ways_of_counting_sidecars_agree(raw: bytes) -> None:
    """Spec: beyond:B-16."""
    assert decode_pod_with_sidecars(raw) == with_sidecars(decode_pod(raw))
    assert not decode_pod(raw).counts_sidecars


@pytest.mark.parametrize("raw", [json.dumps(POD).encode(), with_init(STATUSES), with_init(STATUSES, None), b"{}"])
def test_an_outline_lacks_what_differs_from_pod_to_pod_and_nothing_else(raw: bytes) -> None:
    """Spec: performance R-5."""
    plain, counting = decode_pod(raw), decode_pod_with_sidecars(raw)
    assert decode_pod_outline(raw) == _outline(plain)
    assert decode_pod_outline_with_sidecars(raw) == _outline(counting)


@pytest.mark.parametrize("raw", [json.dumps(POD).encode(), with_init(STATUSES), with_init(STATUSES, None), b"{}"])
def test_an_outline_may_tell_where_the_pod_may_run(raw: bytes) -> None:
    """Spec: beyond:B-11."""
    placed = decode_placed_pod_outline(raw)
    assert placed == _outline(decode_placed_pod(raw))
    assert placed.placement is not None
    assert decode_placed_pod_outline_with_sidecars(raw) == _outline(decode_placed_pod_with_sidecars(raw))


def _outline(pod: Pod) -> Pod:
    return replace(pod, annotations=None, conditions=(), start_time=None)


def test_an_almost_empty_pod() -> None:
    pod = decode_pod(b'{"metadata": {"generateName": "web-"}, "spec": {"containers": null}}')
    assert (pod.name, pod.annotations, pod.containers, pod.phase) == ("web-%", None, (), PodPhase.UNKNOWN)
    assert (pod.labels, pod.owners, pod.statuses, pod.conditions) == ({}, (), (), ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5x"}}}]}},
            r"Pod ns/p: quantity '5x'",
        ),
        ({"spec": {"containers": "c"}}, r"Pod ns/p: Expected `array.*spec\.containers"),
        ({"status": {"startTime": "yesterday"}}, r"Pod ns/p: .*status\.startTime"),
        ({"status": {"conditions": [{"type": 1}]}}, r"Pod ns/p: Expected `str`.*\[0\]\.type` in status\.conditions"),
        ({"metadata": []}, r"Pod \(unreadable\)"),
    ],
)
def test_a_bad_pod_is_named_with_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidObjectError, match=message):
        decode_pod(json.dumps({**POD, **change}).encode())


def test_what_is_no_json_is_an_error_too() -> None:
    with pytest.raises(InvalidObjectError, match="unreadable"):
        decode_pod(b"{")


@pytest.mark.parametrize(
    ("row", "entries", "expected"),
    [
        ("beyond:B-20", None, None),
        ("beyond:B-20", [], None),
        ("beyond:B-20", [{}], None),
        ("beyond:B-20", [{"subresource": "status", "time": "2026-01-01T00:00:01Z"}], None),
        ("beyond:B-20", [{"manager": "resize", "time": "2026-01-01T00:00:01Z"}], None),
        ("beyond:B-20", [{"subresource": "resize"}], None),
        ("beyond:B-20", [{"subresource": "resize", "time": "2026-01-01T00:00:01Z", "fieldsV1": {"f:spec": {}}}], 1),
        (
            "beyond:B-20",
            [
                {"manager": "a", "subresource": "resize", "time": "2026-01-01T00:00:02Z"},
                {"manager": "b", "subresource": "resize", "time": "2026-01-01T00:00:03Z"},
                {"manager": "c", "subresource": "resize", "time": "2026-01-01T00:00:01Z"},
                {"manager": "kubelet", "subresource": "status", "time": "2026-01-01T00:00:09Z"},
            ],
            3,
        ),
    ],
)
def test_when_the_last_resize_was_taken(row: str, entries: object, expected: int | None) -> None:
    raw = json.dumps({"metadata": {"name": "p", "managedFields": entries}}).encode()
    at = None if expected is None else datetime(2026, 1, 1, 0, 0, expected, tzinfo=UTC)
    assert decode_pod(raw).resized_at == at, row
    assert decode_placed_pod_with_sidecars(raw).resized_at == at, row
    assert decode_pod_outline(raw).resized_at is None
