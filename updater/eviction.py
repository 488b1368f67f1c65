"""Whether a pod may be evicted now (updater R-8), also one that is in the middle of a resize (C-5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from autoscaling.pod import Pod, PodPhase
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.group import Group
from updater.resize_status import ResizeStatus, resize_status
from updater.settings import Settings


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
        return Clearance(is_given=True)
    if group.is_below_minimum:
        return Clearance(is_given=False, reason=Reason.BELOW_MIN_REPLICAS)
    status = resize_status(pod)
    if status is not None:
        return clear_fallback(pod, status, group, circumstances)
    if group.is_disruptable:
        return Clearance(is_given=True)
    return Clearance(is_given=False, reason=group.shortage)


def clear_fallback(pod: Pod, status: ResizeStatus, group: Group, circumstances: Circumstances) -> Clearance:
    """Say whether a pod in the middle of a resize may be evicted: its time is up and the budget allows it (C-5)."""
    waited = circumstances.memory.watch.waited(pod.ref, circumstances.now)
    reason = give_up_reason(status, waited, circumstances.settings)
    if reason is None:
        return Clearance(is_given=False, reason=Reason.RESIZE_PENDING, is_timed=True)
    if group.is_disruptable:
        return Clearance(is_given=True, reason=reason, is_timed=True)
    return Clearance(is_given=False, reason=group.shortage, is_timed=True)


def give_up_reason(status: ResizeStatus, waited: timedelta, settings: Settings) -> Reason | None:
    """Return why an unfinished resize is given up, None while it gets more time.

    Args:
        waited: Time since the pod was first seen in the middle of a resize.

    Spec: updater C-5 (once the budget allows), D-26, D-27, D-29 to D-32.
    """
    match status:
        case ResizeStatus.DEFERRED if waited <= settings.deferred_timeout:
            return None
        case ResizeStatus.IN_PROGRESS if waited <= settings.progress_timeout:
            return None
        case ResizeStatus.DEFERRED | ResizeStatus.IN_PROGRESS:
            return Reason.RESIZE_TIMED_OUT
        case ResizeStatus.INFEASIBLE | ResizeStatus.ERROR | ResizeStatus.UNKNOWN:
            return Reason.RESIZE_FAILED
    assert_never(status)
