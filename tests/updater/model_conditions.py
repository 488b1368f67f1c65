"""Setting and taking away conditions of pods, as nodes do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from autoscaling.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, ConditionStatus, Pod, PodCondition

_OF_RESIZES = frozenset({RESIZE_PENDING, RESIZE_IN_PROGRESS})


def with_condition(pod: Pod, kind: str, reason: str, now: datetime, *, is_true: bool = True) -> Pod:
    """Return a pod with a condition, which keeps its time as long as its status stays."""
    wanted = ConditionStatus.TRUE if is_true else ConditionStatus.FALSE
    before = pod.condition(kind)
    since = before.last_transition_time if before is not None and before.status is wanted else now
    generation = pod.generation if kind in _OF_RESIZES else 0
    if kind == RESIZE_IN_PROGRESS and before is not None and reason:
        generation = before.observed_generation
    made = PodCondition(kind, wanted, reason, "", since, generation)
    return pod if made == before else replace(pod, conditions=(*_others(pod, kind), made))


def without(pod: Pod, kind: str) -> Pod:
    """Return a pod without a condition."""
    return replace(pod, conditions=tuple(_others(pod, kind))) if pod.condition(kind) is not None else pod


def _others(pod: Pod, kind: str) -> Iterator[PodCondition]:
    return (condition for condition in pod.conditions if condition.type != kind)
