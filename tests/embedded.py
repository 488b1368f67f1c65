"""Objects of a small cluster on the embedded API server, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from autoscaling.kube.client import KubeClient
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.process import FailureHandler, Periodic
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.builtin import PODS, builtin_kinds
from evenkeel.simulator.api.pods import PodStrategy
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.builders import T0

GROUP = ApiGroup.EVENKEEL
Json = dict[str, object]
_POD_KIND = next(kind for kind in builtin_kinds() if kind.resource == PODS)


class HeldDriver:
    """A driver whose time is set by the test and which starts no round by itself."""

    def __init__(self, now: datetime = T0) -> None:
        self.time = now
        self.jobs: list[Periodic] = []

    def now(self) -> datetime:
        return self.time

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        self.jobs.append(periodic)

    async def stop(self, grace: timedelta) -> None:
        self.jobs.clear()


def api_server() -> ApiServer:
    """Return a server that knows the definitions of our own group."""
    server = ApiServer()
    for definition in definitions(GROUP).values():
        server.store.create(dict(definition))
    return server


@asynccontextmanager
async def client_for(server: ApiServer) -> AsyncIterator[KubeClient]:
    """Serve a server and connect to it."""
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, HeldPacing()) as (client, _):
        yield client


def vpa_object(name: str = "web", *, status: Json | None = None, **spec: object) -> Json:
    """Return a VPA for the Deployment of the same name."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    policy = {"updateMode": "InPlaceOrRecreate", "minReplicas": 1}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetRef": target, "updatePolicy": policy, **spec},
        **({"status": status} if status is not None else {}),
    }


def recommended_status(cpu: str, memory: str, container: str = "main") -> Json:
    """Return a VPA status whose vectors are all the same."""
    amounts = {"cpu": cpu, "memory": memory}
    vectors = dict.fromkeys(("target", "lowerBound", "upperBound", "uncappedTarget"), amounts)
    entry = {"containerName": container, **vectors}
    provided = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"recommendation": {"containerRecommendations": [entry]}, "conditions": [provided], "observedGeneration": 1}


def owner(kind: str, name: str) -> Json:
    """Return a reference to a controller."""
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def deploy(
    server: ApiServer, name: str = "web", replicas: int = 1, resources: Mapping[str, object] | None = None
) -> None:
    """Create a Deployment with its ReplicaSet and running pods ``NAME-0``, ``NAME-1`` and so on."""
    selector = {"matchLabels": {"app": name}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    for kind, own_name, owners in (("Deployment", name, []), ("ReplicaSet", f"{name}-rs", [owner("Deployment", name)])):
        metadata = {"name": own_name, "namespace": "default", "ownerReferences": owners}
        server.store.create({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})
    for index in range(replicas):
        server.store.create(pod_object(f"{name}-{index}", name, resources))


def scalable_definition(group: str, kind: str, plural: str) -> Json:
    """Return the definition of a custom kind with a scale, whose selector its status tells."""
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"scale": scale, "status": {}},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def node_object(name: str = "node1", cpu: str = "4", memory: str = "8Gi") -> Json:
    """Return a node that is Ready; pods of ``pod_object`` are on the one of this name."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status: Json = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod_object(name: str, app: str, resources: Mapping[str, object] | None = None) -> Json:
    """Return a running pod of a Deployment's ReplicaSet."""
    given = resources or {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}}
    container = {"name": "main", "image": "i", "resources": given}
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    status = {"name": "main", "ready": True, "restartCount": 0, "resources": given, "state": running, "image": "i"}
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": app},
            "ownerReferences": [owner("ReplicaSet", f"{app}-rs")],
        },
        "spec": {"nodeName": "node1", "containers": [container]},
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [status],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }
    # What is stored has its defaults already, as after any creation through the API.
    PodStrategy(_POD_KIND).set_defaults(pod)
    return pod
