"""Short forms written out."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.scenarios.checks import value_at_path
from evenkeel.simulator.scenarios.objects import recommendation_status, vpa_object, workload_object
from evenkeel.simulator.scenarios.reading import parse_scenario

SCENARIO = parse_scenario(
    """\
title: Made up
duration: 10m
nodes: {node-1: {}}
workloads:
  web:
    namespace: team
    replicas: 3
    spec: {minReadySeconds: 5}
    pod: {nodeSelector: {zone: a}}
    containers:
      main:
        requests: {cpu: 0.5, memory: 64Mi}
        limits: {cpu: 1}
        resizePolicy: {cpu: NotRequired, memory: RestartContainer}
        preStop: 1m
      side: {}
  db: {kind: StatefulSet, containers: {main: {}, setup: {role: init}, proxy: {role: sidecar}}}
  agent: {kind: DaemonSet, containers: {main: {}}}
  batch: {kind: Job, replicas: 4, containers: {main: {}}}
vpas:
  web: {namespace: team, minReplicas: 1, policies: [{containerName: "*"}], spec: {updatePolicy: {minReplicas: 2}}}
  batch: {mode: "Off", recommendation: {main: {cpu: 1500m, memory: 1Gi}}}
  other: {target: ReplicationController/legacy}
  cron: {target: CronJob/nightly}
expect: [{pods: web}]
""",
    "made up",
)


def workload(name: str) -> JsonObject:
    return workload_object(name, SCENARIO.workloads[name])


def vpa(name: str) -> JsonObject:
    return vpa_object(name, SCENARIO.vpas[name], SCENARIO.workloads)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("web", "apiVersion", "apps/v1"),
        ("web", "kind", "Deployment"),
        ("web", "metadata", {"name": "web", "namespace": "team"}),
        ("web", "spec.replicas", 3),
        ("web", "spec.minReadySeconds", 5),
        ("web", "spec.selector", {"matchLabels": {"app": "web"}}),
        ("web", "spec.template.metadata.labels", {"app": "web"}),
        ("web", "spec.template.spec.nodeSelector", {"zone": "a"}),
        ("web", "spec.template.spec.containers.0.resources.requests", {"cpu": "500m", "memory": "64Mi"}),
        ("web", "spec.template.spec.containers.0.resources.limits", {"cpu": "1"}),
        ("web", "spec.template.spec.containers.0.resizePolicy.1.resourceName", "memory"),
        ("web", "spec.template.spec.containers.0.resizePolicy.1.restartPolicy", "RestartContainer"),
        ("web", "spec.template.spec.containers.0.lifecycle.preStop.exec.command", ["wait"]),
        ("web", "spec.template.spec.containers.1.name", "side"),
        ("web", "spec.template.spec.containers.1.resources", {}),
        ("web", "spec.template.spec.containers.1.resizePolicy", None),
        ("db", "spec.serviceName", "db"),
        ("db", "spec.replicas", 1),
        ("agent", "spec.replicas", None),
        ("batch", "apiVersion", "batch/v1"),
        ("batch", "spec.completions", 4),
        ("batch", "spec.parallelism", 4),
        ("batch", "spec.selector", None),
        ("batch", "spec.template.spec.restartPolicy", "Never"),
    ],
)  # fmt: skip
def test_workloads(name: str, path: str, value: object) -> None:
    assert value_at_path(workload(name), path) == value


def test_each_container_is_in_the_list_of_its_role() -> None:
    """Spec: beyond:B-16, case:26."""
    spec = value_at_path(workload("db"), "spec.template.spec")
    resources: JsonObject = {"image": "simulated:1", "resources": {}}
    assert spec == {
        "containers": [{"name": "main", **resources}],
        "initContainers": [{"name": "setup", **resources}, {"name": "proxy", **resources, "restartPolicy": "Always"}],
    }


def test_pods_name_what_their_containers_do() -> None:
    annotations = value_at_path(workload("web"), "spec.template.metadata.annotations")
    assert annotations == {"simulator.evenkeel.dev/usage": "main=web.main,side=web.side"}


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("web", "metadata", {"name": "web", "namespace": "team"}),
        ("web", "spec.targetRef", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}),
        ("web", "spec.updatePolicy", {"updateMode": "InPlaceOrRecreate", "minReplicas": 2}),
        ("web", "spec.resourcePolicy.containerPolicies", [{"containerName": "*"}]),
        ("web", "spec.recommenders", None),
        ("batch", "spec.targetRef", {"apiVersion": "batch/v1", "kind": "Job", "name": "batch"}),
        ("batch", "spec.updatePolicy", {"updateMode": "Off"}),
        ("batch", "spec.resourcePolicy", None),
        ("batch", "spec.recommenders", [{"name": "by-hand"}]),
        ("other", "spec.targetRef", {"apiVersion": "v1", "kind": "ReplicationController", "name": "legacy"}),
        ("cron", "spec.targetRef", {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly"}),
        ("cron", "apiVersion", "autoscaling.evenkeel.dev/v1"),
    ],
)
def test_vpas(name: str, path: str, value: object) -> None:
    assert value_at_path(vpa(name), path) == value


def test_a_recommendation_by_hand_has_all_vectors_alike() -> None:
    given = SCENARIO.vpas["batch"].recommendation
    assert given is not None
    (entry,) = value_at_path(recommendation_status(given), "recommendation.containerRecommendations")  # type: ignore[misc]
    names = ("target", "lowerBound", "upperBound", "uncappedTarget")
    vectors = {name: {"cpu": "1500m", "memory": "1Gi"} for name in names}
    assert entry == {"containerName": "main", **vectors}  # type: ignore[has-type]
