"""Not sending what a LimitRange or a ResourceQuota of the namespace would refuse (beyond:B-12, case 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoscaling.limit_range_check import completed, faults
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.qos import pod_qos, spec_qos
from autoscaling.quota_use import charge, counts, growth, left_open, shortage, would_exceed
from autoscaling.resources import CONTROLLED, ContainerResources
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Amounts, Ledger
from updater.resized_pod import resized
from updater.shaping import Hindrance, Proposal


def within_limit_ranges(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Hold back a resize that the LimitRanges of the namespace would have refused.

    Besides amounts out of bounds these are the defaults that a LimitRange younger than the pod brings along: they may
    change the pod's QoS class, or fill in what no resize may touch. Nothing is evicted for it.

    Spec: beyond:B-12, resize 1.5, V4, V10, V12.
    """
    items = circumstances.limits.items
    if not circumstances.settings.behaviour.limit_range_and_quota or not items:
        return proposal
    asked = resized(proposal.pod, proposal.targets)
    filled = completed(asked, items)
    problems = (*faults(filled, items), *_brought_along(proposal.pod, asked, filled))
    return Hindrance(Reason.LIMIT_RANGE_WOULD_BLOCK, "; ".join(problems)) if problems else proposal


def within_quotas(proposal: Proposal, circumstances: Circumstances, ledger: Ledger) -> Proposal | Hindrance:
    """Hold back a resize that a quota of the namespace has no room for, else claim what it adds to their use.

    What the pod is charged now is part of the use already. A resize that the node calls infeasible is charged in full,
    although the API server lets it pass: it may yet be carried out. Nothing is evicted for a quota, as a new pod of
    that size would have no room either. Where the quotas are not known, nothing is checked.

    Spec: beyond:B-12, case:4, resize 1.6.
    """
    quotas = circumstances.surroundings.quotas
    if not circumstances.settings.behaviour.limit_range_and_quota or quotas is None:
        return proposal
    pod = proposal.pod
    after = completed(resized(pod, proposal.targets), circumstances.limits.items)
    before, wanted = charge(pod), charge(after, is_carried_out=True)
    problems: list[str] = []
    claimed: dict[ObjectRef, Amounts] = {}
    for quota in quotas.get(pod.namespace, ()):
        if not counts(quota, pod):
            continue
        missing = would_exceed(quota, before, wanted, ledger.quotas.get(quota.ref, {}))
        if missing:
            problems.append(shortage(quota, missing))
        if unset := left_open(quota, after):
            problems.append(f"{quota.ref} asks for {', '.join(unset)}")
        if grown := growth(quota, before, wanted):
            claimed[quota.ref] = grown
    if problems:
        return Hindrance(Reason.QUOTA_WOULD_BLOCK, "; ".join(problems))
    return replace(proposal, claim=replace(proposal.claim, quotas=claimed)) if claimed else proposal


def _brought_along(pod: Pod, asked: Pod, filled: Pod) -> Iterator[str]:
    """Yield what defaults do to a resize that no resize may do."""
    for before, after in zip(asked.init_containers, filled.init_containers, strict=True):
        if before is not after and not before.is_sidecar:
            yield f"defaults would change init container {before.name}, which no resize may"
    for before, after in zip(asked.containers, filled.containers, strict=True):
        if others := _others(before.resources, after.resources):
            yield f"defaults would set {', '.join(others)} of container {before.name}, which no resize may"
    is_ruled_by_containers = pod.placement is None or not pod.placement.has_pod_resources
    if is_ruled_by_containers and spec_qos(filled) is not pod_qos(pod):
        yield f"defaults would make a {pod_qos(pod).value} pod {spec_qos(filled).value}"


def _others(before: ContainerResources, after: ContainerResources) -> list[str]:
    """Return what is filled in besides cpu and memory, sorted."""
    names = {*(after.requests or {}), *(after.limits or {})} - {*(before.requests or {}), *(before.limits or {})}
    return sorted(names - set(CONTROLLED))
