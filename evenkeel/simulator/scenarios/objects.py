"""The Kubernetes objects that the short forms of a scenario file stand for."""

from __future__ import annotations

from collections.abc import Mapping

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject, as_object
from evenkeel.simulator.api.merging import merge_patch
from evenkeel.simulator.scenarios.document import Container, ContainerRole, VpaDocument, Workload, WorkloadKind
from evenkeel.simulator.workloads.choices import USAGE_KEY

WORKLOAD_LABEL = "app"
"""Label of pods with the name of their workload."""

BY_HAND = "by-hand"
"""The recommender that VPAs name whose recommendation the scenario gives."""

_IMAGE = "simulated:1"
_VECTORS = ("target", "lowerBound", "upperBound", "uncappedTarget")


def behaviour_name(workload: str, container: str) -> str:
    """Return the name under which the catalogue has what a container does."""
    return f"{workload}.{container}"


def workload_object(name: str, workload: Workload) -> JsonObject:
    """Return a workload as its controller takes it."""
    spec: JsonObject = {"template": _template(name, workload)}
    if workload.kind is WorkloadKind.JOB:
        spec |= {"completions": workload.replicas, "parallelism": workload.replicas}
    else:
        spec["selector"] = {"matchLabels": {WORKLOAD_LABEL: name}}
    if workload.kind in {WorkloadKind.DEPLOYMENT, WorkloadKind.STATEFUL_SET}:
        spec["replicas"] = workload.replicas
    if workload.kind is WorkloadKind.STATEFUL_SET:
        spec["serviceName"] = name
    return {
        "apiVersion": "batch/v1" if workload.kind is WorkloadKind.JOB else "apps/v1",
        "kind": workload.kind.value,
        "metadata": {"name": name, "namespace": workload.namespace},
        "spec": as_object(merge_patch(spec, workload.spec)),
    }


def _template(name: str, workload: Workload) -> JsonObject:
    """Return the template of a workload's pods."""
    usage = ",".join(f"{container}={behaviour_name(name, container)}" for container in workload.containers)
    pod = _containers(workload)
    if workload.kind is WorkloadKind.JOB:
        pod["restartPolicy"] = "Never"
    return {
        "metadata": {"labels": {WORKLOAD_LABEL: name}, "annotations": {USAGE_KEY: usage}},
        "spec": as_object(merge_patch(pod, workload.pod)),
    }


def _containers(workload: Workload) -> JsonObject:
    """Return the lists of containers of a pod's spec."""
    regular: list[JsonObject] = []
    init: list[JsonObject] = []
    for name, container in workload.containers.items():
        body = _container(name, container)
        if container.role is ContainerRole.REGULAR:
            regular.append(body)
        else:
            init.append(body | ({"restartPolicy": "Always"} if container.role is ContainerRole.SIDECAR else {}))
    return as_object({"containers": regular} | ({"initContainers": init} if init else {}))


def _container(name: str, container: Container) -> JsonObject:
    """Return one container of a template."""
    resources = {"requests": amounts(container.requests), "limits": amounts(container.limits)}
    policies = [{"resourceName": key, "restartPolicy": value.value} for key, value in container.resize_policy.items()]
    body: JsonObject = {"name": name, "image": _IMAGE, "resources": {k: v for k, v in resources.items() if v}}
    if policies:
        body["resizePolicy"] = policies
    if container.pre_stop:
        # What it runs is the simulator's business; that it has a hook is the API's.
        body["lifecycle"] = {"preStop": {"exec": {"command": ["wait"]}}}
    return body


def amounts(given: Mapping[str, Quantity]) -> JsonObject:
    """Return amounts by resource as JSON."""
    return {resource: str(amount) for resource, amount in given.items()}


def vpa_object(name: str, vpa: VpaDocument, workloads: Mapping[str, Workload]) -> JsonObject:
    """Return a VPA."""
    kind, target = _target(name, vpa, workloads)
    policy: JsonObject = {"updateMode": vpa.mode.value}
    if vpa.min_replicas is not None:
        policy["minReplicas"] = vpa.min_replicas
    spec: JsonObject = {
        "targetRef": {"apiVersion": _api_version(kind), "kind": kind, "name": target},
        "updatePolicy": policy,
    }
    if vpa.policies:
        spec["resourcePolicy"] = {"containerPolicies": list(vpa.policies)}
    if vpa.recommendation is not None:
        spec["recommenders"] = [{"name": BY_HAND}]
    return {
        "apiVersion": vpa.api_version,
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": name, "namespace": vpa.namespace},
        "spec": as_object(merge_patch(spec, vpa.spec)),
    }


def _target(name: str, vpa: VpaDocument, workloads: Mapping[str, Workload]) -> tuple[str, str]:
    """Return kind and name of what a VPA scales."""
    if vpa.target:
        kind, _, target = vpa.target.partition("/")
        return kind, target
    return workloads[name].kind.value, name


def _api_version(kind: str) -> str:
    """Return the API version of a kind of workloads."""
    if kind in {"Job", "CronJob"}:
        return "batch/v1"
    return "v1" if kind == "ReplicationController" else "apps/v1"


def recommendation_status(containers: Mapping[str, Mapping[str, Quantity]]) -> JsonObject:
    """Return the status of a VPA whose vectors are all the same, as another recommender would write it."""
    entries = [
        {"containerName": name, **dict.fromkeys(_VECTORS, amounts(target))} for name, target in containers.items()
    ]
    return {"recommendation": {"containerRecommendations": entries}}
