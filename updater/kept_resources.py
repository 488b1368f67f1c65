"""Not asking a node for what its policy keeps as it is in guaranteed pods (case:34)."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.pod import Container, Pod
from autoscaling.qos import QosClass, pod_qos
from autoscaling.resources import ResourceList
from autoscaling.target_resources import ContainerTarget
from updater.changes import differs_from_spec
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.shaping import Hindrance, Proposal, Targets


def unless_node_keeps_it(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Leave out of a guaranteed pod's resize what its node is known to refuse; the rest goes without it.

    What the spec asks for of that already goes back to what the node has accepted, as it would have all of the resize
    refused. Where nothing is left a new pod may have what this one may not, so mode InPlaceOrRecreate may evict; but
    not for the end of a boost, which a new pod would only have again.

    Spec: case:34, resize R44, R45.
    """
    pod, behaviour = proposal.pod, circumstances.settings.behaviour
    kept = circumstances.memory.node_policies.kept_by(pod.node_name)
    if not behaviour.node_policies_are_learnt or not kept or pod_qos(pod) is not QosClass.GUARANTEED:
        return proposal
    pairs = tuple(zip(pod.containers, proposal.targets, strict=True))
    others = tuple(_without(target, kept) for _, target in pairs)
    if others == proposal.targets and not any(_to_give_back(pod, container, kept) for container in pod.containers):
        return proposal
    if proposal.expired or not differs_from_spec(pod, others):
        detail = f"node {pod.node_name} keeps {' and '.join(sorted(kept))} of guaranteed pods as it is"
        return Hindrance(Reason.NODE_KEEPS_IT, detail, helps_to_evict=not proposal.expired)
    return replace(proposal, targets=_giving_back(pod, others, kept))


def _without(target: ContainerTarget | None, kept: frozenset[str]) -> ContainerTarget | None:
    """Return a container's target without some resources."""
    if target is None:
        return None
    requests = {name: amount for name, amount in target.requests.items() if name not in kept}
    return replace(target, requests=requests, limits={n: a for n, a in target.limits.items() if n not in kept})


def _giving_back(pod: Pod, targets: Targets, kept: frozenset[str]) -> Targets:
    """Return targets that take back what the spec asks for in vain, both requests and limits, which are equal."""
    given: list[ContainerTarget | None] = []
    for container, target in zip(pod.containers, targets, strict=True):
        back = _to_give_back(pod, container, kept)
        known = target or ContainerTarget()
        more = replace(known, requests={**known.requests, **back}, limits={**known.limits, **back})
        given.append(more if back else target)
    return tuple(given)


def _to_give_back(pod: Pod, container: Container, kept: frozenset[str]) -> ResourceList:
    """Return what a node has accepted of resources of which a container's spec asks for another amount."""
    status = pod.status_of(container.name)
    accepted = status.accepted_requests if status is not None else {}
    asked = container.resources.requests or {}
    return {name: accepted[name] for name in sorted(kept) if name in accepted and accepted[name] != asked.get(name)}
