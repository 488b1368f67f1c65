"""Memory limits that fall step by step, and never below what a container really uses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Installation, restarts
from e2e.updater_lab import Lab, PodWatch, Workload, name_of, uid_of, updater_installed
from e2e.workloads import amounts

MEBIBYTE = 2**20
PAGE = 4096
HELD = 150 * MEBIBYTE
# A tenth of use stays free on top of it, and less is measured than is held when dd has just begun.
LEAST_WHILE_HELD = HELD * 11 // 10
# What a shell that does nothing is measured to use at most, with the least margin of 16Mi.
LEAST_WHEN_IDLE = 16 * MEBIBYTE
_METRICS_SECONDS = 60.0

# The buffer of dd is memory that nothing can take away from it. Its output is not read until the file appears.
HOLDING = (
    f"dd if=/dev/zero bs={HELD} count=1 2>/dev/null | (while [ ! -e /tmp/enough ]; do sleep 1; done); "
    "while :; do sleep 1; done"
)


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with its own way of doing things."""
    with updater_installed(cluster) as running:
        yield running


def limit_of(pod: JsonObject) -> int:
    """Return the memory limit in the spec of a pod's container, in bytes."""
    return Quantity.parse(text_at(pod, "spec", "containers", 0, "resources", "limits", "memory")).value()


def limits_in(seen: PodWatch) -> list[int]:
    """Return the limits that pods had in their spec, one after the other."""
    limits: list[int] = []
    for now in seen.instants():
        for pod in now.values():
            if limit_of(pod) not in limits[-1:]:
                limits.append(limit_of(pod))
    return limits


def test_a_limit_follows_use_down_in_steps(installation: Installation, kube: Kube) -> None:
    """Rows beyond:B-22, case:29, updater K-7: nothing restarts and nothing is evicted."""
    lab = Lab(kube, installation)
    resources = amounts("50m", "400Mi", limit_cpu="500m", limit_memory="600Mi")
    with lab.watching() as seen:
        (old,) = lab.deploy("holder", Workload(resources, script=HOLDING, controlled=("memory",), keeps_ratio=True))
        lab.recommend("holder", "50m", "60Mi")
        lab.wait_for_reason(old, "memory_in_use", timeout_seconds=_METRICS_SECONDS)
        halved, kept = (limit for limit in limits_in(seen) if limit < 600 * MEBIBYTE)
        assert halved == 300 * MEBIBYTE
        assert LEAST_WHILE_HELD <= kept < halved
        assert kube.events(name_of(old), "ResizeError") == []

        kube.run("exec", name_of(old), "--", "touch", "/tmp/enough")
        lab.wait_until_given("holder", {"memory": "60Mi"}, timeout_seconds=_METRICS_SECONDS)
    steps = limits_in(seen)
    assert steps == sorted(steps, reverse=True), "it only ever falls"
    # Each step rounds the request up, so the ratio to it loses a byte or two on the way.
    assert 0 <= 90 * MEBIBYTE - steps[-1] < PAGE, "its ratio to the request is kept"
    assert all(after >= max(before // 2, LEAST_WHEN_IDLE) for before, after in pairwise(steps))
    pod = lab.only_pod("holder")
    assert (uid_of(pod), restarts(pod)) == (uid_of(old), 0)
    # What the kubelet knows of the whole pod's use may be some seconds older than what it tells of the container's.
    refusals = [event.message for event in kube.events(name_of(old), "ResizeError")]
    assert not [message for message in refusals if "container" in message.partition("cannot decrease")[2]]
    in_force = text_at(pod, "status", "containerStatuses", 0, "resources", "limits", "memory")
    assert 0 <= steps[-1] - Quantity.parse(in_force).value() < PAGE
    assert {entry.code for entry in lab.calls("resize")} == {200}
    assert lab.calls("eviction") == []
    lab.assert_well()
