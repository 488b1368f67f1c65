"""What a pod reports of a resize that is under way (updater C-1, C-2)."""

from __future__ import annotations

from enum import Enum

from autoscaling.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, ConditionStatus, Pod

_RESIZE_CONDITIONS = frozenset({RESIZE_PENDING, RESIZE_IN_PROGRESS})


class ResizeStatus(Enum):
    """How far a resize has come."""

    DEFERRED = "deferred"
    IN_PROGRESS = "in_progress"
    INFEASIBLE = "infeasible"
    ERROR = "error"
    UNKNOWN = "unknown"
    REQUESTED = "requested"
    """The node has not looked at it yet, or is through without the pod having got it (beyond:B-20, B-45)."""


PENDING_REASONS = {"Deferred": ResizeStatus.DEFERRED, "Infeasible": ResizeStatus.INFEASIBLE}
"""Reasons of a resize that the node has not accepted."""


def resize_status(pod: Pod) -> ResizeStatus | None:
    """Return how far a pod's resize has come, None where it is not in the middle of one.

    The first of the two conditions in the list decides whether there is a resize; which it is, is told by a pending
    one anywhere in the list, else by the one in progress (updater W-20).
    """
    first = next((c for c in pod.conditions if c.type in _RESIZE_CONDITIONS), None)
    if first is None or first.status is not ConditionStatus.TRUE:
        return None
    pending = pod.condition(RESIZE_PENDING)
    if pending is not None:
        return PENDING_REASONS.get(pending.reason, ResizeStatus.UNKNOWN)
    # Without a pending condition the first one was the one in progress.
    if not first.reason and not first.message:
        return ResizeStatus.IN_PROGRESS
    return ResizeStatus.ERROR if first.reason == "Error" else ResizeStatus.UNKNOWN
