"""A made-up cluster that both sides see: VPAs, pods with two containers each, and their usage minute by minute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import Format, Quantity

Integers = NDArray[np.int64]
JsonObject = dict[str, object]

NAMESPACES = 100
CONTAINERS = ("main", "side")
VPA_API = "autoscaling.k8s.io/v1"
_RECOMMENDED = [
    {
        "containerName": name,
        "target": {"cpu": "100m", "memory": "128Mi"},
        "lowerBound": {"cpu": "80m", "memory": "100Mi"},
        "upperBound": {"cpu": "200m", "memory": "256Mi"},
        "uncappedTarget": {"cpu": "100m", "memory": "128Mi"},
    }
    for name in CONTAINERS
]
_CHECKPOINT_BUCKETS = 40
_NANO_PER_MILLI = 10**6
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a cluster.

    Args:
        vpas: VPAs, each of one Deployment.
        pods_per_vpa: Pods of each Deployment.
    """

    vpas: int
    pods_per_vpa: int

    @property
    def pods(self) -> int:
        """Pods in all."""
        return self.vpas * self.pods_per_vpa

    @property
    def containers(self) -> int:
        """Containers in all."""
        return self.pods * len(CONTAINERS)


@dataclass(frozen=True, slots=True)
class PodName:
    """Where a pod is, and whose it is."""

    namespace: str
    name: str
    app: str


def namespace_of(place: int) -> str:
    """Return the namespace of the n-th VPA."""
    return f"team-{place % NAMESPACES:02d}"


def app_name(place: int) -> str:
    """Return the name of the n-th VPA, which is also its Deployment's and the value of the label ``app``."""
    return f"service-{place:05d}"


def pod_names(shape: Shape) -> list[PodName]:
    """Return all pods by namespace and name, as API servers and metrics-server list them."""
    names = (
        PodName(namespace_of(v), f"{app_name(v)}-6d4cf56db6-{p:05d}", app_name(v))
        for v in range(shape.vpas)
        for p in range(shape.pods_per_vpa)
    )
    return sorted(names, key=lambda pod: (pod.namespace, pod.name))


def vpas(shape: Shape, created: datetime, mode: str = "InPlaceOrRecreate") -> Iterator[JsonObject]:
    """Yield the VPAs with the status of an earlier round: what the pods ask for, and narrow bounds around it."""
    provided = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": timestamp(created)}
    for place in range(shape.vpas):
        yield {
            "apiVersion": VPA_API,
            "kind": "VerticalPodAutoscaler",
            "metadata": _metadata(namespace_of(place), app_name(place), created) | {"generation": 1},
            "spec": {
                "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app_name(place)},
                "updatePolicy": {"updateMode": mode},
            },
            "status": {"recommendation": {"containerRecommendations": _RECOMMENDED}, "conditions": [provided]},
        }


def checkpoints(shape: Shape, created: datetime) -> Iterator[JsonObject]:
    """Yield a checkpoint of the first container of each VPA: a day of use, in few buckets."""
    seen = timestamp(created)
    for place in range(shape.vpas):
        name = f"{app_name(place)}-{CONTAINERS[0]}"
        first = place % _CHECKPOINT_BUCKETS
        histograms = {
            f"{resource}Histogram": {
                "referenceTimestamp": timestamp(created.replace(hour=0, minute=0)),
                "bucketWeights": {str(first): 10_000, str(first + 1): 5_000 + place % 100, str(first + 3): 100},
                "totalWeight": weight,
            }
            for resource, weight in (("cpu", 140.5), ("memory", 3.5))
        }
        times = {"firstSampleStart": timestamp(created - timedelta(days=1)), "lastSampleStart": seen}
        yield {
            "apiVersion": VPA_API,
            "kind": "VerticalPodAutoscalerCheckpoint",
            "metadata": _metadata(namespace_of(place), name, created),
            "spec": {"vpaObjectName": app_name(place), "containerName": CONTAINERS[0]},
            "status": {"version": "v3", "lastUpdateTime": seen, "totalSamplesCount": 1440, **times, **histograms},
        }


def deployments(shape: Shape, created: datetime) -> Iterator[JsonObject]:
    """Yield the Deployments."""
    for place in range(shape.vpas):
        yield _controller("Deployment", app_name(place), shape, place, created)


def replica_sets(shape: Shape, created: datetime) -> Iterator[JsonObject]:
    """Yield the ReplicaSets between Deployments and pods."""
    for place in range(shape.vpas):
        body = _controller("ReplicaSet", f"{app_name(place)}-6d4cf56db6", shape, place, created)
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app_name(place), "uid": "d", "controller": True}
        body["metadata"] = {
            **_metadata(namespace_of(place), f"{app_name(place)}-6d4cf56db6", created),
            "ownerReferences": [owner],
        }
        yield body


def _controller(kind: str, name: str, shape: Shape, place: int, created: datetime) -> JsonObject:
    labels = {"app": app_name(place)}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": _metadata(namespace_of(place), name, created) | {"labels": labels},
        "spec": {
            "replicas": shape.pods_per_vpa,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": name} for name in CONTAINERS]},
            },
        },
        "status": {"replicas": shape.pods_per_vpa},
    }


def pods(shape: Shape, created: datetime) -> Iterator[JsonObject]:
    """Yield the pods as a real API server shows running ones, without managed fields."""
    started = timestamp(created)
    for pod in pod_names(shape):
        yield pod_object(pod, created, started)


def pod_object(pod: PodName, created: datetime, started: str, cpu: str = "100m", memory: str = "128Mi") -> JsonObject:
    """Return one running pod.

    Args:
        pod: Its name.
        created: When it was made.
        started: When it began to run.
        cpu: Request of each container.
        memory: Likewise.
    """
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "4", "memory": "4Gi"}}
    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{pod.app}-6d4cf56db6", "uid": f"rs-{pod.app}",
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(pod.namespace, pod.name, created)
        | {"labels": {"app": pod.app, "pod-template-hash": "6d4cf56db6"}, "ownerReferences": [owner]},
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {"name": name, "image": "registry.example/service:1.4.2", "resources": resources} for name in CONTAINERS
            ],
        },
        "status": {
            "phase": "Running",
            "startTime": started,
            "qosClass": "Burstable",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": started}],
            "containerStatuses": [
                {
                    "name": name, "ready": True, "started": True, "restartCount": 0, "resources": resources,
                    "image": "registry.example/service:1.4.2", "imageID": "sha256:0",
                    "state": {"running": {"startedAt": started}},
                }
                for name in CONTAINERS
            ],
        },
    }  # fmt: skip


def _metadata(namespace: str, name: str, created: datetime) -> JsonObject:
    return {
        "namespace": namespace,
        "name": name,
        "uid": f"{namespace}-{name}",
        "resourceVersion": "1",
        "creationTimestamp": timestamp(created),
    }


def timestamp(moment: datetime) -> str:
    """Return a time as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Tick:
    """Usage of one minute, container by container in the order of ``pod_names``.

    Args:
        measured: When each pod was measured, seconds since the epoch, int64[pods].
        nanocores: int64[containers].
        kibibytes: int64[containers].
    """

    measured: Integers
    nanocores: Integers
    kibibytes: Integers

    @property
    def instants(self) -> Integers:
        """int64[containers], nanoseconds since the epoch."""
        return np.repeat(self.measured * 10**9, len(CONTAINERS))

    @property
    def millicores(self) -> Integers:
        """int64[containers], rounded up as quantities are."""
        return -(-self.nanocores // _NANO_PER_MILLI)

    @property
    def memory_bytes(self) -> Integers:
        """int64[containers]."""
        return self.kibibytes * _KIB

    def write_columns(self, path: Path) -> None:
        """Write container numbers, instants, millicores and bytes as four columns of 64-bit numbers."""
        numbers = np.arange(len(self.nanocores), dtype=np.int64)
        path.write_bytes(b"".join(c.tobytes() for c in (numbers, self.instants, self.millicores, self.memory_bytes)))

    def metrics_list(self, names: list[PodName]) -> bytes:
        """Return it as metrics-server answers it."""
        cpu = [_cpu_text(amount) for amount in self.nanocores.tolist()]
        memory = [str(Quantity.of_units(amount * _KIB, Format.BINARY_SI)) for amount in self.kibibytes.tolist()]
        measured = self.measured.tolist()
        texts = {second: _utc_text(second) for second in set(measured)}
        items = (
            f'{{"metadata":{{"name":"{pod.name}","namespace":"{pod.namespace}","creationTimestamp":"{texts[second]}",'
            f'"labels":{{"app":"{pod.app}","pod-template-hash":"6d4cf56db6"}}}},"timestamp":"{texts[second]}",'
            f'"window":"15.017s","containers":['
            f'{{"name":"main","usage":{{"cpu":"{cpu[2 * i]}","memory":"{memory[2 * i]}"}}}},'
            f'{{"name":"side","usage":{{"cpu":"{cpu[2 * i + 1]}","memory":"{memory[2 * i + 1]}"}}}}]}}'
            for i, (pod, second) in enumerate(zip(names, measured, strict=True))
        )
        head = '{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":['
        return f"{head}{','.join(items)}]}}".encode()


def _cpu_text(nanocores: int) -> str:
    """Return billionths of a core as Kubernetes writes them: in thousandths or millionths where that loses nothing."""
    return f"{nanocores}n" if nanocores % 1000 else str(Quantity(nanocores))


def _utc_text(second: int) -> str:
    return str(np.datetime64(second, "s")) + "Z"


class Usage:
    """Usage of a cluster that repeats itself for a seed: each container around its own level.

    Args:
        shape: The cluster.
        begin: Time of the first tick.
        seed: Of the dice.
    """

    def __init__(self, shape: Shape, begin: datetime, seed: int = 1) -> None:
        self._dice = np.random.default_rng(seed)
        self._shape = shape
        self._begin = int(begin.timestamp())
        self._ticks = 0
        self._cores = np.exp(self._dice.normal(-2.0, 1.0, shape.containers))
        self._bytes = np.exp(self._dice.normal(19.0, 1.0, shape.containers))

    def tick(self) -> Tick:
        """Return the next minute."""
        measured = self._begin + 60 * self._ticks + self._dice.integers(0, 15, self._shape.pods)
        self._ticks += 1
        cores = self._cores * self._dice.lognormal(0.0, 0.3, self._shape.containers)
        used = self._bytes * self._dice.lognormal(0.0, 0.05, self._shape.containers)
        return Tick(measured, (cores * 1e9).astype(np.int64), (used / _KIB).astype(np.int64))


def write_scene(path: Path, shape: Shape, created: datetime) -> None:
    """Write VPAs, pods and the order of containers for the peer."""
    names = pod_names(shape)
    scene = {
        "vpas": list(vpas(shape, created)),
        "pods": list(pods(shape, created)),
        "containers": [[pod.namespace, pod.name, container] for pod in names for container in CONTAINERS],
    }
    path.write_bytes(msgspec.json.encode(scene))


def first_tick(now: datetime) -> datetime:
    """Return a whole minute some hours ago: late enough that every memory window still runs, as in a live cluster."""
    return now.replace(second=0, microsecond=0) - timedelta(hours=6)
