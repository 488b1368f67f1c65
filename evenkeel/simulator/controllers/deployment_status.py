"""The status of a Deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.rollout import Bounds


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a Deployment is.

    Args:
        deployment: Its body.
        bounds: Its size, and how far an update may go.
        new: Body of the ReplicaSet of the present template, None before there is one.
        old: Bodies of the others.
    """

    deployment: JsonObject
    bounds: Bounds
    new: JsonObject | None
    old: Sequence[JsonObject]

    @property
    def every(self) -> list[JsonObject]:
        """All ReplicaSets."""
        return ([self.new] if self.new else []) + list(self.old)


def counts(rollout: Rollout) -> JsonObject:
    """Return the numbers of a Deployment's status; those that are zero are left out, as always."""
    every = rollout.every
    told = sum(number(body, "spec", "replicas") for body in every)
    available = _total(every, "availableReplicas")
    found = {
        "replicas": _total(every, "replicas"),
        "updatedReplicas": _total([rollout.new] if rollout.new else [], "replicas"),
        "readyReplicas": _total(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, told - available),
    }
    status: JsonObject = {name: count for name, count in found.items() if count}
    status["terminatingReplicas"] = _total(every, "terminatingReplicas")
    return status


def is_complete(rollout: Rollout, status: JsonObject) -> bool:
    """Say whether all pods are of the present template and available, and no other is left."""
    wanted = rollout.bounds.replicas
    shown = [number(status, name) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    return rollout.new is not None and shown == [wanted, wanted, wanted]


def status_of(rollout: Rollout, event: str, now: datetime) -> JsonObject:
    """Return a Deployment's whole status.

    Args:
        rollout: How far it is.
        event: Reason of the Progressing condition when a ReplicaSet was created or found just now; else empty.
        now: For the times of conditions that change.
    """
    before = child(rollout.deployment, "status")
    status = counts(rollout)
    status["observedGeneration"] = number(rollout.deployment, "metadata", "generation")
    if number(before, "collisionCount"):
        status["collisionCount"] = number(before, "collisionCount")
    available = number(status, "availableReplicas") >= rollout.bounds.least
    conditions = {text(row, "type"): row for row in rows(before, "conditions")}
    _put(conditions, _available(available=available), now)
    progress = _progress(rollout, status, event)
    if progress is not None:
        _put(conditions, progress, now)
    failures = [row for body in rollout.every for row in rows(body, "status", "conditions")]
    failure = next((row for row in failures if text(row, "type") == "ReplicaFailure"), None)
    conditions.pop("ReplicaFailure", None)
    if failure is not None:
        conditions["ReplicaFailure"] = {**failure, "lastUpdateTime": text(failure, "lastTransitionTime")}
    status["conditions"] = list(conditions.values())
    return status


def _available(*, available: bool) -> JsonObject:
    """Return the Available condition."""
    if available:
        message = "enough replicas are available"
        return {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": message}
    message = "fewer replicas are available than there should be"
    return {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": message}


def _progress(rollout: Rollout, status: JsonObject, event: str) -> JsonObject | None:
    """Return the Progressing condition, None when it stays as it is."""
    name = text(rollout.new, "metadata", "name") if rollout.new else ""
    if event:
        return _progressing(event, f"ReplicaSet {name} is the one of the present template")
    if is_complete(rollout, status):
        return _progressing("NewReplicaSetAvailable", f"ReplicaSet {name} has all its pods available")
    if _moved(child(rollout.deployment, "status"), status):
        return _progressing("ReplicaSetUpdated", f"ReplicaSet {name} is being rolled out")
    return None


def _progressing(reason: str, message: str) -> JsonObject:
    """Return a Progressing condition that holds."""
    return {"type": "Progressing", "status": "True", "reason": reason, "message": message}


def _moved(before: JsonObject, after: JsonObject) -> bool:
    """Say whether a rollout has come further: more updated, ready or available pods, or fewer old ones."""
    if any(number(after, n) > number(before, n) for n in ("updatedReplicas", "readyReplicas", "availableReplicas")):
        return True
    old_before, old_after = (number(side, "replicas") - number(side, "updatedReplicas") for side in (before, after))
    return old_after < old_before


def _put(conditions: dict[str, JsonObject], condition: JsonObject, now: datetime) -> None:
    """Set a condition; one that says the same as before keeps its times."""
    earlier = conditions.get(text(condition, "type"))
    if earlier is not None and all(earlier.get(field) == condition[field] for field in ("status", "reason")):
        return
    changed = rfc3339(now)
    since = changed
    if earlier is not None and earlier.get("status") == condition["status"]:
        since = text(earlier, "lastTransitionTime")
    conditions[text(condition, "type")] = {**condition, "lastUpdateTime": changed, "lastTransitionTime": since}


def _total(bodies: Sequence[JsonObject], field: str) -> int:
    """Return the sum of one number of several statuses."""
    return sum(number(body, "status", field) for body in bodies)
