"""Evenkeel installed on a running cluster from its own manifests, its processes run beside the node.

Definitions, namespace, service accounts, roles and the pod policy are applied as they are shipped; each process runs
with the arguments of its Deployment, a token of its own service account and nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path

import yaml

from e2e.cluster.audit import AuditEntry
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, is_condition_true, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.cluster.processes import ProcessRef
from e2e.cluster.waiting import wait_for

MANIFESTS = Path(__file__).parent.parent / "manifests"
NAMESPACE = "evenkeel-system"
# What only pods need: here the processes are no pods, and their Service leads to the host.
_LEFT_OUT = {"Deployment", "PodDisruptionBudget", "Service", "NetworkPolicy"}
_WEBHOOK_PORT = 8000
_START_SECONDS = 40.0
_DEFINITION_SECONDS = 30.0


class Group(Enum):
    """An API group and where its manifests are."""

    OWN = "autoscaling.evenkeel.dev"
    UPSTREAM = "autoscaling.k8s.io"

    @property
    def definitions(self) -> Path:
        """Folder of the definitions of its two kinds."""
        return MANIFESTS / "crd" if self is Group.OWN else MANIFESTS / "crd" / "upstream-group"

    @property
    def overlay(self) -> Path:
        """Folder of everything else."""
        return MANIFESTS if self is Group.OWN else MANIFESTS / "overlays" / "drop-in"

    @property
    def resource(self) -> str:
        """Full name of the autoscalers, for kubectl."""
        return f"verticalpodautoscalers.{self.value}"

    @property
    def checkpoints(self) -> str:
        """Full name of the checkpoints, for kubectl."""
        return f"verticalpodautoscalercheckpoints.{self.value}"

    @property
    def webhook_service(self) -> str:
        """Name of the Service that leads to the webhook."""
        return "evenkeel-webhook" if self is Group.OWN else "vpa-webhook"

    @property
    def webhook_configuration(self) -> str:
        """Name of the webhook's registration."""
        return "evenkeel-webhook-config" if self is Group.OWN else "vpa-webhook-config"

    @property
    def status_lease(self) -> tuple[str, str]:
        """Namespace and name of the Lease by which the updater knows the admission controller."""
        if self is Group.OWN:
            return NAMESPACE, "evenkeel-admission-controller"
        return "kube-system", "vpa-admission-controller"


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags beyond those of the Deployments, for each process, and variables of the environment of all."""

    all: Sequence[str] = ()
    recommender: Sequence[str] = ()
    updater: Sequence[str] = ()
    admission: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def define(cluster: Cluster, group: Group) -> None:
    """Apply the definitions of an API group, and wait until they are served.

    ``kubectl wait`` fails on a definition that has no conditions yet, as one that was made just now.
    """
    cluster.kubectl("apply", "--server-side", "-k", str(group.definitions))
    for name in (group.resource, group.checkpoints):
        wait_for(
            partial(_is_established, cluster, name), _DEFINITION_SECONDS, f"{name} to be served", every_seconds=0.1
        )


def _is_established(cluster: Cluster, name: str) -> bool:
    """Say whether a definition is served."""
    definition: JsonValue = json.loads(cluster.kubectl("get", "crd", name, "--output=json"))
    return is_condition_true(definition, "Established")


@dataclass(slots=True)
class Installation:
    """Evenkeel on a running cluster, for one API group."""

    cluster: Cluster
    group: Group
    flags: Flags
    _processes: list[ProcessRef] = field(default_factory=list)
    _commands: dict[str, list[str]] = field(default_factory=dict)
    _own_flags: dict[str, Sequence[str]] = field(default_factory=dict)
    _audit_offset: int = 0

    def start(self) -> None:
        """Apply the manifests and start the three processes; the admission controller is waited for."""
        self._audit_offset = self.cluster.audit_offset()
        define(self.cluster, self.group)
        documents = [d for d in yaml.safe_load_all(self.cluster.kubectl("kustomize", str(self.group.overlay))) if d]
        deployments = {text_at(d, "metadata", "name"): d for d in documents if d["kind"] == "Deployment"}
        kept = [d for d in documents if d["kind"] not in _LEFT_OUT and d["kind"] != "CustomResourceDefinition"]
        self._apply(kept)
        self.cluster.expose_host_port(NAMESPACE, self.group.webhook_service, _WEBHOOK_PORT)
        flags = {"recommender": self.flags.recommender, "updater": self.flags.updater}
        self._run("admission-controller", deployments, self.flags.admission)
        for process, own in flags.items():
            self._run(process, deployments, own)
        wait_for(self._admission_is_alive, _START_SECONDS, f"the status Lease\n{self.logs()}", every_seconds=0.5)

    def _apply(self, documents: list[JsonObject]) -> None:
        """Create or change objects, the namespace before what lies in it."""
        ordered = sorted(documents, key=lambda d: d["kind"] != "Namespace")
        text = yaml.safe_dump_all(ordered)
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)

    def _run(self, process: str, deployments: dict[str, JsonObject], own: Sequence[str]) -> None:
        """Start one process as its Deployment says, with a token of its service account."""
        name = f"evenkeel-{process}"
        container = at(deployments[name], "spec", "template", "spec", "containers", 0)
        arguments = [str(a).replace("$(NAMESPACE)", NAMESPACE) for a in _texts(at(container, "args"))]
        kubeconfig = self.cluster.token_kubeconfig(NAMESPACE, name)
        program = str(Path(sys.executable).parent / name)
        self._commands[name] = [program, *arguments, f"--kubeconfig={kubeconfig}", *self.flags.all]
        self._own_flags[name] = own
        self._launch(name)

    def _launch(self, name: str) -> None:
        """Start a process whose command is known."""
        command = [*self._commands[name], *self._own_flags[name]]
        self._processes.append(
            self.cluster.start_process(name, command, {"NAMESPACE": NAMESPACE, **self.flags.environment})
        )

    def command(self, process: str) -> list[str]:
        """Return how a process is started, for a second one beside it."""
        name = f"evenkeel-{process}"
        return [*self._commands[name], *self._own_flags[name]]

    @contextmanager
    def without(self, process: str) -> Iterator[None]:
        """Stop a process for the time of a ``with`` block; a new one starts with the same flags."""
        running = self._running(process)
        self.cluster.stop_process(running)
        self._processes.remove(running)
        try:
            yield
        finally:
            self._launch(running.name)

    @contextmanager
    def otherwise(self, process: str, *flags: str) -> Iterator[None]:
        """Have a process run with other flags instead of its own for the time of a ``with`` block."""
        name = self._running(process).name
        as_before = self._own_flags[name]
        with self.without(process):
            self._own_flags[name] = flags
        try:
            yield
        finally:
            with self.without(process):
                self._own_flags[name] = as_before

    @contextmanager
    def stalled(self, process: str) -> Iterator[None]:
        """Have a process not run on for the time of a ``with`` block, though its port stays open."""
        running = self._running(process)
        os.kill(running.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(running.pid, signal.SIGCONT)

    def _running(self, process: str) -> ProcessRef:
        """Return a process by the part of its name that is its own."""
        (running,) = (p for p in self._processes if p.name == f"evenkeel-{process}")
        return running

    def _admission_is_alive(self) -> bool:
        """Say whether the status Lease is there and the webhook is registered with a bundle."""
        namespace, name = self.group.status_lease
        lease = Kube(self.cluster, namespace).find("lease", name)
        webhook = Kube(self.cluster).find("mutatingwebhookconfiguration", self.group.webhook_configuration)
        bundle = text_at(webhook, "webhooks", 0, "clientConfig", "caBundle")
        assert not self.ended(), f"ended: {self.ended()}\n{self.logs()}"
        return bool(text_at(lease, "spec", "holderIdentity") and bundle)

    def ended(self) -> list[str]:
        """Name the processes that run no more."""
        alive = {p.name: is_alive for p, is_alive in self.cluster.process_states()}
        return [p.name for p in self._processes if not alive.get(p.name, False)]

    def revive(self) -> list[str]:
        """Start what has ended anew, as a node does with containers, and name it."""
        ended = self.ended()
        self._processes = [process for process in self._processes if process.name not in ended]
        for name in ended:
            self._launch(name)
        return ended

    def logs(self) -> str:
        """Return the ends of the logs."""
        return "\n".join(f"--- {p.name}\n{self.cluster.logs(p.name, lines=25)}" for p in self._processes)

    def stop(self) -> None:
        """End the processes in the reverse of the order in which they were started, and take the webhook away."""
        for process in reversed(self._processes):
            self.cluster.stop_process(process)
        self._processes.clear()
        Kube(self.cluster).delete("mutatingwebhookconfiguration", self.group.webhook_configuration)

    def requests(self) -> list[AuditEntry]:
        """Return what the three service accounts have asked of the API server since the start."""
        prefix = f"system:serviceaccount:{NAMESPACE}:evenkeel-"
        entries = self.cluster.audit_entries(offset=self._audit_offset)
        return [e for e in entries if e.user.startswith(prefix)]

    def forbidden(self) -> list[str]:
        """Say which of their requests the API server refused for want of a right."""
        refused = [e for e in self.requests() if e.code in {401, 403} and not e.is_beyond_node]
        return sorted(
            {f"{e.agent}: {e.verb} {e.resource}.{e.group}/{e.subresource} {e.namespace}/{e.name}" for e in refused}
        )


def _texts(value: JsonValue) -> list[str]:
    """Return a list of texts out of a document."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def logged(cluster: Cluster, process: str) -> Iterator[JsonObject]:
    """Yield the lines of a process's log; one that is still being written is left for the next time."""
    for line in cluster.layout.log(process).read_text(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield json.loads(line)


@contextmanager
def installed(cluster: Cluster, group: Group, flags: Flags) -> Iterator[Installation]:
    """Install Evenkeel for the time of a ``with`` block; its logs go with whatever fails inside."""
    installation = Installation(cluster, group, flags)
    try:
        installation.start()
        yield installation
    except (AssertionError, ClusterError) as error:
        error.add_note(installation.logs())
        raise
    finally:
        installation.stop()


def vpa(group: Group, name: str, container_policies: list[JsonValue], **update_policy: JsonValue) -> JsonObject:
    """Return a VPA for the Deployment of the same name."""
    return {
        "apiVersion": f"{group.value}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "updatePolicy": {"updateMode": "InPlaceOrRecreate", **update_policy},
            "resourcePolicy": {"containerPolicies": container_policies},
        },
    }


def recommendation(container: str, cpu: str, memory: str) -> JsonObject:
    """Return a status whose vectors are all the same, as a recommender of another name would write it."""
    amounts: JsonObject = {"cpu": cpu, "memory": memory}
    vectors: JsonObject = dict.fromkeys(("target", "lowerBound", "upperBound", "uncappedTarget"), amounts)
    entry: JsonObject = {"containerName": container, **vectors}
    return {"status": {"recommendation": {"containerRecommendations": [entry]}}}


def resources_of(pod: JsonObject) -> tuple[JsonValue, JsonValue]:
    """Return the requests and limits of a pod's first container as its status reports them."""
    reported = at(pod, "status", "containerStatuses", 0, "resources")
    return at(reported, "requests"), at(reported, "limits")


def restarts(pod: JsonObject) -> int:
    """Return how often a pod's first container was restarted."""
    statuses = objects_at(pod, "status", "containerStatuses")
    count = at(statuses[0], "restartCount") if statuses else 0
    return count if isinstance(count, int) else 0
