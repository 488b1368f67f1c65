"""Lowering memory limits only as far as what containers use allows, and never evicting for less (beyond:B-22)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from autoscaling.capping import ProcessedRecommendation
from autoscaling.pod import Container, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import MEMORY, ContainerResources
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import Recommendation, UpdateMode
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Ledger
from updater.shaping import Hindrance, Proposal

MARGIN_DIVISOR: Final = 10
"""A tenth of what is used stays free: the working set leaves out page cache, and the kubelet, which counts that, does
not lower a limit below it."""

LEAST_MARGIN_BYTES: Final = 16 * 2**20
"""A tenth of a small container is less than what it takes to start a process or to fill a few buffers."""

STEP_DIVISOR: Final = 2
"""A limit is at most halved at a time: what is used now may be a trough, and half leaves what came before it a chance
to show before the next step."""

FRESHNESS: Final = timedelta(minutes=5)
"""What was measured longer ago says nothing of now; metrics are gathered every minute or more often."""


def memory_within_use(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Keep memory limits from falling below what containers use, and let them fall step by step.

    A limit falls to no less than what is used now plus a margin, and to half of what is in force at most; the next step
    follows when that is in force. Where it is not known what a container uses, its limit does not fall. The request
    falls along with the limit, as the ratio of the two counts for every resize to come; where it stands alone, it falls
    freely. A limit that its node could not lower so far is raised back to what is safe. All this holds for containers
    that restart for a resize of memory as well.

    Spec: beyond:B-22, case:29.
    """
    if not circumstances.settings.behaviour.memory_shrink_guard:
        return proposal
    guard = _Guard(proposal.pod, circumstances)
    pairs = zip(proposal.pod.containers, proposal.targets, strict=True)
    found = [_Guarded(t) if t is None else guard.applied(c, t) for c, t in pairs]
    obstacles = [each.obstacle for each in found if each.obstacle is not None]
    shaped = replace(proposal, targets=tuple(each.target for each in found))
    if obstacles and not shaped.sets_anything:
        return replace(obstacles[0], detail="; ".join(obstacle.detail for obstacle in obstacles))
    return shaped


def never_for_less(
    proposal: EvictionProposal, circumstances: Circumstances, _ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Keep a pod that would get nothing but less from being evicted where resizes are made in place.

    Spec: beyond:B-22, case:29.
    """
    # Its replacement gets what a resize has promised to the pod, and that is more than it has.
    is_owed = proposal.reason is Reason.RESIZE_WITHOUT_EFFECT
    if not is_owed and is_spared(proposal.pod, proposal.processed, circumstances):
        return Hindrance(Reason.DOWNSCALE_ONLY)
    return proposal


def is_spared(pod: Pod, processed: ProcessedRecommendation | None, circumstances: Circumstances) -> bool:
    """Say whether a pod is never evicted as it stands: in mode InPlaceOrRecreate, where no request would grow.

    Mode Recreate has no other means than to evict; a missing request grows, whatever it becomes.

    Spec: beyond:B-22.
    """
    in_place = circumstances.vpa.update_mode is UpdateMode.IN_PLACE_OR_RECREATE
    if not circumstances.settings.behaviour.memory_shrink_guard or not in_place or processed is None:
        return False
    return not any(_grows(pod, container, processed.recommendation) for container in pod.containers)


def _grows(pod: Pod, container: Container, recommendation: Recommendation) -> bool:
    """Say whether a container would get a larger request than is in force."""
    entry = recommendation.of(container.name)
    requests = pod.actual_resources(container).requests or {}
    target = entry.target if entry is not None else {}
    return any(name not in requests or wanted > requests[name] for name, wanted in target.items())


@dataclass(frozen=True, slots=True)
class _Guarded:
    """What became of one container's target, and what stands in the way where its limit stays as it is."""

    target: ContainerTarget | None
    obstacle: Hindrance | None = None


class _Guard:
    """What is known of the use of one pod's memory."""

    def __init__(self, pod: Pod, circumstances: Circumstances) -> None:
        self._pod = pod
        self._now = circumstances.now
        self._use = (circumstances.surroundings.memory or {}).get(pod.ref, {})

    def applied(self, container: Container, target: ContainerTarget) -> _Guarded:
        """Return a container's target with a memory limit that is safe."""
        wanted, in_force = target.limits.get(MEMORY), self._pod.actual_resources(container)
        if wanted is None:
            return _Guarded(target)
        least = self._least(container)
        limit = in_force.limit(MEMORY)
        if limit.is_zero():
            return _Guarded(_with_new_limit(target, wanted, least))
        if wanted >= limit:
            return _Guarded(target)
        safe = limit if least is None else _one_step(limit, wanted, least)
        obstacle = self._obstacle(container, limit, least) if safe == limit else None
        return _Guarded(_with_memory(container, target, in_force, safe), obstacle)

    def _least(self, container: Container) -> int | None:
        """Return how much memory a container must be left with, in bytes, None where that is not known."""
        use = self._use.get(container.name)
        if use is None or self._now - use.measured > FRESHNESS:
            return None
        return use.bytes + max(-(-use.bytes // MARGIN_DIVISOR), LEAST_MARGIN_BYTES)

    def _obstacle(self, container: Container, limit: Quantity, least: int | None) -> Hindrance:
        """Return why a limit stays as it is."""
        if least is None:
            return Hindrance(Reason.MEMORY_USE_UNKNOWN, f"container {container.name}")
        detail = f"container {container.name} has a limit of {limit} and uses {self._use[container.name].bytes} bytes"
        return Hindrance(Reason.MEMORY_IN_USE, detail)


def _one_step(limit: Quantity, wanted: Quantity, least: int) -> Quantity:
    """Return the limit after one step.

    Args:
        least: What must be left, in bytes.
    """
    lowest = max(least, -(-limit.value() // STEP_DIVISOR))
    return min(limit, max(wanted, Quantity.of_units(lowest, limit.format)))


def _with_new_limit(target: ContainerTarget, wanted: Quantity, least: int | None) -> ContainerTarget:
    """Return a target for a container without a limit, which a new one must not harm either."""
    if least is None:
        return replace(target, limits={name: amount for name, amount in target.limits.items() if name != MEMORY})
    return replace(target, limits={**target.limits, MEMORY: max(wanted, Quantity.of_units(least, wanted.format))})


def _with_memory(
    container: Container, target: ContainerTarget, in_force: ContainerResources, limit: Quantity
) -> ContainerTarget:
    """Return a target with another memory limit and a request in proportion; where all stays as it is, without any."""
    wanted, now = target.requests.get(MEMORY), in_force.request(MEMORY)
    request = wanted
    if wanted is not None and wanted < now:
        # Rounded up, so that the next limit, which keeps to the ratio, never comes out higher than it would have.
        share = -(-now.value() * limit.value() // in_force.limit(MEMORY).value())
        request = max(wanted, Quantity.of_units(share, now.format))
    requests = {name: amount for name, amount in target.requests.items() if name != MEMORY}
    limits = {name: amount for name, amount in target.limits.items() if name != MEMORY}
    spec = container.resources
    is_asked_for = spec.limit(MEMORY) == limit and spec.request(MEMORY) == now
    stays = is_asked_for and limit == in_force.limit(MEMORY) and request in {None, now}
    if not stays:
        limits[MEMORY] = limit
        if request is not None:
            requests[MEMORY] = request
    return replace(target, requests=requests, limits=limits)
