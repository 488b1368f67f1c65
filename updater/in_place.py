"""Resize, wait or fall back: the decision of the two in-place modes (updater section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from autoscaling.pod import Pod, PodPhase
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.eviction import clear_fallback
from updater.group import Group
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus
from updater.settings import Settings


class Verdict(Enum):
    """What mode InPlaceOrRecreate or InPlace makes of a pod."""

    APPROVED = "approved"
    DEFERRED = "deferred"
    EVICT = "evict"
    """InPlaceOrRecreate only."""
    INFEASIBLE = "infeasible"
    """InPlace only: the resize before was infeasible, which is to be remembered."""
    INFEASIBLE_REMEMBERED = "infeasible_remembered"
    """InPlace only: this or a lower recommendation was infeasible before."""


@dataclass(frozen=True, slots=True)
class InPlaceDecision:
    """A verdict and what led to it.

    Args:
        verdict: What is to become of the pod.
        reason: Why it waits or is evicted; None where it is resized.
        is_timed: Whether the time since the pod was first seen mid-resize was asked for, so that it has to be kept.
    """

    verdict: Verdict
    reason: Reason | None = None
    is_timed: bool = False


_APPROVED = InPlaceDecision(Verdict.APPROVED)


def decide_in_place(pod: Pod, group: Group | Reason, circumstances: Circumstances) -> InPlaceDecision:
    """Decide whether a pod is resized, waits, is evicted or is left alone; the first row that fits counts.

    Args:
        group: The pod's group as it stands at this point of the round, or why that has no budget.

    Spec: updater C-3.
    """
    settings, recommendation = circumstances.settings, circumstances.vpa.recommendation
    if circumstances.is_in_place_only and not settings.is_in_place_on:
        return _deferred(Reason.GATE_OFF)
    if isinstance(group, Reason):
        return _deferred(group)
    if pod.phase is PodPhase.PENDING:
        return _deferred(Reason.POD_PENDING)
    if recommendation is None:
        return _deferred(Reason.NO_RECOMMENDATION)
    if circumstances.is_in_place_only and circumstances.memory.infeasible.holds_back(pod.uid, recommendation):
        return InPlaceDecision(Verdict.INFEASIBLE_REMEMBERED, Reason.INFEASIBLE_REMEMBERED)
    status = resize_progress(pod, settings.behaviour)
    if status is not None:
        return _decide_resizing(pod, status, group, circumstances)
    if _is_borne(pod, group, settings):
        return _APPROVED
    return _deferred(group.shortage)


def heeds_deferral(circumstances: Circumstances) -> bool:
    """Say whether a pod whose resize is to be deferred is left alone (updater M-19, M-20, beyond:B-28).

    Upstream's mode InPlace goes on all the same, so the group's budget holds nothing back there (K-2).
    """
    return not circumstances.is_in_place_only or circumstances.settings.behaviour.infeasible_memory


def _is_borne(pod: Pod, group: Group, settings: Settings) -> bool:
    """Say whether a group bears the resize of a pod of it, as far as that can be told from the pod alone.

    With ``pdbs_are_read_too`` it is told from what the resize would change (see ``restart_within_budgets``).
    """
    needs_none = settings.skips_disruption_budget and is_restart_free(pod)
    return group.bears(pod) or needs_none or settings.behaviour.pdbs_are_read_too


def is_restart_free(pod: Pod) -> bool:
    """Say whether no container of a pod would restart for any resize (updater C-4).

    Init containers do not count, but for sidecars where those are resized, too (beyond:B-16).
    """
    return not any(policy.restarts_container for container in pod.containers for policy in container.resize_policy)


def _decide_resizing(
    pod: Pod,
    status: ResizeStatus,
    group: Group,
    circumstances: Circumstances,
) -> InPlaceDecision:
    """Decide on a pod in the middle of a resize (updater C-3 rows 6 to 8)."""
    if circumstances.is_in_place_only:
        if status is not ResizeStatus.INFEASIBLE:
            return _deferred(Reason.RESIZE_PENDING)
        if heeds_deferral(circumstances) and not _is_borne(pod, group, circumstances.settings):
            return _deferred(group.shortage)
        return InPlaceDecision(Verdict.INFEASIBLE)
    clearance = clear_fallback(pod, status, group, circumstances)
    verdict = Verdict.EVICT if clearance.is_given else Verdict.DEFERRED
    return InPlaceDecision(verdict, clearance.reason, is_timed=True)


def _deferred(reason: Reason) -> InPlaceDecision:
    """Return the decision to do nothing for now."""
    return InPlaceDecision(Verdict.DEFERRED, reason)
