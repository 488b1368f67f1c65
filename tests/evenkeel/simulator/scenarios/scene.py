"""A made-up run for tests of expectations: objects in a store, and what happened."""

from __future__ import annotations

from datetime import timedelta

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.scenarios.evidence import Evidence
from evenkeel.simulator.scenarios.happenings import Decided, Happening, PodChange, PodHappening, Told
from evenkeel.simulator.scenarios.reading import parse_scenario

SCENARIO = """\
title: Made up
duration: 10m
nodes: {node-1: {}, node-2: {}}
workloads:
  web: {replicas: 2, containers: {main: {}, side: {}}}
  web-api: {containers: {main: {}}}
  each: {kind: DaemonSet, containers: {main: {}}}
vpas: {web: {}}
expect: [{pods: web}]
"""

RESOURCES: JsonObject = {"requests": {"cpu": "400m", "memory": "100Mi"}, "limits": {"cpu": "4", "memory": "200Mi"}}


def pod(name: str, workload: str = "web", *, restarts: int = 0, **status: object) -> JsonObject:
    """A running pod whose spec asks for less than its status reports."""
    asked = {"requests": {"cpu": "50m"}}
    containers = [{"name": "main", "image": "i", "resources": asked}, {"name": "side", "image": "i"}]
    statuses = [
        {"name": "main", "restartCount": restarts, "resources": RESOURCES},
        {"name": "side", "restartCount": 0, "resources": {"requests": {"cpu": "1m"}}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": workload}},
        "spec": {"nodeName": "node-1", "containers": containers},
        "status": {"phase": "Running", "containerStatuses": statuses, **status},
    }


def created(name: str, workload: str = "web") -> Happening:
    return PodHappening(timedelta(0), name, PodChange.CREATED, f"uid-{name}", workload, "")


def told(seconds: float, reason: str, name: str, message: str = "") -> Happening:
    return Told(timedelta(seconds=seconds), reason, "Pod", name, "default", message, "kubelet")


def decided(seconds: float, name: str, action: str = "evict", reason: str = "resize_timed_out") -> Happening:
    return Decided(timedelta(seconds=seconds), f"Pod default/{name}", action, reason, "")


def call(verb: str, resource: str, status: int) -> RecordedCall:
    return RecordedCall(verb, "/path", {}, "updater", "", b"", status, EPOCH, resource)


def vpa() -> JsonObject:
    """A VPA with a recommendation for two containers."""
    vectors = {"target": {"cpu": "400m", "memory": "100Mi"}, "upperBound": {"cpu": "1"}, "lowerBound": {"cpu": "25m"}}
    entries = [{"containerName": "main", **vectors}, {"containerName": "side", "target": {"cpu": "5m"}}]
    conditions = [{"type": "RecommendationProvided", "status": "True"}]
    return {
        "apiVersion": "autoscaling.evenkeel.dev/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        "status": {"recommendation": {"containerRecommendations": entries}, "conditions": conditions},
    }


def evidence(
    *objects: JsonObject, happenings: tuple[Happening, ...] = (), calls: tuple[RecordedCall, ...] = ()
) -> Evidence:
    """The evidence of a run that came to these objects."""
    server = ApiServer()
    for definition in definitions(ApiGroup.EVENKEEL).values():
        server.store.create(dict(definition))
    for one in objects:
        server.store.create(one)
    return Evidence(parse_scenario(SCENARIO, "made up"), server.store, happenings, calls)
