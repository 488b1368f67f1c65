"""Not resizing in place what the API server lets nobody resize: pods with resources of their own."""

from __future__ import annotations

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Pod
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.shaping import Hindrance, Proposal


def is_fixed_as_a_whole(pod: Pod, behaviour: Behaviour) -> bool:
    """Say whether no container of a pod is resized in place, as ``spec.resources`` is set (beyond:B-17, resize V6)."""
    return behaviour.only_what_is_accepted and pod.placement is not None and pod.placement.has_pod_resources


def unless_pod_has_resources(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Hold back a resize of a pod whose ``spec.resources`` is set; its replacement gets what the pod cannot.

    Spec: beyond:B-17, resize V6, R39.
    """
    if is_fixed_as_a_whole(proposal.pod, circumstances.settings.behaviour):
        return Hindrance(Reason.POD_HAS_RESOURCES, helps_to_evict=True)
    return proposal
