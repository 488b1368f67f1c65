"""Whether evicting a pod would help: what becomes of the pod that replaces it (beyond:B-25)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from autoscaling.errors import InvalidObjectError
from autoscaling.limit_range_check import completed
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from autoscaling.policy import container_policy, scaling_mode
from autoscaling.quota_use import charge, counts, growth, left_open, shortage, would_exceed
from autoscaling.resources import CONTROLLED
from autoscaling.startup_boost import boosted_target
from autoscaling.target_resources import NOTHING, ContainerTarget
from autoscaling.vpa import ScalingMode
from updater.admissible import recommendation_for, targets_for
from updater.candidates import Candidate
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.eviction_loop import workload_of
from updater.ledger import Amounts, Eviction, Ledger
from updater.resized_pod import resized
from updater.shaping import Hindrance
from updater.templates import made_anew

STARTING_TIME: Final = timedelta(minutes=10)
"""Large images take minutes to pull and volumes to attach, and a new pod would have to begin all over again."""


def eviction_of(candidate: Candidate, reason: Reason, circumstances: Circumstances) -> EvictionProposal:
    """Return the eviction of a pod with what its replacement would begin with, and would be recommended.

    Where the template of its controller is known the admission controller is to get that to see, and not the pod: its
    limits may be others, and what the recommendation left out of late is as its author wrote it.

    Raises:
        InvalidObjectError: The recommendation cannot be made to fit the replacement.

    Spec: updater K-17.
    """
    pod, template = candidate.member.pod, circumstances.template_of(candidate.member)
    if not template:
        return EvictionProposal(pod, candidate.processed, reason)
    new = made_anew(pod, template, circumstances.limits.items)
    processed = recommendation_for(new, new, circumstances)
    return EvictionProposal(pod, processed, reason, made_anew=new)


def not_for_the_same(
    proposal: EvictionProposal, circumstances: Circumstances, _ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Leave a pod alone whose replacement would ask for what it has, as far as its controller's template is known.

    One that got nothing of a resize that is done (beyond:B-27) has what it asks for only by its word.

    Spec: beyond:B-25, updater K-17.
    """
    pod = proposal.pod
    if proposal.made_anew is None or proposal.reason is Reason.RESIZE_WITHOUT_EFFECT:
        return proposal
    pairs = zip(pod.containers, replacement_of(proposal, circumstances).containers, strict=True)
    if any(pod.actual_resources(own).request(n) != new.resources.request(n) for own, new in pairs for n in CONTROLLED):
        return proposal
    return Hindrance(Reason.REPLACED_BY_THE_SAME)


def not_in_a_loop(
    proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Stop evicting pods of a workload whose replacements came up without what was wanted; after a pause try one.

    Spec: beyond:B-25, case:35.
    """
    if not circumstances.settings.behaviour.eviction_only_when_it_helps:
        return proposal
    workload, now = workload_of(circumstances.vpa), circumstances.now
    loop = circumstances.memory.loops.by_workload.get(workload)
    if loop is not None and loop.until is not None:
        is_tried = any(eviction.workload == workload for eviction in ledger.evictions.values())
        if now < loop.until or is_tried:
            return Hindrance(Reason.EVICTION_LOOP, loop.detail)
    wanted = proposal.processed.recommendation if proposal.processed is not None else None
    return replace(proposal, claim=replace(proposal.claim, eviction=Eviction(workload, proposal.pod.uid, wanted)))


def not_while_starting(
    proposal: EvictionProposal, circumstances: Circumstances, _ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Leave a pod in phase Pending the time to start; one that its node has not even taken up gets more.

    Spec: beyond:B-25, updater K-34.
    """
    pod = proposal.pod
    if not circumstances.settings.behaviour.eviction_only_when_it_helps or pod.phase is not PodPhase.PENDING:
        return proposal
    if pod.start_time is not None and circumstances.now - pod.start_time >= STARTING_TIME:
        return proposal
    return Hindrance(Reason.STILL_STARTING)


def not_past_the_webhook(
    proposal: EvictionProposal, circumstances: Circumstances, _ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Evict nothing while new pods are known to get by the webhook; where that is not known, its Lease has to do.

    Spec: beyond:B-25, case:35.
    """
    behaviour = circumstances.settings.behaviour
    if behaviour.eviction_only_when_it_helps and circumstances.surroundings.is_webhook_proven is False:
        return Hindrance(Reason.WEBHOOK_NOT_PROVEN)
    return proposal


def replacement_within_quotas(
    proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Evict only where the quotas of the namespace have room for the replacement, with what the pod gives back.

    Unlike a resize, a new pod is refused even if it asks for no more than its predecessor, where a quota was lowered
    below its use; its start-up boost counts, too. Where the quotas are not known, nothing is checked.

    Spec: beyond:B-25, case:4.
    """
    quotas = circumstances.surroundings.quotas
    if not circumstances.settings.behaviour.eviction_only_when_it_helps or quotas is None:
        return proposal
    pod = proposal.pod
    try:
        new = boosted_replacement_of(proposal, circumstances)
    except InvalidObjectError as error:
        return Hindrance(Reason.INVALID_OBJECT, str(error))
    given_back, wanted = charge(pod), charge(new)
    problems: list[str] = []
    claimed: dict[ObjectRef, Amounts] = {}
    for quota in quotas.get(pod.namespace, ()):
        if not counts(quota, new):
            continue
        before = given_back if counts(quota, pod) else {}
        taken = ledger.quotas.get(quota.ref, {})
        committed = {name: taken.get(name, 0) - before.get(name, 0) for name in quota.hard}
        if missing := would_exceed(quota, {}, wanted, committed):
            problems.append(shortage(quota, missing))
        if unset := left_open(quota, new):
            problems.append(f"{quota.ref} asks for {', '.join(unset)}")
        if grown := growth(quota, before, wanted):
            claimed[quota.ref] = grown
    if problems:
        return Hindrance(Reason.QUOTA_WOULD_BLOCK, "; ".join(problems))
    return replace(proposal, claim=replace(proposal.claim, quotas=claimed)) if claimed else proposal


def replacement_of(proposal: EvictionProposal, circumstances: Circumstances) -> Pod:
    """Return the pod that would replace an evicted one, as admission and the API server would make it.

    Where its template is not known, what the recommendation does not set is as in the pod itself.
    """
    pod, limits = proposal.pod, circumstances.limits
    new = proposal.made_anew or replace(pod, statuses=(), init_statuses=(), conditions=(), qos_class="")
    targets = targets_for(new, proposal.made_anew or pod, proposal.processed, circumstances)
    return completed(resized(new, targets), limits.items)


def boosted_replacement_of(proposal: EvictionProposal, circumstances: Circumstances) -> Pod:
    """Return the pod that would replace an evicted one with its start-up boosts (spec: admission:8).

    Raises:
        InvalidObjectError: A boost cannot be reckoned, and then the admission controller leaves the pod as it is.
    """
    new, vpa, settings = replacement_of(proposal, circumstances), circumstances.vpa, circumstances.settings
    if not settings.is_startup_boost_on or not vpa.has_startup_boost:
        return new
    scaled = [
        container
        for container in new.containers
        if scaling_mode(container_policy(vpa, container.name)) is not ScalingMode.OFF
    ]
    boosts = {c.name: boosted_target(vpa, c, NOTHING, settings.max_cpu_boost) for c in scaled}
    return resized(new, tuple(boosts.get(container.name) for container in new.containers))


def replacement_targets(proposal: EvictionProposal, circumstances: Circumstances) -> tuple[ContainerTarget, ...]:
    """Return what each container of the replacement gets, as the change is told of (beyond:B-42)."""
    if proposal.made_anew is None:
        return targets_for(proposal.pod, proposal.pod, proposal.processed, circumstances)
    containers = replacement_of(proposal, circumstances).containers
    return tuple(ContainerTarget(c.resources.requests or {}, c.resources.limits or {}) for c in containers)
