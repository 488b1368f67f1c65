"""VPAs as somebody submits them, drawn: with every mistake that validation knows."""

from __future__ import annotations

from e2e.parity.dice import Dice
from e2e.parity.kinds import Case


def submitted_vpa(dice: Dice) -> Case:
    """Draw a VPA as it is submitted."""
    options: Case = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "updatePolicy": _update_policy(dice),
        "resourcePolicy": {"containerPolicies": [_policy(dice) for _ in range(dice.pick(0, 1, 1, 2))]},
        "startupBoost": _boost(dice),
        "recommenders": [{"name": dice.pick("a", "")}] * dice.pick(0, 1, 2),
    }
    likely = {"targetRef": 0.9, "updatePolicy": 0.75, "resourcePolicy": 0.75, "startupBoost": 0.15, "recommenders": 0.2}
    spec: object = {name: options[name] for name, share in likely.items() if dice.chance(share)}
    if dice.chance(0.01):
        spec = dice.pick("x", [], None, 1)
    meta: Case = {"namespace": "n1", "name": "v"}
    return {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": meta, "spec": spec}


def _update_policy(dice: Dice) -> Case:
    drawn: Case = {}
    if dice.chance(0.93):
        drawn["updateMode"] = dice.pick(
            "Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace", "InPlace", "bad", ""
        )
    if dice.chance(0.25):
        drawn["minReplicas"] = dice.pick(0, 1, -1, 3, 2**31 - 1)
    if dice.chance(0.2):
        drawn["evictAfterOOMSeconds"] = dice.pick(0, 1, 60, -5)
    if dice.chance(0.01):
        drawn["minReplicas"] = dice.pick("3", 1.5, 2**40)
    return drawn


def _policy(dice: Dice) -> Case:
    options: Case = {
        "mode": dice.pick("Auto", "Off", "Off", "Bad", ""),
        "minAllowed": _bounds(dice),
        "maxAllowed": _bounds(dice),
        "controlledValues": dice.pick("RequestsAndLimits", "RequestsOnly", "Other", ""),
        "controlledResources": [dice.pick("cpu", "memory", "gpu", "disk", "") for _ in range(dice.whole(0, 3))],
        "oomBumpUpRatio": dice.pick("1", "0.9991", "0.999", "2", 1.5, "-1", "0"),
        "oomMinBumpUp": dice.pick("0", "-1", "1Mi", "0.5"),
        "memoryAggregationIntervalSeconds": dice.pick(0, 1, -1, 3600),
        "memoryAggregationIntervalCount": dice.pick(0, 1, 2**40),
        "startupBoost": _boost(dice),
    }
    chosen = dice.some(sorted(options), 4)
    drawn: Case = {name: options[name] for name in chosen}
    return {"containerName": dice.pick("*", "a", "a", ""), **drawn} if dice.chance(0.95) else drawn


def _bounds(dice: Dice) -> Case:
    """Draw bounds, in any notation of a quantity."""
    names = dice.some(("cpu", "memory", "gpu"), 3)
    bad = ("bad",) if dice.chance(0.03) else ()
    return {name: dice.pick("1", "2", "100.5m", "1500u", "-1", "0", "1500m", "1Ki", 1, 0.5, *bad) for name in names}


def _boost(dice: Dice) -> Case:
    if dice.chance(0.15):
        return {}
    options: Case = {
        "type": dice.pick("Factor", "Factor", "Quantity", "Times", ""),
        "factor": dice.pick(0, 1, 2, -1),
        "quantity": dice.pick("1", "100m", "1500u", "-1"),
        "durationSeconds": dice.pick(-1, 5),
    }
    return {"cpu": {name: options[name] for name in dice.some(sorted(options), 4)}}
