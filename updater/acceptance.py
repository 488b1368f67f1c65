"""Whether a pod is worth disturbing (updater P-6, P-7, P-9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoscaling.pod import Pod, Termination
from autoscaling.policy import container_policy, scaling_mode
from autoscaling.resources import CONTROLLED, ResourceList, amount
from autoscaling.stated_times import stated_duration
from autoscaling.vpa import ChangeRequirement, EvictionRequirement, Recommendation, ScalingMode, Vpa
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.priority import Priority, observed_containers
from updater.settings import Settings

CLOCK_SKEW: Final = timedelta(seconds=10)
"""How far the clock of a node may be ahead of ours, the time that a status takes to get here aside."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Whether a pod is to be updated, and why or why not."""

    is_given: bool
    reason: Reason


def judge(
    pod: Pod,
    recommendation: Recommendation | None,
    priority: Priority,
    circumstances: Circumstances,
) -> Acceptance:
    """Say whether a pod is worth updating at all (updater P-7).

    Args:
        recommendation: What processing made of the VPA's recommendation for this pod.
        priority: The pod's score against it.
    """
    # Upstream crashes where a threshold of zero or less lets a pod without any recommendation through (K-31 c).
    obstacle = Reason.NO_RECOMMENDATION
    if recommendation is not None:
        is_quick = is_quick_oom(pod, circumstances)
        found = _obstacle(pod, recommendation, priority, circumstances, is_quick=is_quick)
        if found is None:
            return Acceptance(is_given=True, reason=_cause(priority, is_quick=is_quick))
        obstacle = found if recommendation.containers else obstacle
    return Acceptance(is_given=False, reason=obstacle)


def is_quick_oom(pod: Pod, circumstances: Circumstances) -> bool:
    """Say whether a container was killed for lack of memory soon after its start, a short while ago (updater P-6)."""
    return bool(quickly_killed(pod, circumstances))


def quickly_killed(pod: Pod, circumstances: Circumstances) -> frozenset[str]:
    """Return the containers killed for lack of memory soon after their start, a short while ago (updater P-6).

    Containers that admission did not see, or that are not scaled, do not count.
    """
    kills = [(s.name, s.last_terminated) for s in pod.statuses if s.last_terminated is not None]
    if not kills:
        return frozenset()
    vpa, observed = circumstances.vpa, observed_containers(pod)
    threshold = _oom_threshold(vpa, circumstances.settings)
    return frozenset(
        name
        for name, ended in kills
        if ended.reason == "OOMKilled"
        and (observed is None or name in observed)
        and scaling_mode(container_policy(vpa, name)) is not ScalingMode.OFF
        and _is_quick(ended, threshold, circumstances)
    )


def is_old_enough(pod: Pod, circumstances: Circumstances) -> bool:
    """Say whether a pod has lived long enough to be updated although it is within its bounds (updater P-7)."""
    age = circumstances.settings.lifetime_threshold
    return pod.start_time is not None and circumstances.now >= pod.start_time + age


def next_change(pod: Pod, circumstances: Circumstances) -> datetime | None:
    """Return the first time from now on at which ``judge`` may come out otherwise by the time alone, None for never."""
    now, settings = circumstances.now, circumstances.settings
    moments: list[datetime] = []
    if pod.start_time is not None:
        moments.append(pod.start_time + settings.lifetime_threshold)
    kills = [s.last_terminated.finished_at for s in pod.statuses if s.last_terminated is not None]
    if kills:
        threshold = _oom_threshold(circumstances.vpa, settings)
        told = [finished for finished in kills if finished is not None]
        turns = (threshold, -CLOCK_SKEW) if settings.behaviour.future_kills_wait else (threshold,)
        moments += [finished + turn for finished in told for turn in turns]
    return min((moment for moment in moments if moment > now), default=None)


def meets_requirements(pod: Pod, vpa: Vpa, recommendation: Recommendation) -> bool:
    """Say whether a VPA's eviction requirements let a pod be updated, in whatever way (updater P-9)."""
    if vpa.update_policy is None:
        return True
    for container in pod.containers:
        entry = recommendation.of(container.name)
        if entry is None:
            continue
        requests = pod.actual_resources(container).requests or {}
        if any(name not in requests for name in CONTROLLED):
            return True
        if all(_holds(r, requests, entry.target) for r in vpa.update_policy.eviction_requirements):
            return True
    return False


def _obstacle(
    pod: Pod,
    recommendation: Recommendation,
    priority: Priority,
    circumstances: Circumstances,
    *,
    is_quick: bool,
) -> Reason | None:
    """Return the first thing that keeps a pod from being worth it, None where nothing does."""
    settings = circumstances.settings
    if circumstances.is_in_place_only and circumstances.memory.infeasible.holds_back(pod.uid, recommendation):
        return Reason.NO_LESS_FOR_THE_POD
    if is_quick:
        return Reason.OOM_WITHOUT_CHANGE if priority.difference == 0 else None
    if priority.is_outside_bounds:
        is_as_recommended = settings.behaviour.limit_range_and_quota and _has_all(pod, recommendation)
        return Reason.CHANGE_TOO_SMALL if is_as_recommended else None
    if pod.start_time is None:
        return Reason.NO_START_TIME
    if not is_old_enough(pod, circumstances):
        return Reason.TOO_YOUNG
    return Reason.CHANGE_TOO_SMALL if priority.difference < settings.pod_update_threshold else None


def _has_all(pod: Pod, recommendation: Recommendation) -> bool:
    """Say whether a pod asks for and has exactly what is recommended, wherever the bounds are.

    A LimitRange for pods is applied to target and bounds apart, and may leave the target outside the bounds (case 46).
    """
    return all(
        (requests or {}).get(name) == wanted
        for container in pod.containers
        if (entry := recommendation.of(container.name)) is not None
        for requests in (container.resources.requests, pod.actual_resources(container).requests)
        for name, wanted in entry.target.items()
    )


def _cause(priority: Priority, *, is_quick: bool) -> Reason:
    """Return what makes a pod worth updating."""
    if priority.is_outside_bounds:
        return Reason.OUTSIDE_BOUNDS
    return Reason.QUICK_OOM if is_quick else Reason.WORTHWHILE_CHANGE


def _oom_threshold(vpa: Vpa, settings: Settings) -> timedelta:
    """Return the VPA's own threshold where it may have one, else the flag's."""
    seconds = vpa.update_policy.evict_after_oom_seconds if vpa.update_policy else None
    if seconds is None or not settings.is_per_vpa_config_on:
        return settings.evict_after_oom_threshold
    return stated_duration(seconds)


def _is_quick(ended: Termination, threshold: timedelta, circumstances: Circumstances) -> bool:
    """Say whether a run was short and ended a short while ago; a missing time was long ago.

    To upstream any time in the future is a short while ago; with ``future_kills_wait`` one within ``CLOCK_SKEW`` is
    (case:14).
    """
    if ended.started_at is None or ended.finished_at is None:
        return False
    ago = circumstances.now - ended.finished_at
    is_to_come = circumstances.settings.behaviour.future_kills_wait and ago < -CLOCK_SKEW
    return ended.finished_at - ended.started_at < threshold and ago < threshold and not is_to_come


def _holds(requirement: EvictionRequirement, requests: ResourceList, target: ResourceList) -> bool:
    """Say whether one of a requirement's resources changes in its direction; a missing amount counts as zero."""
    for name in requirement.resources:
        current, wanted = amount(requests, name).milli_value(), amount(target, name).milli_value()
        if (wanted > current) if requirement.change is ChangeRequirement.TARGET_HIGHER else (wanted < current):
            return True
    return False
