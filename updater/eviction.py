"""Whether a pod may be evicted now (updater R-8), also one that is in the middle of a resize (C-5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from autoscaling.pod import Pod, PodPhase
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.group import Group
from updater.resize_progress import resize_progress, waited
from updater.resize_status import ResizeStatus


@dataclass(frozen=True, slots=True)
class Clearance:
    """Leave to evict, or why there is none.

    Args:
        is_given: Whether the pod may be evicted.
        reason: Why not; where a resize gives cause to evict, which; else None.
        is_timed: Whether the time since the pod was first seen mid-resize was asked for, so that it has to be kept.
    """

    is_given: bool
    reason: Reason | None = None
    is_timed: bool = False


def clear_eviction(pod: Pod, group: Group | Reason, circumstances: Circumstances) -> Clearance:
    """Say whether a pod may be evicted now, as far as its group and a resize go (updater R-8).

    Args:
        group: The pod's group, or why that has no budget.
    """
    if isinstance(group, Reason):
        return Clearance(is_given=False, reason=group)
    if pod.phase is PodPhase.PENDING:
        if circumstances.settings.behaviour.eviction_only_when_it_helps and not group.bears_a_pending_one:
            return Clearance(is_given=False, reason=group.shortage)
        return Clearance(is_given=True)
    if group.is_below_minimum:
        return Clearance(is_given=False, reason=Reason.BELOW_MIN_REPLICAS)
    status = resize_progress(pod, circumstances.settings.behaviour)
    if status is not None:
        return clear_fallback(pod, status, group, circumstances)
    if group.bears(pod):
        return Clearance(is_given=True)
    return Clearance(is_given=False, reason=group.shortage)


def clear_fallback(pod: Pod, status: ResizeStatus, group: Group, circumstances: Circumstances) -> Clearance:
    """Say whether a pod in the middle of a resize may be evicted: its time is up and the budget allows it (C-5)."""
    reason = give_up_reason(status, time_waited(pod, status, circumstances), circumstances)
    if reason is None:
        return Clearance(is_given=False, reason=Reason.RESIZE_PENDING, is_timed=True)
    if group.bears(pod):
        return Clearance(is_given=True, reason=reason, is_timed=True)
    return Clearance(is_given=False, reason=group.shortage, is_timed=True)


def time_waited(pod: Pod, status: ResizeStatus, circumstances: Circumstances) -> timedelta:
    """Return how long a pod's resize has been waited for, by the switch ``timers`` (updater C-5, beyond:B-20)."""
    memory, now = circumstances.memory, circumstances.now
    if circumstances.settings.behaviour.timers:
        return waited(pod, status, memory.sightings, now)
    return memory.watch.waited(pod.ref, now)


def give_up_reason(status: ResizeStatus, waited_for: timedelta, circumstances: Circumstances) -> Reason | None:
    """Return why an unfinished resize is given up, None while it gets more time.

    Args:
        waited_for: How long it has been waited for.

    Spec: updater C-5 (once the budget allows), D-26, D-27, D-29 to D-32; beyond:B-20, B-28.
    """
    match patience(status, circumstances):
        case None:
            return Reason.RESIZE_FAILED
        case limit if waited_for <= limit:
            return None
        case _:
            return Reason.RESIZE_TIMED_OUT


def patience(status: ResizeStatus, circumstances: Circumstances) -> timedelta | None:
    """Return how long a resize in some state is waited for, None where it is not."""
    behaviour = circumstances.settings.behaviour
    match status:
        case ResizeStatus.DEFERRED:
            return circumstances.deferred_timeout
        case ResizeStatus.IN_PROGRESS | ResizeStatus.REQUESTED:
            return circumstances.progress_timeout
        case ResizeStatus.INFEASIBLE:
            return None
        case ResizeStatus.UNKNOWN:
            return circumstances.progress_timeout if behaviour.timers else None
        case ResizeStatus.ERROR:
            return circumstances.progress_timeout if behaviour.infeasible_memory else None
    assert_never(status)
