"""Recommenders that read the same past, each on a copy of the cluster of today."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.parity.process.copies import Copy, check_alive, open_copy
from e2e.parity.process.differences import first_apart
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.upstream import Upstream
from e2e.prometheus.held_time import HeldTime, held_time
from e2e.prometheus.past import CONTAINERS, TEMPLATE_HASH, PastPod, Use, write_past
from e2e.prometheus.programs import find_programs
from e2e.prometheus.server import fill, running
from evenkeel.simulator.api.fields import JsonObject, rows, text
from evenkeel.simulator.processes.program import RunningProgram

Statuses = Mapping[str, JsonObject]
"""Statuses by the names of their objects, without what tells two runs of the same program apart."""

API_VERSION = "autoscaling.k8s.io/v1"
SECONDS = 90.0
POLL_SECONDS = 0.5
FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")
LABELS = ("--container-pod-name-label=pod", "--container-name-label=container")
FROM_PROMETHEUS = ("--storage=prometheus", "--recommender-interval=3s", *FAST, *LABELS)
RANGED = '--metric-for-pod-labels=up{job="kubernetes-pods"}[8d]'
"""The pods' labels as upstream can ask for them."""


@dataclass(frozen=True, slots=True)
class Past:
    """A past that Prometheus serves."""

    pods: Sequence[PastPod]
    proxy: HeldTime


def some_hours_ago() -> int:
    """Return an instant that can stand for the present, in seconds since the epoch.

    What is newer than some hours, Prometheus expects in the part of its database that it writes itself.
    """
    return int(time.time()) // 3600 * 3600 - 6 * 3600


@contextmanager
def serving(pods: Sequence[PastPod], use: Use, now: int, folder: Path) -> Iterator[Past]:
    """Let a real Prometheus serve the past of some pods for the time of a ``with`` block."""
    programs = find_programs()
    write_past(pods, folder / "past.txt", use)
    fill(programs, folder / "past.txt", folder / "data")
    with running(programs, folder / "data", folder) as address, held_time(address, now) as proxy:
        yield Past(pods, proxy)


def cluster(pods: Sequence[PastPod]) -> list[JsonObject]:
    """Return the cluster of today: namespaces, Deployments, the pods that still live, a VPA for each Deployment."""
    places = sorted({(pod.namespace, pod.app) for pod in pods})
    found: list[JsonObject] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}
        for name in sorted({namespace for namespace, _ in places})
    ]
    for namespace, app in places:
        metadata: JsonObject = {"name": app, "namespace": namespace}
        template: JsonObject = {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers()}}
        spec: JsonObject = {"replicas": 2, "selector": {"matchLabels": {"app": app}}, "template": template}
        found.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
        revision: JsonObject = {
            **metadata,
            "name": f"{app}-{TEMPLATE_HASH}",
            "ownerReferences": [owner("Deployment", app)],
        }
        found.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": revision, "spec": spec})
        target: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app}
        scaler: JsonObject = {"targetRef": target, "updatePolicy": {"updateMode": "Off"}}
        kind = "VerticalPodAutoscaler"
        found.append({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": scaler})
    return [*found, *(body(pod) for pod in pods if pod.is_alive)]


def containers() -> list[JsonObject]:
    return [{"name": name, "image": "made-up:1"} for name in CONTAINERS]


def owner(kind: str, name: str) -> JsonObject:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def body(pod: PastPod) -> JsonObject:
    """Return a pod that still lives."""
    labels = {"app": pod.app, "version": "new"}
    owners = [owner("ReplicaSet", f"{pod.app}-{TEMPLATE_HASH}")]
    metadata: JsonObject = {"name": pod.name, "namespace": pod.namespace, "labels": labels, "ownerReferences": owners}
    spec: JsonObject = {"nodeName": "node-1", "containers": containers()}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


async def statuses(past: Past, upstream: Upstream, engine: Engine, flags: tuple[str, ...], folder: Path) -> Statuses:
    """Run a recommender until every VPA has a recommendation, and return their statuses."""
    objects = [*upstream.definitions(), *cluster(past.pods)]
    address = f"--prometheus-address={past.proxy.url}"
    async with open_copy(objects, folder) as copy, copy.running(engine, Program.RECOMMENDER, (*flags, address)) as one:
        return await recommended(copy, one)


async def recommended(copy: Copy, one: RunningProgram) -> Statuses:
    """Wait until every VPA has a recommendation, and return their statuses.

    Raises:
        AssertionError: Some have none in time.
    """
    deadline = time.monotonic() + SECONDS
    while True:
        check_alive(one)
        scalers = await copy.objects(API_VERSION, "VerticalPodAutoscaler")
        found = {text(each, "metadata", "name"): each.get("status") for each in scalers}
        missing = sorted(name for name, each in found.items() if not is_recommended(each))
        if not missing:
            return {name: comparable(each) for name, each in found.items()}
        assert time.monotonic() < deadline, (
            f"{one.invocation.name} recommends nothing for {missing}:\n{one.log.last_lines(15)}"
        )
        await asyncio.sleep(POLL_SECONDS)


def is_recommended(status: object) -> bool:
    return isinstance(status, dict) and bool(rows(status, "recommendation", "containerRecommendations"))


def comparable(status: object) -> JsonObject:
    """Return a status without the times at which its conditions changed, and without the wording of messages."""
    assert isinstance(status, dict)
    conditions = [
        {key: value for key, value in condition.items() if key not in {"lastTransitionTime", "message"}}
        for condition in rows(status, "conditions")
    ]
    return {**status, "conditions": conditions}


def vectors(status: JsonObject) -> dict[str, list[object]]:
    """Return target and bounds of each container."""
    kinds = ("target", "lowerBound", "upperBound", "uncappedTarget")
    found = rows(status, "recommendation", "containerRecommendations")
    return {text(each, "containerName"): [each.get(kind) for kind in kinds] for each in found}


def apart(theirs: Statuses, ours: Statuses) -> list[str]:
    """Say of each object that is not the same to the byte on both sides at which field the two part first, and how."""
    found: list[str] = []
    for name in sorted({*theirs, *ours}):
        one, other = theirs.get(name), ours.get(name)
        if json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True):
            field, has, have = first_apart(one, other) or ("spelling", one, other)
            found.append(f"{name}: {field}: upstream has {has!r}, ours {have!r}")
    return found
