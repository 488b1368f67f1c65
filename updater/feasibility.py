"""Not asking again and again for what was refused for good, by a node or on its behalf (beyond:B-28, updater K-4)."""

from __future__ import annotations

from autoscaling.node import Node
from autoscaling.pod import Pod
from autoscaling.resources import CONTROLLED
from updater.changes import differs_from_spec
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.eviction import time_waited
from updater.infeasible import (
    Change,
    Held,
    InfeasibleResize,
    Spot,
    accepted_requests,
    asked_requests,
)
from updater.ledger import Ledger
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus
from updater.shaping import Hindrance, Proposal, Targets


def unless_infeasible(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Hold a resize back that would ask again for what was refused for good.

    It is sent where it goes less far in anything that the refused one would have changed, where the pod's node has
    other amounts or labels by now, and after a pause. What the spec asks for already is not sent in any case, as that
    would change nothing and the node would not look at it again. In mode InPlaceOrRecreate the pod is evicted instead
    if that helps; there only the API server's refusals are remembered, as a node's lead to that right away.
    """
    if not circumstances.settings.behaviour.infeasible_memory:
        return proposal
    pod, held = proposal.pod, _held(proposal.pod, circumstances)
    if held is None or not held.resize.is_asked_again(_requests_after(pod, proposal.targets)):
        return proposal
    is_due = circumstances.now >= held.until or _has_changed(held.resize.node, _node_of(pod, circumstances))
    if is_due and differs_from_spec(pod, proposal.targets):
        return proposal
    refused = ", ".join(sorted({f"{name} of container {container}" for container, name in held.resize.changes}))
    detail = f"{refused or 'the resize'} refused, tried again from {held.until.isoformat(timespec='seconds')} on"
    if circumstances.is_in_place_only or proposal.expired:
        return Hindrance(Reason.RESIZE_INFEASIBLE, detail)
    return Hindrance(Reason.RESIZE_FAILED, detail, helps_to_evict=True)


def is_infeasible_now(pod: Pod, circumstances: Circumstances) -> bool:
    """Say whether a pod's spec asks for what its node has refused for good."""
    return resize_progress(pod, circumstances.settings.behaviour) is ResizeStatus.INFEASIBLE


def gives_back(pod: Pod, circumstances: Circumstances) -> bool:
    """Say whether a pod is to take back what its spec asks for in vain, as nothing else becomes of it (resize 6.6)."""
    is_on = circumstances.is_in_place_only and circumstances.settings.behaviour.infeasible_memory
    return is_on and is_infeasible_now(pod, circumstances)


def refused_by_node(pod: Pod, circumstances: Circumstances) -> InfeasibleResize:
    """Return the resize that a pod's spec asks for and its node has called infeasible.

    Since when tells what stands on the pod, so that a restart of the updater does not make it wait anew.
    """
    at = circumstances.now - time_waited(pod, ResizeStatus.INFEASIBLE, circumstances)
    changes = _changes(pod, asked_requests(pod))
    return InfeasibleResize(pod.uid, changes, _node_of(pod, circumstances), pod.generation, at)


def refused_by_server(pod: Pod, targets: Targets, circumstances: Circumstances) -> InfeasibleResize:
    """Return a resize that the API server has refused as more than the pod's node will ever have (updater D-48)."""
    changes = _changes(pod, _requests_after(pod, targets))
    return InfeasibleResize(pod.uid, changes, _node_of(pod, circumstances), None, circumstances.now)


def _held(pod: Pod, circumstances: Circumstances) -> Held | None:
    """Return the resize of a pod that was refused last, be it in this round."""
    memory = circumstances.memory.infeasible_resizes
    if circumstances.is_in_place_only and is_infeasible_now(pod, circumstances):
        memory = memory.seeing([refused_by_node(pod, circumstances)], circumstances.now)
    return memory.by_uid.get(pod.uid)


def _changes(pod: Pod, asked: dict[Spot, int]) -> dict[Spot, Change]:
    """Return what requests would change of what the pod's node has accepted."""
    had = accepted_requests(pod)
    return {spot: Change(had[spot], wanted) for spot, wanted in asked.items() if wanted != had[spot]}


def _requests_after(pod: Pod, targets: Targets) -> dict[Spot, int]:
    """Return the requests that a pod's spec would have after a resize, in nano-units."""
    requests = asked_requests(pod)
    for container, target in zip(pod.containers, targets, strict=True):
        if target is not None:
            requests |= {(container.name, name): q.nano for name, q in target.requests.items() if name in CONTROLLED}
    return requests


def _node_of(pod: Pod, circumstances: Circumstances) -> Node | None:
    """Return what a node's verdict may depend on: its amounts and labels; None where the node is not known."""
    node = (circumstances.surroundings.nodes or {}).get(pod.node_name)
    if node is None:
        return None
    allocatable = {name: node.allocatable[name] for name in CONTROLLED if name in node.allocatable}
    return Node(node.name, allocatable, node.labels)


def _has_changed(before: Node | None, now: Node | None) -> bool:
    """Say whether a node is another one than it was; one that is not known has not changed."""
    return before is not None and now is not None and before != now
