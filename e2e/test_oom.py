"""A real out-of-memory kill raises the recommendation by upstream's rule (recommender:2.3, recommender:8.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, installed, vpa
from e2e.workloads import amounts, container, deployment

_INTERVAL_SECONDS = 10.0
# Two rounds; the rest is for the watches and for asking once a second.
_TWO_ROUNDS_SECONDS = 2 * _INTERVAL_SECONDS + 3.0
_FLAGS = (f"--recommender-interval={_INTERVAL_SECONDS:g}s", "--pod-recommendation-min-memory-mb=10")
# The request of 64Mi and 100Mi are 171966464 bytes; the end of their bucket with the margin of 15 % is the target.
_NEED = 203699302
_KILL = "sleep 25; exec tail /dev/zero"


@dataclass(frozen=True, slots=True)
class Hungry:
    """A workload that fills its memory, and its VPA."""

    kube: Kube
    group: Group


@pytest.fixture(params=["evenkeel", "upstream"])
def hungry(cluster: Cluster, kube: Kube, request: pytest.FixtureRequest) -> Iterator[Hungry]:
    """Install Evenkeel in a profile and deploy the workload with a VPA that only recommends."""
    group = Group.OWN
    with installed(cluster, group, Flags(all=(f"--profile={request.param}",), recommender=_FLAGS)):
        resources = amounts("10m", "64Mi", limit_cpu="500m", limit_memory="96Mi")
        scaler = vpa(group, "hungry", [{"containerName": "*"}])
        spec = scaler["spec"]
        assert isinstance(spec, dict)
        spec["updatePolicy"] = {"updateMode": "Off"}
        kube.apply(deployment("hungry", container(_KILL, resources)), scaler)
        kube.wait_for_pods("app=hungry")
        yield Hungry(kube, group)


def memory_target(hungry: Hungry) -> int:
    """Return the recommended memory in bytes, 0 for none."""
    status = hungry.kube.read(hungry.group.resource, "hungry")
    entries = objects_at(status, "status", "recommendation", "containerRecommendations")
    return Quantity.parse(text_at(entries[0], "target", "memory")).value() if entries else 0


def kill_of(hungry: Hungry) -> JsonObject | None:
    """Return how the container was killed last, None before it was."""
    (pod,) = hungry.kube.pods("app=hungry")
    status = objects_at(pod, "status", "containerStatuses")[0]
    for state in ("state", "lastState"):
        terminated = at(status, state, "terminated")
        if isinstance(terminated, dict) and terminated.get("reason") == "OOMKilled":
            return terminated
    return None


def test_a_real_kill_raises_the_target_within_two_rounds(hungry: Hungry, capsys: pytest.CaptureFixture[str]) -> None:
    kube = hungry.kube
    kill = kube.wait_for(lambda: kill_of(hungry), "the kill", timeout_seconds=90)
    before = memory_target(hungry)
    killed = datetime.fromisoformat(text_at(kill, "finishedAt")).timestamp()

    def raised() -> float | None:
        assert memory_target(hungry) >= _NEED
        return time.time() - killed

    took = kube.wait_for(raised, "the raised target", timeout_seconds=60)
    assert memory_target(hungry) == _NEED, "by the kill's request alone: the metrics API saw no larger use"
    assert took <= _TWO_ROUNDS_SECONDS
    with capsys.disabled():
        print(f"\nkilled at a limit of 96Mi: target {before} became {_NEED} within {took:.1f} s")
