"""A cluster without kubelets: the control plane, nodes, and a stand-in that reports pods as running or gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, labels_of, number, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.clock import EPOCH, ManualClock, rfc3339
from evenkeel.simulator.controllers.context import Settings
from evenkeel.simulator.controllers.plane import ControlPlane

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
START_TIME = SECOND
STOP_TIME = SECOND
Entry = tuple[int, str, str, str]


class StandIn:
    """Does for all nodes what a kubelet does as far as controllers see it: starts pods, and ends those that go.

    Args:
        server: The cluster.
        runs: Which pods it starts; by default all.
    """

    def __init__(self, server: ApiServer, runs: Callable[[JsonObject], bool] | None = None) -> None:
        self.server = server
        self.runs = runs or (lambda _: True)
        self._known: set[tuple[Key, str]] = set()
        server.store.versions.observe(PODS, self._follow)

    def _follow(self, change: Change) -> None:
        pod = change.after
        if change.type is ChangeType.DELETED or not text(pod.body, "spec", "nodeName"):
            return
        going = bool(text(pod.body, "metadata", "deletionTimestamp"))
        mark = (pod.key, f"{pod.uid} {going}")
        if mark not in self._known:
            self._known.add(mark)
            when = self.server.clock.now() + (STOP_TIME if going else START_TIME)
            self.server.clock.call_at(when, lambda: self._stop(pod) if going else self._start(pod))

    def _current(self, pod: Stored) -> JsonObject | None:
        current = self.server.store.find("v1", "Pod", pod.key[1], pod.key[0])
        return current if current and text(current, "metadata", "uid") == pod.uid else None

    def _start(self, pod: Stored) -> None:
        current = self._current(pod)
        if current is not None and text(current, "status", "phase") in {"", "Pending"} and self.runs(current):
            self.server.store.update(running(current, rfc3339(self.server.clock.now())))

    def _stop(self, pod: Stored) -> None:
        if self._current(pod) is not None:
            self.server.store.delete("v1", "Pod", pod.key[1], pod.key[0])


def running(pod: JsonObject, since: str) -> JsonObject:
    """Return a pod as a kubelet reports it once all its containers run and are ready."""
    pod = copy_of(pod)
    status = ensure(pod, "status")
    statuses: list[JsonObject] = []
    for container in rows(pod, "spec", "containers"):
        resources = copy_of(child(container, "resources"))
        statuses.append(
            {
                "name": container["name"],
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": since}},
                "resources": resources,
                "allocatedResources": child(resources, "requests"),
            }
        )
    kept = [row for row in rows(status, "conditions") if row["type"] == "PodScheduled"]
    ready: JsonObject = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    status["containerStatuses"], status["conditions"] = statuses, [*kept, ready]
    status["phase"], status["startTime"] = "Running", since
    return pod


class Ground:
    """One cluster in a test.

    Args:
        nodes: How many nodes it has, each with 4 cores and 8Gi.
        seed: Of the API server.
        runs: Which pods the stand-in starts.
    """

    def __init__(
        self, nodes: int = 1, *, seed: int = 0, runs: Callable[[JsonObject], bool] | None = None, plane: bool = True
    ) -> None:
        self.clock = ManualClock()
        self.server = ApiServer(self.clock, seed=seed)
        self.history: list[Entry] = []
        for kind in self.server.registry.all():
            if kind.view is None and kind.group != "metrics.k8s.io":
                self.server.store.versions.observe(kind.resource, self._recorder(kind.kind))
        self.kubelets = StandIn(self.server, runs)
        self.plane = ControlPlane(self.server, Settings())
        for number_ in range(nodes):
            self.add_node(f"n{number_ + 1}")
        if plane:
            self.plane.start()

    def _recorder(self, kind: str) -> Callable[[Change], None]:
        def record(change: Change) -> None:
            verbs = {ChangeType.ADDED: "create", ChangeType.MODIFIED: "update", ChangeType.DELETED: "delete"}
            self.history.append((change.after.revision, kind, change.after.key[1], verbs[change.type]))

        return record

    def add_node(self, name: str, cpu: str = "4", memory: str = "8Gi", **parts: object) -> JsonObject:
        """Add a node; parts are its labels, taints, unschedulable, pods or conditions."""
        labels = {"kubernetes.io/hostname": name, **labels_of({"metadata": {"labels": parts.pop("labels", {})}})}
        allocatable = {"cpu": cpu, "memory": memory, "pods": str(parts.pop("pods", 110))}
        status: JsonObject = {"allocatable": allocatable, "capacity": allocatable}
        conditions = parts.pop("conditions", None)
        status["conditions"] = conditions or [{"type": "Ready", "status": "True"}]
        node: JsonObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        return self.server.store.create(node | {"spec": dict(parts), "status": status})

    def run(self, by: timedelta = 10 * SECOND) -> None:
        """Let time pass."""
        self.clock.advance(by)

    def create(self, obj: JsonObject) -> JsonObject:
        """Store an object."""
        return self.server.store.create(obj)

    def merge(self, kind: str, name: str, **parts: object) -> JsonObject:
        """Change a part of an object."""
        return self.server.store.merge(_head(kind, name) | parts)

    def read(self, kind: str, name: str) -> JsonObject:
        """Return an object."""
        return self.server.store.read(API_VERSIONS[kind], kind, name, _namespace(kind))

    def find(self, kind: str, name: str) -> JsonObject | None:
        """Return an object, None when there is none."""
        return self.server.store.find(API_VERSIONS[kind], kind, name, _namespace(kind))

    def delete(self, kind: str, name: str) -> None:
        """Remove an object at once."""
        self.server.store.delete(API_VERSIONS[kind], kind, name, _namespace(kind))

    def objects(self, kind: str) -> list[JsonObject]:
        """Return all objects of a kind."""
        return self.server.store.list(API_VERSIONS[kind], kind)

    def pods(self, app: str = "") -> list[JsonObject]:
        """Return all pods, or those labelled with an app, by name."""
        return [pod for pod in self.objects("Pod") if not app or labels_of(pod).get("app") == app]

    def names(self, kind: str = "Pod") -> list[str]:
        """Return the names of all objects of a kind."""
        return [text(obj, "metadata", "name") for obj in self.objects(kind)]

    def phases(self, app: str = "") -> list[str]:
        """Return the phases of pods."""
        return [text(pod, "status", "phase") for pod in self.pods(app)]

    def reasons(self, kind: str = "") -> list[str]:
        """Return the reasons of all events, about one kind or all."""
        events = self.objects("Event")
        return [text(event, "reason") for event in events if kind in {"", text(event, "involvedObject", "kind")}]

    def finish(self, name: str, phase: str = "Succeeded") -> None:
        """Report a pod as ended."""
        self.merge("Pod", name, status={"phase": phase, "conditions": []})


API_VERSIONS = {
    "Pod": "v1", "Node": "v1", "Event": "v1", "ResourceQuota": "v1", "LimitRange": "v1", "ReplicationController": "v1",
    "ConfigMap": "v1", "Namespace": "v1", "ServiceAccount": "v1",
    "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
    "ControllerRevision": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}  # fmt: skip
_CLUSTER_WIDE = ("Node", "Namespace", "PriorityClass")


def _namespace(kind: str) -> str:
    return "" if kind in _CLUSTER_WIDE else "default"


def _head(kind: str, name: str) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if _namespace(kind):
        metadata["namespace"] = _namespace(kind)
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": metadata}


def template(app: str = "web", /, cpu: str = "100m", **spec: object) -> JsonObject:
    """Return a pod template of one container."""
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    container = {"name": "app", "image": "example.dev/app:1", "resources": resources}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str = "web", /, **spec: object) -> JsonObject:
    """Return a workload whose pods bear its name as label ``app``."""
    whole: JsonObject = {"template": template(name), **spec}
    if kind not in {"Job", "ReplicationController", "CronJob"}:
        whole.setdefault("selector", {"matchLabels": {"app": name}})
    return _head(kind, name) | {"spec": whole}


def budget(name: str = "p", /, **spec: object) -> JsonObject:
    """Return a disruption budget over the pods of app ``web``."""
    return _head("PodDisruptionBudget", name) | {"spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}


def seconds_since_start(ground: Ground) -> float:
    """Return how long the cluster's clock has run."""
    return (ground.clock.now() - EPOCH).total_seconds()


def counts(obj: JsonObject, *names: str) -> tuple[int, ...]:
    """Return numbers of an object's status."""
    return tuple(number(obj, "status", name) for name in names)
