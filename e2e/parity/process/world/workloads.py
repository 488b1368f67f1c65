"""Workloads made up by chance: containers, the controllers above them, and how a pod of theirs is owned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from e2e.parity.process.world.dice import Dice, amounts_json
from evenkeel.simulator.api.fields import JsonObject

Amounts = dict[str, int]
"""CPU in thousandths of a core, memory in bytes."""

CUSTOM_GROUP = "herd.example.org"
CUSTOM_KIND = "Flock"
WORKLOAD_LABEL = "app"
_KINDS = {
    "Deployment": 0.34,
    "StatefulSet": 0.16,
    "DaemonSet": 0.1,
    "ReplicaSet": 0.08,
    "ReplicationController": 0.08,
    "Job": 0.07,
    "CronJob": 0.06,
    CUSTOM_KIND: 0.07,
    "bare": 0.04,
}


class Shape(Enum):
    """What containers state of their resources."""

    BURSTABLE = "burstable"
    GUARANTEED = "guaranteed"
    REQUESTS_ONLY = "requests only"
    PARTIAL = "some of it"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Container:
    """A container.

    Args:
        name: Its name.
        requests: What it requests.
        limits: What it may use.
        restarts_for: Resources whose change restarts it; None where it has no policy about that.
    """

    name: str
    requests: Amounts
    limits: Amounts
    restarts_for: tuple[str, ...] | None = None

    def resources(self) -> JsonObject:
        """Return its resources."""
        parts = {"requests": amounts_json(self.requests), "limits": amounts_json(self.limits)}
        return {key: value for key, value in parts.items() if value}

    def body(self) -> JsonObject:
        """Return it as a pod's spec has it."""
        body: JsonObject = {"name": self.name, "image": "made-up:1", "resources": self.resources()}
        if self.restarts_for is not None:
            body["resizePolicy"] = [
                {"resourceName": r, "restartPolicy": "RestartContainer" if r in self.restarts_for else "NotRequired"}
                for r in ("cpu", "memory")
            ]
        return body


@dataclass(frozen=True, slots=True)
class Group:
    """Pods with the same direct controller.

    Args:
        owner: Reference to that controller; None for pods without one.
        labels: Labels of the pods.
        pods: How many there are; the controller may want another number.
    """

    owner: JsonObject | None
    labels: dict[str, str]
    pods: int


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload.

    Args:
        name: Name of its topmost controller, and value of the label by which its pods are selected.
        namespace: Where it is.
        kind: Kind of its topmost controller; ``bare`` for pods without one.
        containers: Containers of its pods.
        groups: Its pods.
        objects: Its controllers, topmost first.
    """

    name: str
    namespace: str
    kind: str
    containers: tuple[Container, ...]
    groups: tuple[Group, ...] = ()
    objects: tuple[JsonObject, ...] = field(default=(), repr=False)

    @property
    def api_version(self) -> str:
        """API version of its topmost controller."""
        return api_version_of(self.kind)


def api_version_of(kind: str) -> str:
    """Return the API version of a kind of controllers."""
    if kind in {"Job", "CronJob"}:
        return "batch/v1"
    if kind == CUSTOM_KIND:
        return f"{CUSTOM_GROUP}/v1"
    return "v1" if kind in {"ReplicationController", "bare"} else "apps/v1"


def make_container(dice: Dice, name: str, shape: Shape) -> Container:
    """Make a container up."""
    requests: Amounts = {"cpu": dice.cpu_millis(), "memory": dice.memory_bytes()}
    factors = dice.pick((1, 2, 3, 10)), dice.pick((1, 2, 4))
    limits: Amounts = {"cpu": requests["cpu"] * factors[0], "memory": requests["memory"] * factors[1]}
    if shape is Shape.GUARANTEED:
        limits = dict(requests)
    elif shape is Shape.REQUESTS_ONLY:
        limits = {}
    elif shape is Shape.PARTIAL:
        # The API server would add a request where only a limit is given, so the limit is what is left out.
        missing = dice.pick(("cpu", "memory"))
        limits = {key: value for key, value in limits.items() if key != missing}
        if dice.chance(0.5):
            requests = {key: value for key, value in requests.items() if key != missing}
    elif shape is Shape.NOTHING:
        requests, limits = {}, {}
    policy = dice.weighted({None: 0.4, (): 0.2, ("memory",): 0.3, ("cpu", "memory"): 0.1})
    return Container(name, requests, limits, policy)


class WorkloadMaker:
    """Makes workloads up.

    Args:
        dice: Their chance.
        now: From when their ages count.
    """

    def __init__(self, dice: Dice, now: datetime) -> None:
        self._dice = dice
        self._now = now

    def make(self, name: str, namespace: str, *, complete: bool = False) -> Workload:
        """Make a workload up.

        Args:
            name: Its name.
            namespace: Where it is.
            complete: Whether all containers must state all requests and limits.
        """
        dice = self._dice
        shapes = {Shape.BURSTABLE: 0.62, Shape.GUARANTEED: 0.1, Shape.REQUESTS_ONLY: 0.14}
        if not complete:
            shapes |= {Shape.PARTIAL: 0.08, Shape.NOTHING: 0.06}
        shape = Shape.BURSTABLE if complete else dice.weighted(shapes)
        count = dice.weighted({1: 0.55, 2: 0.35, 3: 0.1})
        containers = tuple(make_container(dice, f"c{index}", shape) for index in range(count))
        kind = dice.weighted(_KINDS)
        workload = Workload(name, namespace, kind, containers)
        objects, groups = self._controllers(workload)
        return Workload(name, namespace, kind, containers, tuple(groups), tuple(objects))

    def _controllers(self, workload: Workload) -> tuple[list[JsonObject], list[Group]]:
        """Make the controllers and the pods under them up."""
        labels = {WORKLOAD_LABEL: workload.name}
        replicas = self._dice.weighted({1: 0.2, 2: 0.2, 3: 0.25, 4: 0.15, 6: 0.15, 10: 0.05})
        match workload.kind:
            case "bare":
                return [], [Group(None, labels, min(replicas, 2))]
            case "Deployment":
                return self._deployment(workload, labels, replicas)
            case "CronJob":
                cron = self._object(workload, "CronJob", workload.name, spec=_cron_spec(workload, labels))
                job = self._object(
                    workload, "Job", f"{workload.name}-1", cron, {"template": _template(workload, labels)}
                )
                return [cron, job], [self._group(job, labels, replicas)]
            case "Job":
                job = self._object(workload, "Job", workload.name, spec=_job_spec(workload, labels))
                return [job], [self._group(job, labels, replicas)]
            case "DaemonSet":
                return self._daemon_set(workload, labels, replicas)
            case "Flock":
                return self._custom(workload, labels, replicas)
            case kind:
                one = self._object(workload, kind, workload.name, spec=_replicated(workload, labels, replicas))
                return [one], [self._group(one, labels, replicas)]

    def _deployment(
        self, workload: Workload, labels: dict[str, str], replicas: int
    ) -> tuple[list[JsonObject], list[Group]]:
        """Make a Deployment up, perhaps in the middle of a rollout."""
        top = self._object(workload, "Deployment", workload.name, spec=_replicated(workload, labels, replicas))
        sizes = [replicas, self._dice.between(0, 2)] if self._dice.chance(0.2) else [replicas]
        objects, groups = [top], []
        for index, size in enumerate(sizes):
            own = {**labels, "pod-template-hash": f"{index}a{index}"}
            spec = _replicated(workload, own, size)
            replica_set = self._object(workload, "ReplicaSet", f"{workload.name}-{index}a{index}", top, spec)
            objects.append(replica_set)
            groups.append(self._group(replica_set, own, size))
        return objects, groups

    def _daemon_set(
        self, workload: Workload, labels: dict[str, str], replicas: int
    ) -> tuple[list[JsonObject], list[Group]]:
        one = self._object(workload, "DaemonSet", workload.name, spec=_selecting(workload, labels))
        ready = self._dice.between(0, replicas)
        wanted = replicas + self._dice.weighted({0: 0.7, 1: 0.2, -replicas: 0.1})
        status = {"desiredNumberScheduled": wanted, "currentNumberScheduled": replicas, "numberMisscheduled": 0}
        one["status"] = {**status, "numberReady": ready}
        return [one], [self._group(one, labels, replicas)]

    def _custom(
        self, workload: Workload, labels: dict[str, str], replicas: int
    ) -> tuple[list[JsonObject], list[Group]]:
        """Make a controller of a custom kind up, with pods or a ReplicaSet below it."""
        selector = f"{WORKLOAD_LABEL}={workload.name}"
        top = self._object(workload, CUSTOM_KIND, workload.name, spec={"replicas": replicas})
        top["status"] = {"replicas": replicas, "selector": selector}
        if self._dice.chance(0.5):
            return [top], [self._group(top, labels, replicas)]
        spec = _replicated(workload, labels, replicas)
        below = self._object(workload, "ReplicaSet", f"{workload.name}-below", top, spec)
        return [top, below], [self._group(below, labels, replicas)]

    def _group(self, owner: JsonObject, labels: dict[str, str], wanted: int) -> Group:
        """Make up how many of the wanted pods there are."""
        missing = self._dice.weighted({0: 0.85, 1: 0.1, 2: 0.05})
        return Group(reference_to(owner), labels, max(0, wanted - missing))

    def _object(
        self, workload: Workload, kind: str, name: str, owner: JsonObject | None = None, spec: JsonObject | None = None
    ) -> JsonObject:
        """Return a controller."""
        metadata: JsonObject = {
            "name": name,
            "namespace": workload.namespace,
            "uid": self._dice.uid(),
            "creationTimestamp": self._dice.earlier(self._now, timedelta(days=2), timedelta(days=30)),
        }
        if owner is not None:
            metadata["ownerReferences"] = [reference_to(owner)]
        return {"apiVersion": api_version_of(kind), "kind": kind, "metadata": metadata, "spec": spec or {}}


def reference_to(owner: JsonObject) -> JsonObject:
    """Return the reference by which an object names its controller."""
    metadata = owner["metadata"]
    assert isinstance(metadata, dict)
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**named, "controller": True, "blockOwnerDeletion": True}


def pod_names(workload: Workload) -> Iterator[tuple[Group, str]]:
    """Yield the pods of a workload, each with the group that it belongs to."""
    for number, group in enumerate(workload.groups):
        for index in range(group.pods):
            yield group, f"{workload.name}-{number}-{index}"


def _template(workload: Workload, labels: dict[str, str]) -> JsonObject:
    spec: JsonObject = {"containers": [container.body() for container in workload.containers]}
    if workload.kind in {"Job", "CronJob"}:
        spec["restartPolicy"] = "OnFailure"
    return {"metadata": {"labels": dict(labels)}, "spec": spec}


def _selecting(workload: Workload, labels: dict[str, str]) -> JsonObject:
    """Return the spec of a controller that selects its pods."""
    chosen: JsonObject = dict(labels) if workload.kind == "ReplicationController" else {"matchLabels": dict(labels)}
    return {"selector": chosen, "template": _template(workload, labels)}


def _replicated(workload: Workload, labels: dict[str, str], replicas: int) -> JsonObject:
    return {"replicas": replicas, **_selecting(workload, labels)}


def _job_spec(workload: Workload, labels: dict[str, str]) -> JsonObject:
    return {"manualSelector": True, **_selecting(workload, labels)}


def _cron_spec(workload: Workload, labels: dict[str, str]) -> JsonObject:
    return {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": _template(workload, labels)}}}
