"""Sending of a resize what fits on the pod's node, or waiting for room (beyond:B-24)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import CONTROLLED, CPU
from autoscaling.target_resources import ContainerTarget
from updater.changes import differs_from_spec, restarts_for
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Amounts, Ledger
from updater.pod_requests import PodHold, hold_of
from updater.room import in_words, shortfall
from updater.shaping import Hindrance, Proposal

_STEPS = {name: 10**6 if name == CPU else NANO for name in CONTROLLED}
"""What amounts are rounded to, in nano-units: whole millicores and bytes."""


@dataclass(frozen=True, slots=True)
class _Growth:
    """What a resize adds to what a pod holds of its node.

    Args:
        hold: What it holds as it is.
        held: What each container would count for after the resize.
        amounts: What the whole pod would count for more, by resource; nothing below zero.
    """

    hold: PodHold
    held: Mapping[str, Amounts]
    amounts: Amounts

    @classmethod
    def of(cls, proposal: Proposal) -> _Growth:
        """Reckon the growth of a resize."""
        hold = hold_of(proposal.pod)
        requests = {
            container.name: {name: amount.nano for name, amount in target.requests.items() if name in CONTROLLED}
            for container, target in zip(proposal.pod.containers, proposal.targets, strict=True)
            if target is not None
        }
        held = {name: container.with_requests(requests.get(name, {})) for name, container in hold.containers.items()}
        before, after = hold.total, hold.total_of(held)
        return cls(hold, held, {name: max(after[name] - before[name], 0) for name in CONTROLLED})

    def by_container(self, name: str) -> dict[str, int]:
        """Return by how much each container grows in one resource; those that do not are left out."""
        grown = {key: held[name] - self.hold.containers[key].held[name] for key, held in self.held.items()}
        return {key: amount for key, amount in grown.items() if amount > 0}


def within_free_room(proposal: Proposal, circumstances: Circumstances, ledger: Ledger) -> Proposal | Hindrance:
    """Cut a resize to what the pod's node has left, less what this round's changes take.

    What does not grow always passes. A resource that lacks room grows by the same share in every container, if with
    that each of them is at its lower bound, or the growth is worth it and restarts no container; else it stays as it
    is. Without room for anything the resize waits. Where the nodes are not known, nothing is checked.

    Spec: beyond:B-24, beyond:B-41.
    """
    rooms = circumstances.rooms
    if not circumstances.settings.behaviour.free_room or rooms is None:
        return proposal
    growth, node_name = _Growth.of(proposal), proposal.pod.node_name
    if not any(growth.amounts.values()):
        return proposal
    node, left = rooms.nodes.get(node_name), rooms.left(node_name, ledger)
    if node is None or left is None or not node.is_ready:
        return Hindrance(Reason.NODE_NOT_READY, f"node {node_name}")
    missing = shortfall(growth.amounts, left)
    if not missing:
        return _claimed(proposal, growth)
    cut = proposal
    for name in missing:
        cut = _with_one_cut(cut, growth, name, circumstances, max(left[name], 0))
    grown = _Growth.of(cut)
    # What the spec asks for already and the node has called infeasible is looked at again with any resize.
    if not differs_from_spec(cut.pod, cut.targets) or shortfall(grown.amounts, left):
        return Hindrance(Reason.NO_ROOM, f"{in_words(missing)} missing on node {node_name}", missing=missing)
    return replace(_claimed(cut, grown), missing=missing)


def _claimed(proposal: Proposal, growth: _Growth) -> Proposal:
    """Return a resize that takes the room it grows by."""
    taken = {name: amount for name, amount in growth.amounts.items() if amount}
    rooms = {proposal.pod.node_name: taken} if taken else {}
    return replace(proposal, claim=replace(proposal.claim, rooms=rooms))


def _with_one_cut(proposal: Proposal, growth: _Growth, name: str, circumstances: Circumstances, room: int) -> Proposal:
    """Return a resize that grows no further in one resource than there is room.

    Args:
        room: What the node has left of it, in nano-units, not below zero.
    """
    grown = growth.by_container(name)
    share = growth.hold.share_that_fits(name, grown, growth.hold.total[name] + room)
    held = {key: growth.hold.containers[key].held[name] for key in grown}
    step = _STEPS[name]
    reached = {key: max((held[key] + int(amount * share)) // step * step, held[key]) for key, amount in grown.items()}
    is_worth_it = _is_worth_it(proposal, circumstances, name, reached, held)
    targets: list[ContainerTarget | None] = []
    for container, target in zip(proposal.pod.containers, proposal.targets, strict=True):
        if target is None or container.name not in grown or name not in target.requests:
            targets.append(target)
        elif is_worth_it:
            before = proposal.pod.actual_resources(container).limit(name).nano
            targets.append(_Cut(name, reached[container.name], share).of(target, before))
        else:
            targets.append(_without(target, name))
    return replace(proposal, targets=tuple(targets))


def _is_worth_it(
    proposal: Proposal,
    circumstances: Circumstances,
    name: str,
    reached: Mapping[str, int],
    held: Mapping[str, int],
) -> bool:
    """Say whether a part of the growth is worth having now.

    Args:
        reached: What each growing container would get, in nano-units.
        held: What each of them counts for now.
    """
    bounds = {key: _lower_bound(proposal, key, name) for key in reached}
    is_below = any(held[key] < bound for key, bound in bounds.items() if bound is not None)
    if is_below and all(bound is not None and bound <= reached[key] for key, bound in bounds.items()):
        return True
    # More room may come bit by bit, and a container must not restart for each bit.
    if any(container.name in reached and restarts_for(container, name) for container in proposal.pod.containers):
        return False
    grown, before = sum(reached.values()) - sum(held.values()), sum(held.values())
    return grown > 0 and grown >= circumstances.settings.pod_update_threshold * before


def _lower_bound(proposal: Proposal, container: str, name: str) -> int | None:
    """Return the lower bound of a container in nano-units, None where it has none."""
    entry = proposal.processed.recommendation.of(container) if proposal.processed else None
    bound = (entry.lower_bound or {}).get(name) if entry else None
    return bound.nano if bound is not None else None


@dataclass(frozen=True, slots=True)
class _Cut:
    """How far one resource of a container grows instead of all the way.

    Args:
        name: Of the resource.
        reached: The request, in nano-units.
        share: Of the growth that was asked for.
    """

    name: str
    reached: int
    share: Fraction

    def of(self, target: ContainerTarget, before: int) -> ContainerTarget:
        """Return a container's target with the resource cut.

        A limit above the request grows by the same share as the request, so that it keeps its distance; one that does
        not grow stays, as limits take no room.

        Args:
            before: The limit in force, in nano-units, 0 where there is none.
        """
        name, request = self.name, target.requests[self.name]
        notes = (*target.notes, f"{name} cut to the free room of the node")
        requests = {**target.requests, name: Quantity(self.reached, request.format)}
        limit = target.limits.get(name)
        if limit is None:
            return replace(target, requests=requests, notes=notes)
        if limit == request:
            cut = self.reached
        else:
            step = _STEPS[name]
            grown = before + -int(-(limit.nano - before) * self.share // step) * step
            cut = min(max(grown, self.reached), limit.nano) if 0 < before < limit.nano else limit.nano
        return ContainerTarget(requests, {**target.limits, name: Quantity(cut, limit.format)}, notes)


def _without(target: ContainerTarget, name: str) -> ContainerTarget:
    """Return a container's target with one resource left as the spec has it."""
    return replace(
        target,
        requests={key: amount for key, amount in target.requests.items() if key != name},
        limits={key: amount for key, amount in target.limits.items() if key != name},
    )
