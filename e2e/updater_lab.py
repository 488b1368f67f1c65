"""What the updater's tests on a real kubelet share: small workloads under VPAs whose recommendation the test writes.

The updater's rounds are short, and its log tells every decision, so that a test waits for rounds instead of for time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from autoscaling.quantity import Quantity
from e2e.cluster.audit import AuditEntry
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, condition, is_condition_true, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.cluster.watching import watching
from e2e.installation import Flags, Group, Installation, installed, logged, recommendation, vpa
from e2e.metrics_page import UPDATER_PORT, total
from e2e.workloads import IDLE_SCRIPT, amounts, container, deployment

INTERVAL_SECONDS = 3.0
DEFERRED_SECONDS = 12.0
TWO_ROUNDS_SECONDS = 2 * INTERVAL_SECONDS + 2.0
"""How long after its time something that the updater does in its rounds may happen, with what the machine adds."""

_CALMING_SECONDS = 60.0
_UPDATER = "evenkeel-updater"
_FAST = (f"--updater-interval={INTERVAL_SECONDS:g}s", f"--in-place-deferred-timeout={DEFERRED_SECONDS:g}s", "--v=5")
_NO_RESTART: list[JsonValue] = [
    {"resourceName": "cpu", "restartPolicy": "NotRequired"},
    {"resourceName": "memory", "restartPolicy": "NotRequired"},
]


@dataclass(frozen=True, slots=True)
class Told:
    """One decision as the updater's log tells it."""

    pod: str
    action: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment and its VPA.

    Args:
        resources: Of its one container; empty for a pod that has neither requests nor limits.
        replicas: How many pods.
        script: What the container does.
        restarts_for_memory: Whether the container restarts for a resize of its memory.
        ends_in_seconds: How long its container takes to end, as a shell that is the first process does not heed TERM.
        prefers: Node that its pods go to as long as that has room.
        mode: The VPA's update mode.
        controlled: The resources that the VPA controls.
        keeps_ratio: Whether limits follow requests.
        settings: Further fields of the VPA's update policy.
    """

    resources: JsonObject = field(
        default_factory=lambda: amounts("50m", "32Mi", limit_cpu="8", limit_memory="64Mi"),
    )
    replicas: int = 1
    script: str = IDLE_SCRIPT
    restarts_for_memory: bool = False
    ends_in_seconds: int = 1
    prefers: str = ""
    mode: str = "InPlaceOrRecreate"
    controlled: Sequence[str] = ("cpu",)
    keeps_ratio: bool = False
    settings: Mapping[str, JsonValue] = field(default_factory=lambda: {"minReplicas": 1})

    def documents(self, name: str) -> tuple[JsonObject, JsonObject]:
        """Return both objects."""
        pod_container = container(self.script, self.resources)
        if not self.restarts_for_memory:
            pod_container["resizePolicy"] = _NO_RESTART
        workload = deployment(name, pod_container, replicas=self.replicas)
        spec = at(workload, "spec", "template", "spec")
        assert isinstance(spec, dict)
        spec["terminationGracePeriodSeconds"] = self.ends_in_seconds
        if self.prefers:
            spec["affinity"] = {"nodeAffinity": _preferring(self.prefers)}
        values = "RequestsAndLimits" if self.keeps_ratio else "RequestsOnly"
        policy: JsonObject = {
            "containerName": "*",
            "controlledValues": values,
            "controlledResources": list[JsonValue](self.controlled),
        }
        scaler = vpa(Group.OWN, name, [policy], **{**self.settings, "updateMode": self.mode})
        spec = scaler["spec"]
        assert isinstance(spec, dict)
        spec["recommenders"] = [{"name": "by-hand"}]
        return workload, scaler


@dataclass(slots=True)
class PodWatch:
    """Every version of the pods of one namespace, in the order in which the API server told of them."""

    changes: list[tuple[str, JsonObject]] = field(default_factory=list)

    def note(self, change: str, pod: JsonObject) -> None:
        """Note a change and the pod after it."""
        self.changes.append((change, pod))

    def instants(self) -> Iterator[Mapping[str, JsonObject]]:
        """Yield all pods by name as they were after each change; the mapping is the same one each time."""
        now: dict[str, JsonObject] = {}
        for change, pod in tuple(self.changes):
            name = text_at(pod, "metadata", "name")
            if change == "DELETED":
                now.pop(name, None)
            else:
                now[name] = pod
            yield now


@dataclass(frozen=True, slots=True)
class Lab:
    """Workloads in one namespace, and what the updater does about them.

    Args:
        kube: The namespace, which another test may have used before.
        installation: The updater among others.
        opened: Since when its calls are of interest.
    """

    kube: Kube
    installation: Installation
    opened: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def cluster(self) -> Cluster:
        """The cluster that all of it runs on."""
        return self.kube.cluster

    def deploy(self, name: str, workload: Workload) -> list[JsonObject]:
        """Create a workload and its VPA, which has no recommendation yet, and return its pods once they are Ready."""
        self.kube.apply(*workload.documents(name))
        return self.kube.wait_for_pods(f"app={name}", workload.replicas)

    def block(self, node: str, cpu: str) -> None:
        """Take CPU of a node by a pod that no VPA controls."""
        wanted = Workload(amounts(cpu, "16Mi", limit_cpu="8", limit_memory="32Mi"), prefers=node)
        self.kube.apply(wanted.documents("blocker")[0])
        (pod,) = self.kube.wait_for_pods("app=blocker")
        assert node_of(pod) == node

    def recommend(self, name: str, cpu: str, memory: str = "32Mi") -> None:
        """Write the recommendation of a VPA; its bounds are the target itself, so that any difference counts."""
        status = recommendation("main", cpu, memory)
        self.kube.patch(Group.OWN.resource, name, status, subresource="status", style="merge")

    def only_pod(self, name: str) -> JsonObject:
        """Return the one pod of a workload that is not being deleted."""
        pods = self.kube.pods(f"app={name}")
        assert len(pods) == 1, f"{len(pods)} pods"
        return pods[0]

    def wait_for_replacement(self, name: str, old: JsonObject, *, timeout_seconds: float) -> JsonObject:
        """Wait until the one pod of a workload is another one than it was, and Ready."""

        def replaced() -> JsonObject | None:
            pod = self.only_pod(name)
            assert is_condition_true(pod, "Ready"), "not Ready"
            return pod if uid_of(pod) != uid_of(old) else None

        return self.kube.wait_for(replaced, "the replacement", timeout_seconds=timeout_seconds)

    def wait_until_given(self, name: str, requests: JsonObject, *, timeout_seconds: float = 30.0) -> JsonObject:
        """Wait until the kubelet reports these requests for a workload's one pod, and return the pod."""

        def given() -> JsonObject:
            pod = self.only_pod(name)
            seen = at(pod, "status", "containerStatuses", 0, "resources", "requests")
            assert isinstance(seen, dict)
            assert {key: seen.get(key) for key in requests} == requests, f"requests {seen}"
            return pod

        return self.kube.wait_for(given, f"requests of {requests}", timeout_seconds=timeout_seconds)

    def calls(self, subresource: str) -> list[AuditEntry]:
        """Return what the updater has asked of the API server about pods of the namespace, under a subresource."""
        return [
            entry
            for entry in self.installation.requests()
            if entry.at >= self.opened
            and entry.namespace == self.kube.namespace
            and entry.resource == "pods"
            and entry.subresource == subresource
            and entry.user.endswith(f":{_UPDATER}")
        ]

    def decisions(self, pod: str = "") -> list[Told]:
        """Return what the updater has decided about a pod of the namespace, or about all of them, oldest first."""
        prefix = f"Pod {self.kube.namespace}/"
        told = [
            _told(document) for document in logged(self.cluster, _UPDATER) if document.get("event") == "pod decided"
        ]
        wanted = [t for t in told if t.pod.startswith(prefix)]
        named = [Told(t.pod.removeprefix(prefix), t.action, t.reason, t.detail) for t in wanted]
        return [t for t in named if pod in {"", t.pod}]

    def wait_for_reason(self, pod: JsonObject, reason: str, *, timeout_seconds: float = 30.0) -> Told:
        """Wait until the updater has decided about a pod for a reason, and return the first such decision."""

        def found() -> Told | None:
            told = self.decisions(name_of(pod))
            assert any(t.reason == reason for t in told), f"decisions so far: {sorted({t.reason for t in told})}"
            return next(t for t in told if t.reason == reason)

        return self.kube.wait_for(found, f"the reason {reason}", timeout_seconds=timeout_seconds)

    def wait_for_rounds(self, pod: JsonObject, count: int) -> list[Told]:
        """Wait until the updater has decided so many times more about a pod, and return these decisions."""
        before = len(self.decisions(name_of(pod)))

        def more() -> list[Told] | None:
            new = self.decisions(name_of(pod))[before:]
            assert len(new) >= count, f"{len(new)} decisions"
            return new

        seconds = count * INTERVAL_SECONDS + 20.0
        return self.kube.wait_for(more, f"{count} rounds", timeout_seconds=seconds)

    def wait_for_condition(self, name: str, kind: str, *, timeout_seconds: float = 30.0) -> JsonObject:
        """Wait until a condition of a VPA is True, and return it."""

        def is_set() -> JsonObject | None:
            scaler = self.kube.read(Group.OWN.resource, name)
            return condition(scaler, kind) if is_condition_true(scaler, kind) else None

        return self.kube.wait_for(is_set, f"the condition {kind}", timeout_seconds=timeout_seconds)

    def wait_for_no_condition(self, name: str, kind: str) -> None:
        """Wait until a VPA has a condition no more."""

        def is_gone() -> bool:
            return condition(self.kube.read(Group.OWN.resource, name), kind) is None

        self.kube.wait_for(is_gone, f"the end of the condition {kind}", timeout_seconds=30.0)

    def metric(self, name: str) -> float:
        """Return the sum of a counter of the updater over the labels that name this namespace."""
        return total(self.cluster, UPDATER_PORT, name, vpa_namespace=self.kube.namespace)

    def assert_well(self) -> None:
        """Check that all processes run and that none asked for what it may not."""
        assert self.installation.ended() == []
        assert self.installation.forbidden() == []

    @contextmanager
    def watching(self) -> Iterator[PodWatch]:
        """Note every version of the namespace's pods for the time of a ``with`` block."""
        seen = PodWatch()
        with watching(self.cluster, f"/api/v1/namespaces/{self.kube.namespace}/pods", seen.note):
            yield seen


@contextmanager
def updater_installed(
    cluster: Cluster, *updater: str, everywhere: Sequence[str] = (), admission: Sequence[str] = ()
) -> Iterator[Installation]:
    """Install Evenkeel with an updater whose rounds are short and whose log tells every decision.

    Args:
        updater: Further flags of the updater.
        everywhere: Flags of all three processes.
        admission: Further flags of the admission controller.
    """
    flags = Flags(
        all=tuple(everywhere),
        recommender=("--recommender-interval=30s",),
        updater=(*_FAST, *updater),
        admission=("--status-lease-update-interval=2s", *admission),
    )
    with installed(cluster, Group.OWN, flags) as running:
        yield running


def wait_for_empty_nodes(kube: Kube) -> None:
    """Wait until what earlier tests have deployed is gone, so that all room on the nodes is free."""

    def is_empty() -> bool:
        pods = objects_at(json.loads(kube.cluster.kubectl("get", "pods", "-A", "-o", "json")), "items")
        assert not pods, f"there are {', '.join(sorted(map(name_of, pods)))}"
        return True

    kube.wait_for(is_empty, "empty nodes", timeout_seconds=_CALMING_SECONDS)


def name_of(pod: JsonObject) -> str:
    """Return a pod's name."""
    return text_at(pod, "metadata", "name")


def uid_of(pod: JsonObject) -> str:
    """Return a pod's UID."""
    return text_at(pod, "metadata", "uid")


def node_of(pod: JsonObject) -> str:
    """Return the node that a pod is on."""
    return text_at(pod, "spec", "nodeName")


def asked_of(pod: JsonObject, resource: str = "cpu") -> str:
    """Return the request in the spec of a pod's first container."""
    return text_at(pod, "spec", "containers", 0, "resources", "requests", resource)


def held_millicores(pod: JsonObject) -> int:
    """Return the CPU that a pod takes of its node: what its container asks for, was given or has, the most of these."""
    if text_at(pod, "status", "phase") in {"Succeeded", "Failed"}:
        return 0
    status = at(pod, "status", "containerStatuses", 0)
    stated = [
        asked_of(pod),
        text_at(status, "allocatedResources", "cpu"),
        text_at(status, "resources", "requests", "cpu"),
    ]
    return max((Quantity.parse(text).milli_value() for text in stated if text), default=0)


def pending_reason(pod: JsonObject) -> str:
    """Return why the kubelet has not taken a resize up, empty if it has nothing to say."""
    return text_at(condition(pod, "PodResizePending"), "reason")


def time_at(document: JsonValue, *steps: str | int) -> datetime:
    """Follow keys and list positions to a time."""
    return datetime.fromisoformat(text_at(document, *steps))


def _preferring(node: str) -> JsonObject:
    """Return an affinity that a scheduler heeds as long as the node has room."""
    expression: JsonObject = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    preferred: JsonObject = {"weight": 100, "preference": {"matchExpressions": [expression]}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}


def _told(document: JsonObject) -> Told:
    """Read one decision out of a line of the log."""
    return Told(*(text_at(document, key) for key in ("object", "action", "reason", "detail")))
