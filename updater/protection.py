"""Whom a change may disrupt: disruption budgets, minReplicas, the group's budget and eviction requirements (B-43)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from autoscaling.behaviour import Behaviour
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from updater.acceptance import meets_requirements
from updater.changes import restarts
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Ledger
from updater.service import is_about_to_restart, is_ready
from updater.settings import Settings
from updater.shaping import Hindrance, Proposal
from updater.surroundings import Surroundings

Budgets = tuple[ObjectRef, ...]
"""Disruption budgets that one change takes a disruption from each; none or one."""

_RESTART = "a container would restart for the resize"


def restarts_under_way(
    pods: Iterable[Pod], budgets: Mapping[str, tuple[DisruptionBudget, ...]], behaviour: Behaviour
) -> dict[ObjectRef, int]:
    """Return how many pods each disruption budget counts as healthy although a resize under way restarts them.

    A node may take its time to restart a container, or put the resize off, and until then the pod is Ready; with a fast
    restart it never ceases to be. So its disruption is taken from the budget from the request to the end of the resize.

    Args:
        pods: All of the cluster; of them those count that a resize of before is about to restart.
        budgets: By namespace.

    Spec: beyond:B-43, updater K-20, resize section 4.
    """
    found: dict[ObjectRef, int] = {}
    for pod in pods if budgets else ():
        if pod.namespace in budgets and is_about_to_restart(pod, behaviour):
            for budget in budgets[pod.namespace]:
                if budget.selector.matches(pod.labels):
                    found[budget.ref] = found.get(budget.ref, 0) + 1
    return found


def budgets_used(
    pod: Pod, budgets: Iterable[DisruptionBudget], spent: Mapping[ObjectRef, int], behaviour: Behaviour
) -> Budgets | Hindrance:
    """Return what disrupting a pod takes from disruption budgets, or which of them does not allow it.

    A pod that is not Ready may go without taking anything where its budget spares only healthy pods, or where there
    are healthy pods enough. One that is about to restart has taken its disruption already. Of several budgets for one
    pod the eviction API cannot say which counts, and refuses.

    Args:
        budgets: All of the pod's namespace.
        spent: What restarts under way and the round so far take from each of them.

    Spec: beyond:B-43, resize section 4.
    """
    matching = [budget for budget in budgets if budget.selector.matches(pod.labels)]
    if not matching:
        return ()
    if len(matching) > 1:
        return Hindrance(Reason.SEVERAL_PDBS, ", ".join(sorted(str(budget.ref) for budget in matching)))
    budget = matching[0]
    if not is_ready(pod) and (budget.spares_unhealthy or budget.current_healthy >= budget.desired_healthy > 0):
        return ()
    if not budget.is_observed:
        return Hindrance(Reason.PDB_BLOCKS, f"{budget.ref} has changed and was not reckoned anew yet")
    is_counted = is_about_to_restart(pod, behaviour)
    taken = spent.get(budget.ref, 0) - is_counted
    if budget.disruptions_allowed > taken:
        return () if is_counted else (budget.ref,)
    return Hindrance(Reason.PDB_BLOCKS, _in_words(budget, taken))


def eviction_within_budgets(
    proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Keep an eviction back that a disruption budget would refuse, else take the disruption from it.

    The budget of a pod in phase Pending does not count, as it does not for the eviction API. Where budgets are not
    known, nothing is checked; the API has the last word either way.

    Spec: beyond:B-43.
    """
    budgets = circumstances.surroundings.budgets
    if not circumstances.settings.behaviour.pdbs_are_read_too or budgets is None:
        return proposal
    if proposal.pod.phase is PodPhase.PENDING:
        return proposal
    behaviour = circumstances.settings.behaviour
    found = budgets_used(proposal.pod, budgets.get(proposal.pod.namespace, ()), ledger.budgets, behaviour)
    if isinstance(found, Hindrance):
        return found
    return replace(proposal, claim=replace(proposal.claim, budgets=found)) if found else proposal


def restart_within_budgets(proposal: Proposal, circumstances: Circumstances, ledger: Ledger) -> Proposal | Hindrance:
    """Keep a resize that restarts a container within minReplicas, the group's budget and disruption budgets.

    What restarts is judged by what changes. A resize that restarts nothing needs none of them. Nothing on the server
    holds such a resize back, so this is all there is; where disruption budgets are not known, the group's counts alone.

    Spec: beyond:B-26, beyond:B-43, case:27, updater K-2, K-14, K-16.
    """
    found = restart_budgets(proposal, circumstances.settings, circumstances.surroundings, ledger.budgets)
    if isinstance(found, Hindrance):
        return found
    return replace(proposal, claim=replace(proposal.claim, budgets=found)) if found else proposal


def restart_budgets(
    proposal: Proposal, settings: Settings, surroundings: Surroundings, spent: Mapping[ObjectRef, int]
) -> Budgets | Hindrance:
    """Return what a resize takes from disruption budgets as it restarts a container, or what does not allow that.

    Args:
        spent: What restarts under way and the round so far take from each of them.
    """
    behaviour, pod, group = settings.behaviour, proposal.pod, proposal.group
    if not (behaviour.pdbs_are_read_too or behaviour.single_replicas) or not restarts(pod, proposal.targets):
        return ()
    # The flag lifts minReplicas for every resize, as it does upstream.
    if group is not None and group.is_below_minimum and not settings.skips_disruption_budget:
        return Hindrance(Reason.BELOW_MIN_REPLICAS, _RESTART)
    if not behaviour.pdbs_are_read_too:
        return ()
    if group is not None and not group.bears(pod):
        return Hindrance(group.shortage, _RESTART)
    if surroundings.budgets is None:
        return ()
    return budgets_used(pod, surroundings.budgets.get(pod.namespace, ()), spent, behaviour)


def only_as_required(
    proposal: EvictionProposal, circumstances: Circumstances, _ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Evict only where the VPA's eviction requirements let it; resizes in place come here without being asked.

    Spec: beyond:B-26, case:31, updater K-13.
    """
    processed = proposal.processed
    if not circumstances.settings.behaviour.single_replicas or processed is None:
        return proposal
    if meets_requirements(proposal.pod, circumstances.vpa, processed.recommendation):
        return proposal
    return Hindrance(Reason.REQUIREMENTS_UNMET)


def _in_words(budget: DisruptionBudget, taken: int) -> str:
    """Say what a budget lacks."""
    healthy = f"{budget.ref} needs {budget.desired_healthy} healthy pods and has {budget.current_healthy}"
    return f"{healthy}; {taken} of them are disrupted in this round or about to restart" if taken else healthy
