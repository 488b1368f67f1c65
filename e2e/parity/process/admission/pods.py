"""Pods as controllers and users submit them, made up by chance."""

from __future__ import annotations

from dataclasses import replace

from e2e.parity.process.world.dice import Dice, amounts_json
from e2e.parity.process.world.workloads import Container, Group, Workload
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows


def make_pod(dice: Dice, workload: Workload, group: Group) -> JsonObject:
    """Make up a pod of a workload as it comes to the webhook: most as its controller makes it, some odd."""
    metadata: JsonObject = {"labels": dict(group.labels), "namespace": workload.namespace}
    if dice.chance(0.7):
        metadata["generateName"] = f"{workload.name}-"
    else:
        metadata["name"] = f"{workload.name}-{dice.between(0, 9)}"
    if dice.chance(0.15):
        del metadata["namespace"]
    if dice.chance(0.5):
        metadata["annotations"] = dice.pick(({}, {"example.org/note": "x"}, {"vpaUpdates": "earlier"}))
    _own(dice, metadata, group)
    if dice.chance(0.06):
        metadata["labels"] = dice.pick(({}, {"app": "another"}))
    containers = [_container(dice, one) for one in workload.containers]
    if dice.chance(0.12):
        containers.insert(dice.between(0, len(containers)), {"name": "injected", "image": "made-up:1", "resources": {}})
    spec: JsonObject = {"containers": containers}
    if dice.chance(0.1):
        spec["initContainers"] = [{"name": "init", "image": "made-up:1", "resources": {"requests": {"cpu": "1"}}}]
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if dice.chance(0.08):
        pod["status"] = _status(dice, workload)
    return pod


def _own(dice: Dice, metadata: JsonObject, group: Group) -> None:
    """Let a pod name its controller, and perhaps other owners."""
    owners = [] if group.owner is None else [group.owner]
    if dice.chance(0.06):
        owners = [*owners, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}]
    if dice.chance(0.04) and owners:
        owners = [{**copy_of(owners[0]), "name": "gone"}]
    if dice.chance(0.03):
        owners = [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "n", "controller": True}]
    if dice.chance(0.03):
        owners = []
    if owners:
        metadata["ownerReferences"] = owners


def _container(dice: Dice, container: Container) -> JsonObject:
    """Return a container, in some cases with other resources than its template has."""
    what = dice.weighted(
        {"as it is": 0.72, "more": 0.1, "no requests": 0.05, "no limits": 0.05, "empty": 0.05, "claims": 0.03}
    )
    match what:
        case "more":
            requests = {name: int(value * dice.within(1.1, 3)) for name, value in container.requests.items()}
            container = replace(container, requests=requests)
        case "no requests":
            container = replace(container, requests={})
        case "no limits":
            container = replace(container, limits={})
        case "empty":
            return {**container.body(), "resources": dice.pick(({}, {"requests": {}}, {"limits": {}, "requests": {}}))}
        case "claims":
            return {**container.body(), "resources": {"claims": [{"name": "device"}]}}
    body = container.body()
    if dice.chance(0.08):
        resources = copy_of(child(body, "resources"))
        resources["requests"] = {**child(resources, "requests"), "example.org/gpu": "1"}
        body["resources"] = resources
    return body


def _status(dice: Dice, workload: Workload) -> JsonObject:
    """Return a status that says something else about the resources than the spec does."""
    amounts = {"requests": amounts_json({"cpu": dice.cpu_millis(), "memory": dice.memory_bytes()})}
    return {"containerStatuses": [{"name": one.name, "resources": amounts} for one in workload.containers]}


def container_names(pod: JsonObject) -> list[str]:
    """Return the names of a pod's containers."""
    return [str(one.get("name")) for one in rows(pod, "spec", "containers")]
