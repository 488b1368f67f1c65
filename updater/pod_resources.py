"""Not resizing in place what the API server lets nobody resize: pods with resources of their own."""

from __future__ import annotations

from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.shaping import Hindrance, Proposal


def unless_pod_has_resources(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Hold back a resize of a pod whose ``spec.resources`` is set; its replacement gets what the pod cannot.

    Spec: beyond:B-17, resize V6, R39.
    """
    placement = proposal.pod.placement
    if not circumstances.settings.behaviour.only_what_is_accepted or placement is None:
        return proposal
    if not placement.has_pod_resources:
        return proposal
    return Hindrance(Reason.POD_HAS_RESOURCES, helps_to_evict=not proposal.expired)
