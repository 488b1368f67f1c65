"""Parts of pods that many pods have in common."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.pod import Pod
from autoscaling.wire.pods import decode_pod
from tests.builders import printed

RUNNING = {"running": {"startedAt": "2026-01-01T00:00:01Z"}}
ENDED = {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-01-01T00:00:05Z"}}


def status(cpu: str = "1", restarts: int = 0, **states: object) -> dict[str, object]:
    """Return a container's status."""
    return {
        "name": "c",
        "restartCount": restarts,
        "resources": {"requests": {"cpu": cpu}},
        "allocatedResources": {"cpu": cpu},
        "state": RUNNING,
        **states,
    }


def pod(
    name: str, cpu: str = "1", owner: str = "rs", reported: dict[str, object] | None = None, **metadata: object
) -> bytes:
    """Return one of several replicas."""
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": "u", "controller": True}]
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}, "resizePolicy": [{"resourceName": "cpu"}]}
    volume = {"volumeMounts": [{"name": f"kube-api-access-{name}"}]}
    return json.dumps(
        {
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": "a"}, "ownerReferences": owners} | metadata,
            "spec": {"nodeName": f"node-of-{name}", "containers": [container | volume], "initContainers": [container]},
            "status": {"containerStatuses": [reported or status(cpu)]},
        }
    ).encode()


PARTS: list[Callable[[Pod], object]] = [
    lambda each: each.labels,
    lambda each: each.owners,
    lambda each: each.containers,
    lambda each: each.init_containers,
    lambda each: each.statuses,
    lambda each: each.containers[0].resources,
]


@pytest.mark.parametrize("part", PARTS)
def test_replicas_hold_one_value_of_what_they_have_in_common(part: Callable[[Pod], object]) -> None:
    """Spec: performance R-5."""
    one, other = decode_pod(pod("p-1")), decode_pod(pod("p-2"))
    assert part(one) is part(other)
    assert (one.name, other.name) == ("p-1", "p-2")


def test_requests_and_what_is_in_force_are_one_value() -> None:
    """Spec: performance R-5."""
    one = decode_pod(pod("p"))
    assert one.statuses[0].resources is one.containers[0].resources is one.init_containers[0].resources
    assert [c.init_position for c in (*one.containers, *one.init_containers)] == [None, 0]


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (pod("p", labels={"app": "b"}), PARTS[0]),
        (pod("p", owner="rs-2"), PARTS[1]),
        (pod("p", "2"), PARTS[2]),
        (pod("p", "2"), PARTS[3]),
        (pod("p", reported=status("2")), PARTS[4]),
        (pod("p", reported=status(allocatedResources={"cpu": "2"})), PARTS[4]),
        (pod("p", reported=status(restarts=1)), PARTS[4]),
        (pod("p", reported=status(ready=True)), PARTS[4]),
        (pod("p", reported=status(name="d")), PARTS[4]),
        (pod("p", reported=status(state={"waiting": {}})), PARTS[4]),
        (pod("p", reported=status(state=ENDED)), PARTS[4]),
        (pod("p", reported=status(lastState=ENDED)), PARTS[4]),
    ],
)
def test_what_differs_is_told_apart(other: bytes, part: Callable[[Pod], object]) -> None:
    assert part(decode_pod(other)) != part(decode_pod(pod("p")))


def test_equal_amounts_keep_the_notation_that_each_was_written_in() -> None:
    """Spec: api:6."""
    whole, milli = decode_pod(pod("p-1", "1")), decode_pod(pod("p-2", "1000m"))
    assert whole.containers == milli.containers
    assert printed(whole.containers[0].resources.requests or {}) == {"cpu": "1"}
    assert printed(milli.containers[0].resources.requests or {}) == {"cpu": "1"}
    assert whole.containers is not milli.containers
    binary, plain = decode_pod(pod("p-1", "1Ki")), decode_pod(pod("p-2", "1024"))
    assert printed(binary.containers[0].resources.requests or {}) == {"cpu": "1Ki"}
    assert printed(plain.containers[0].resources.requests or {}) == {"cpu": "1024"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (pod("p", labels={"app": 1}), r"Pod ns/p: Expected `str`.*in metadata\.labels"),
        (pod("p", ownerReferences=[{"kind": "Job"}]), r"Pod ns/p: .*`name`.*in metadata\.ownerReferences"),
        (pod("p", reported=status(resources=[])), r"Pod ns/p: Expected `object.*in a container's resources"),
        (pod("p", reported=status(allocatedResources="1")), r"Pod ns/p: .*in a container's allocatedResources"),
        (pod("p", reported=status(state={"terminated": {"exitCode": "1"}})), r"Pod ns/p: .*in a container's state"),
        (pod("p", reported=status("1cpu")), r"Pod ns/p: quantity '1cpu'"),
    ],
)
def test_a_bad_part_is_named_each_time_it_comes(bad: bytes, message: str) -> None:
    for _ in range(2):
        with pytest.raises(InvalidObjectError, match=message):
            decode_pod(bad)
