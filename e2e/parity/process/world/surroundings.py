"""What surrounds the workloads of a made-up cluster: namespaces, limits, quotas, budgets, Leases, a custom kind."""

from __future__ import annotations

from datetime import datetime, timedelta

from e2e.parity.process.world.dice import MEBIBYTE, Dice, amounts_json
from e2e.parity.process.world.workloads import CUSTOM_GROUP, CUSTOM_KIND, WORKLOAD_LABEL, Workload
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339

FREE, CONTAINER_LIMITED, POD_LIMITED, IGNORED = "free", "limited", "pod-limited", "ignored"
LEASE_NAME = "vpa-admission-controller"
_LEASE_NAMESPACE = "kube-system"


def namespaces() -> list[JsonObject]:
    """Return the namespaces; the usual ones are there already."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}
        for name in (FREE, CONTAINER_LIMITED, POD_LIMITED, IGNORED)
    ]


def custom_definition() -> JsonObject:
    """Return the definition of a custom kind of controllers that can be scaled."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"kind": CUSTOM_KIND, "listKind": f"{CUSTOM_KIND}List", "plural": "flocks", "singular": "flock"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"flocks.{CUSTOM_GROUP}"},
        "spec": {"group": CUSTOM_GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def limit_ranges(dice: Dice) -> list[JsonObject]:
    """Make up LimitRanges: of containers in one namespace, perhaps two of them, of pods in another."""
    items = [_container_item(dice)]
    if dice.chance(0.4):
        items.append(_container_item(dice))
        # Of several defaults the last one seen counts, and in which order they are seen is left to chance; where none
        # is given, the maximum is one.
        usual = amounts_json({"cpu": 400, "memory": 300 * MEBIBYTE})
        items = [{**item, "default": usual} for item in items]
    found = [_limit_range(CONTAINER_LIMITED, f"containers-{number}", item) for number, item in enumerate(items)]
    return [*found, _limit_range(POD_LIMITED, "pods", _pod_item(dice))]


def _limit_range(namespace: str, name: str, item: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [item]}}


def _container_item(dice: Dice) -> JsonObject:
    least = {"cpu": dice.pick((10, 50, 100)), "memory": dice.pick((16, 64, 128)) * MEBIBYTE}
    most = {"cpu": dice.pick((800, 2000, 4000)), "memory": dice.pick((512, 2048, 4096)) * MEBIBYTE}
    usual = {"cpu": dice.pick((300, 500)), "memory": dice.pick((256, 512)) * MEBIBYTE}
    item: JsonObject = {"type": "Container"}
    if dice.chance(0.7):
        item["min"] = amounts_json(least)
    if dice.chance(0.8):
        item["max"] = amounts_json(most)
    if dice.chance(0.6):
        item["default"] = amounts_json(usual)
        item["defaultRequest"] = amounts_json(least)
    return item


def _pod_item(dice: Dice) -> JsonObject:
    item: JsonObject = {"type": "Pod"}
    most = {"cpu": dice.pick((500, 1500, 4000)), "memory": dice.pick((512, 1024, 4096)) * MEBIBYTE}
    least = {"cpu": dice.pick((50, 200)), "memory": dice.pick((64, 256)) * MEBIBYTE}
    return {**item, "max": amounts_json(most), **({"min": amounts_json(least)} if dice.chance(0.5) else {})}


def disruption_budget(workload: Workload, allowed: int) -> JsonObject:
    """Return a disruption budget for the pods of a workload, as its controller has left it."""
    metadata = {"name": workload.name, "namespace": workload.namespace, "generation": 1}
    pods = sum(group.pods for group in workload.groups)
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": pods,
        "desiredHealthy": max(0, pods - allowed),
        "expectedPods": pods,
    }
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {"minAvailable": max(0, pods - allowed), "selector": {"matchLabels": {WORKLOAD_LABEL: workload.name}}},
        "status": status,
    }


def status_lease(now: datetime, age: timedelta) -> JsonObject:
    """Return the Lease by which the admission controller says that it lives, renewed some time ago."""
    made = rfc3339(now - timedelta(hours=3))
    renewed = (now - age).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE_NAME, "namespace": _LEASE_NAMESPACE, "creationTimestamp": made},
        "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 10, "renewTime": renewed},
    }
