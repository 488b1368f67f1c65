"""Letting no more changes through at a time than a node, a namespace and the cluster bear (beyond:B-24)."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.pod import Pod
from updater.changes import grows, restarts
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Claim, Ledger
from updater.shaping import Hindrance, Proposal
from updater.storm_levels import Bucket, Span


def resize_within_storm_budgets(
    proposal: Proposal, circumstances: Circumstances, ledger: Ledger
) -> Proposal | Hindrance:
    """Take tokens for a resize that grows or restarts a container; one that only shrinks needs none.

    Spec: beyond:B-24.
    """
    if circumstances.storms is None or not (
        grows(proposal.pod, proposal.targets) or restarts(proposal.pod, proposal.targets)
    ):
        return proposal
    claim = _claim(proposal.pod, proposal.claim, circumstances, ledger)
    return claim if isinstance(claim, Hindrance) else replace(proposal, claim=claim)


def eviction_within_storm_budgets(
    proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Take tokens for an eviction.

    Spec: beyond:B-24.
    """
    claim = _claim(proposal.pod, proposal.claim, circumstances, ledger)
    return claim if isinstance(claim, Hindrance) else replace(proposal, claim=claim)


def _claim(pod: Pod, claim: Claim, circumstances: Circumstances, ledger: Ledger) -> Claim | Hindrance:
    """Return what a change takes up with its tokens, or which bucket has none for it."""
    if circumstances.storms is None:
        return claim
    buckets = (Bucket(Span.NODE, pod.node_name), Bucket(Span.NAMESPACE, pod.namespace), Bucket(Span.CLUSTER))
    levels = circumstances.memory.storms
    short = levels.first_short(buckets, ledger.changes, circumstances.storms, circumstances.now)
    if short is not None:
        return Hindrance(Reason.STORM_BUDGET, f"budget of {short} used up")
    return replace(claim, changes=buckets)
