"""Keeping the QoS class of a pod over a resize, which the API server would refuse otherwise (beyond:B-21)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from autoscaling.pod import Container
from autoscaling.qos import QosClass, pod_qos, qos_class, spec_qos
from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY
from updater.changes import restarts_for
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.resized_pod import resized
from updater.shaping import Hindrance, Proposal

_UNITS: Final[Mapping[str, int]] = {MEMORY: NANO, CPU: NANO // 1000}
"""The least by which a request can differ, in nano-units, the one that hurts less first: a byte, or a thousandth of a
core, as finer amounts are rounded up to it."""

_UPDATES_ANNOTATION: Final = "vpaUpdates"


def qos_class_kept(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Shape a resize so that the pod keeps the QoS class that its status says.

    - Guaranteed: a container whose requests would no longer be its limits is left out.
    - Burstable, about to become Guaranteed: the largest request of memory that is set, or of cpu where none of memory
      is, gets the least amount less.
    - BestEffort: such a pod can have neither requests nor limits. Evicting it helps, as the pod that replaces it gets
      them at its creation; one that did and has none all the same would only come back as it is.

    Pods with resources of their own have their class from these, and cannot be resized in place anyway.

    Spec: beyond:B-21, updater K-33, case:28, resize V4.
    """
    pod = proposal.pod
    has_own = pod.placement is not None and pod.placement.has_pod_resources
    if not circumstances.settings.behaviour.errors_are_classified or has_own:
        return proposal
    before, after = pod_qos(pod), spec_qos(resized(pod, proposal.targets))
    if before is after:
        return proposal
    if before is QosClass.BEST_EFFORT:
        detail = "it has neither requests nor limits, and gets them at its creation only"
        return Hindrance(Reason.QOS_WOULD_CHANGE, detail, helps_to_evict=not _was_given_requests(proposal))
    shaped = _held(proposal) if before is QosClass.GUARANTEED else _nudged(proposal)
    if shaped is not None and spec_qos(resized(pod, shaped.targets)) is before:
        return shaped
    return Hindrance(Reason.QOS_WOULD_CHANGE, f"{before.value} would become {after.value}")


def _held(proposal: Proposal) -> Proposal | None:
    """Return a resize without the containers that would no longer be guaranteed; None where nothing is left.

    A boost is taken back whole or not at all, as its annotation goes with it.
    """
    after = resized(proposal.pod, proposal.targets)
    kept = [qos_class([container.resources]) is QosClass.GUARANTEED for container in after.containers]
    targets = tuple(target if keeps else None for target, keeps in zip(proposal.targets, kept, strict=True))
    if any(c.name in proposal.expired and not keeps for c, keeps in zip(after.containers, kept, strict=True)):
        return None
    shaped = replace(proposal, targets=targets)
    return shaped if shaped.sets_anything else None


@dataclass(frozen=True, slots=True)
class _Request:
    """One request that a resize sets.

    Args:
        index: Of its container.
    """

    index: int
    resource: str
    amount: Quantity


def _nudged(proposal: Proposal) -> Proposal | None:
    """Return a resize with the least amount less of one request, None where no request can do with less."""
    for resource, unit in _UNITS.items():
        found = [r for r in _requests(proposal, resource) if r.amount.nano > unit]
        if not found:
            continue
        largest = max(found, key=lambda request: request.amount)
        targets = list(proposal.targets)
        target = targets[largest.index]
        assert target is not None
        less = Quantity(largest.amount.nano - unit, largest.amount.format)
        targets[largest.index] = replace(target, requests={**target.requests, resource: less})
        return replace(proposal, targets=tuple(targets))
    return None


def _requests(proposal: Proposal, resource: str) -> Iterator[_Request]:
    """Yield the requests of a resource that are set, but for those that would restart a container only now."""
    for index, (container, target) in enumerate(zip(proposal.pod.containers, proposal.targets, strict=True)):
        amount = target.requests.get(resource) if target is not None else None
        if amount is not None and not (restarts_for(container, resource) and _has(container, resource, amount)):
            yield _Request(index, resource, amount)


def _has(container: Container, resource: str, amount: Quantity) -> bool:
    """Say whether a container's spec has this request already."""
    return (container.resources.requests or {}).get(resource) == amount


def _was_given_requests(proposal: Proposal) -> bool:
    """Say whether the admission controller set requests when the pod was created."""
    updates = proposal.pod.annotation(_UPDATES_ANNOTATION) or ""
    return any(f"{resource} request" in updates for resource in CONTROLLED)
