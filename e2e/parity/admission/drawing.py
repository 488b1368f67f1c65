"""Pods, VPAs and LimitRanges for admission, drawn: sound ones mostly, odd ones now and then."""

from __future__ import annotations

from typing import Final

from e2e.parity.amounts import amounts
from e2e.parity.cluster import scale_path
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case

SPACE: Final = "n1"
CONTAINERS: Final = ("c0", "c1", "c2")
_MODES: Final = ("Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace")


def container(dice: Dice, name: str) -> Case:
    """Draw a container of a pod, with whatever resources."""
    drawn: Case = {"name": name, "image": "i"}
    if dice.chance(0.9):
        resources: Case = {}
        if dice.chance(0.85):
            resources["requests"] = amounts(dice, 0.8, 0.04)
        if dice.chance(0.7):
            resources["limits"] = amounts(dice, 0.8, 0.04)
        if dice.chance(0.05):
            resources["claims"] = [{"name": "x"}]
        drawn["resources"] = resources
    return drawn


def pod(dice: Dice) -> Case:
    """Draw a pod as it is submitted, owned by whatever."""
    names = CONTAINERS[: dice.pick(1, 1, 1, 2, 2, 3, 0)]
    meta: Case = {"labels": {"app": dice.pick(*["a"] * 30, "b")}, "ownerReferences": _owners(dice)}
    meta |= dice.pick({"name": "p"}, {"generateName": "p-"}, {"name": "p"}, {})
    if dice.chance(0.985):
        meta["namespace"] = SPACE
    if dice.chance(0.4):
        meta["annotations"] = dice.pick({}, {"a": "b"}, {"vpaUpdates": "x"}, {"vpaObservedContainers": "c0"})
    drawn: Case = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container(dice, n) for n in names]},
    }
    if dice.chance(0.1):
        drawn["status"] = {"containerStatuses": [_container_status(dice, name) for name in names]}
    return drawn


def _container_status(dice: Dice, name: str) -> Case:
    in_force: Case = {"requests": amounts(dice), "limits": amounts(dice)}
    return {
        "name": name,
        **dice.pick({}, {"resources": {}}, {"resources": in_force}, {"resources": {"requests": amounts(dice)}}),
    }


def _owners(dice: Dice) -> list[Case]:
    owners: list[Case] = []
    for _ in range(dice.pick(*[1] * 60, 2, 0)):
        kind = dice.pick(*["ReplicaSet"] * 120, "Deployment", "Node", "Foo", "Foo", "Bar", "Nope")
        owner: Case = {
            "apiVersion": "example.com/v1" if kind in {"Foo", "Bar"} else "apps/v1",
            "kind": kind,
            "name": dice.pick(*["rs"] * 60, "d", "none"),
            "uid": "u",
        }
        if dice.chance(0.997):
            owner["controller"] = dice.pick(*[True] * 60, False)
        owners.append(owner)
    return owners


def workloads(dice: Dice) -> list[Case]:
    """Draw what stands above pods: a ReplicaSet, its Deployment, and at times something above that."""
    selector = dice.pick(
        *[{"matchLabels": {"app": "a"}}] * 40,
        {},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "c"]}]},
        None,
    )
    spec: Case = {"replicas": 1, "template": {}}
    if selector is not None:
        spec["selector"] = selector
    above: Case = {}
    if dice.chance(0.03):
        kind = dice.pick("Foo", "Bar", "Deployment", "Node", "Nope")
        above = {
            "ownerReferences": [
                {
                    "apiVersion": "example.com/v1",
                    "kind": kind,
                    "name": dice.pick("d", "foo"),
                    "controller": True,
                    "uid": "u",
                }
            ]
        }
    deployment: Case = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": SPACE, "name": "d", **above},
        "spec": spec,
    }
    owner: Case = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True, "uid": "u"}
    replica_set: Case = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"namespace": SPACE, "name": "rs", "ownerReferences": [owner]},
        "spec": spec,
    }
    return [deployment, replica_set] if dice.chance(0.985) else [replica_set]


def scales(dice: Dice) -> Case:
    """Draw the scales of objects of a kind that is not well known."""
    if dice.chance(0.7):
        return {}
    scale: Case = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"namespace": SPACE, "name": "rs"},
        "spec": {"replicas": 1},
        "status": {"selector": dice.pick("app=a", "app=a", "", "app in", "app")},
    }
    return {
        scale_path(SPACE, "Foo", name): {**scale, "metadata": {"namespace": SPACE, "name": name}}
        for name in ("rs", "foo")
    }


def policy(dice: Dice) -> Case:
    """Draw a container policy that the schema lets through."""
    options: Case = {
        "minAllowed": amounts(dice, 0.7, 0.03),
        "maxAllowed": amounts(dice, 0.7, 0.03),
        "controlledValues": dice.pick("RequestsOnly", "RequestsAndLimits"),
        "mode": dice.pick("Off", "Auto"),
        "controlledResources": dice.pick(["cpu"], ["memory"], []),
        "startupBoost": _boost(dice),
    }
    likely = {"minAllowed": 0.4, "maxAllowed": 0.4, "controlledValues": 0.4, "mode": 0.2}
    chosen = [name for name in sorted(options) if dice.chance(likely.get(name, 0.12))]
    return {"containerName": dice.pick("*", "*", *CONTAINERS, "c0"), **{name: options[name] for name in chosen}}


def _boost(dice: Dice) -> Case:
    """Draw a start-up boost; now and then one that cannot be reckoned, which the schema lets through all the same."""
    if dice.chance(0.02):
        return {}
    kind = dice.pick(
        {"type": "Factor", "factor": dice.pick(1, 2, 3, 10)},
        {"type": "Quantity", "quantity": dice.pick("1", "250m", "1500u", "0")},
    )
    odd = dice.pick({"type": "Factor"}, {"type": "Factor", "factor": 0}, {"factor": 2}, {"type": "Quantity"})
    return {"cpu": odd if dice.chance(0.03) else kind}


def recommendation(dice: Dice) -> Case:
    """Draw a recommendation for some containers, bounds missing now and then."""
    entries: list[Case] = []
    for name in dice.some((*CONTAINERS, "gone"), 4):
        entry: Case = {"containerName": name, "target": amounts(dice, 0.9, 0.03)}
        for bound in ("lowerBound", "upperBound"):
            if dice.chance(0.9):
                entry[bound] = amounts(dice, 0.9)
        entries.append(entry)
    return {"containerRecommendations": entries}


def vpa(dice: Dice, name: str) -> Case:
    """Draw a VPA in the cluster."""
    kind = dice.pick(*["Deployment"] * 40, "Foo", "ReplicaSet")
    spec: Case = {
        "targetRef": {
            "apiVersion": dice.pick("apps/v1", "x/v9", "example.com/v1"),
            "kind": kind,
            "name": "rs" if kind != "Deployment" else "d",
        }
    }
    if dice.chance(0.8):
        spec["updatePolicy"] = dice.pick({}, {"updateMode": "Off"}, *[{"updateMode": mode} for mode in _MODES * 2])
    if dice.chance(0.65):
        spec["resourcePolicy"] = {"containerPolicies": [policy(dice) for _ in range(dice.pick(0, 1, 1, 2, 3))]}
    if dice.chance(0.25):
        spec["startupBoost"] = _boost(dice)
    created = f"1999-12-0{dice.whole(1, 2)}T00:00:00Z"
    drawn: Case = {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"namespace": SPACE, "name": name, "creationTimestamp": created},
        "spec": spec,
    }
    if dice.chance(0.93):
        drawn["status"] = {"recommendation": recommendation(dice)}
    return drawn


def limit_ranges(dice: Dice) -> list[Case]:
    """Draw the LimitRanges of a namespace, often none."""
    return [_limit_range(dice, name) for name in dice.some(("l1", "l2"), 2)] if dice.chance(0.45) else []


def _limit_range(dice: Dice, name: str) -> Case:
    items: list[Case] = []
    for _ in range(dice.pick(1, 1, 2, 3)):
        kind = dice.pick("Container", "Container", "Pod", "Pod", "PersistentVolumeClaim")
        item: Case = {"type": kind}
        for bound in ("max", "min", "default", "defaultRequest"):
            if dice.chance(0.45) and (kind == "Container" or not bound.startswith("default")):
                item[bound] = amounts(dice, 0.7, 0.03)
        items.append(item)
    return {"metadata": {"namespace": SPACE, "name": name}, "spec": {"limits": items}}
