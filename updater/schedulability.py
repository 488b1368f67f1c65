"""Whether a node can take the pod that would replace an evicted one (beyond:B-25)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoscaling.behaviour import Behaviour
from autoscaling.errors import InvalidObjectError
from autoscaling.node import Node
from autoscaling.placement import Placement
from autoscaling.pod import Pod
from autoscaling.quantity import NANO
from autoscaling.resources import CONTROLLED, CPU
from autoscaling.scheduling import may_run_on
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.evicting import EvictionProposal
from updater.ledger import Amounts, Ledger
from updater.node_policies import refused_by_policy
from updater.pod_requests import hold_of
from updater.replacement import boosted_replacement_of
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus
from updater.room import PODS, Rooms, in_words, shortfall
from updater.shaping import Hindrance

_PLACE: Amounts = {PODS: NANO}


def where_the_replacement_fits(
    proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Evict only where a node is known to have room for the replacement, and take that room.

    The pod's own node counts with what the pod gives back, unless it is for want of room there that the pod is to go.
    Of a pod that something else may tie to its node (see ``Placement``), or whose placement is not known, no other node
    counts. Where the nodes are not known, nothing is checked. A replacement needs the room of its start-up boost, too,
    although that is taken back later.

    Spec: beyond:B-24 (precedence), beyond:B-25.
    """
    rooms, behaviour = circumstances.rooms, circumstances.settings.behaviour
    if not behaviour.free_room or rooms is None:
        return proposal
    pod = proposal.pod
    try:
        need = hold_of(boosted_replacement_of(proposal, circumstances)).total
    except InvalidObjectError as error:
        return Hindrance(Reason.INVALID_OBJECT, str(error))
    own = None if _goes_for_want_of_room(proposal, behaviour) else pod.node_name
    if own is not None:
        node, left = rooms.nodes.get(own), rooms.left(own, ledger)
        if node is not None and left is not None and _takes(node, pod.placement) and _fits_at_home(pod, need, left):
            return _claiming(proposal, own, _growth_at_home(proposal, need))
    need = {**need, **_PLACE}
    placement = pod.placement
    if placement is not None and not placement.is_tied:
        for name in _with_room(rooms, need, ledger, besides=pod.node_name):
            if _takes(rooms.nodes[name], placement):
                return _claiming(proposal, name, need)
    missing = _missing_at_home(proposal, need, rooms, ledger)
    return Hindrance(Reason.NO_OTHER_NODE, _detail(proposal, missing), missing=missing)


def _takes(node: Node, placement: Placement | None) -> bool:
    """Say whether a node takes new pods of a kind; an unknown placement bears no cordon and no taint."""
    return node.is_ready and may_run_on(node, placement or Placement())


def _goes_for_want_of_room(proposal: EvictionProposal, behaviour: Behaviour) -> bool:
    """Say whether a pod is to go because its node has no room for what it should get (updater K-19)."""
    reasons = {Reason.NO_ROOM, Reason.RESIZE_TIMED_OUT, Reason.RESIZE_FAILED}
    statuses = {None, ResizeStatus.DEFERRED, ResizeStatus.INFEASIBLE}
    is_for_room = proposal.reason in reasons and resize_progress(proposal.pod, behaviour) in statuses
    return is_for_room and not (behaviour.node_policies_are_learnt and refused_by_policy(proposal.pod, behaviour))


def _fits_at_home(pod: Pod, need: Amounts, left: Amounts) -> bool:
    """Say whether a pod's own node takes the replacement once the pod is gone.

    Where deferred resizes wait for room or the node has become smaller, not even what the pod holds need be there.
    """
    held = hold_of(pod).total
    return not shortfall(need, {name: left[name] + held[name] for name in need})


def _growth_at_home(proposal: EvictionProposal, need: Amounts) -> Amounts:
    """Return by how much the replacement would hold more of the pod's node than the pod does."""
    held = hold_of(proposal.pod).total
    return {name: max(need[name] - held[name], 0) for name in CONTROLLED}


def _with_room(rooms: Rooms, need: Amounts, ledger: Ledger, besides: str) -> Iterator[str]:
    """Yield the nodes with room for a new pod, the one with most free cpu first, but for its own node."""
    for free_cpu, name in rooms.by_free_cpu:
        # From here on no node has enough, and what others take in the round leaves less still.
        if free_cpu < need[CPU]:
            return
        left = rooms.left(name, ledger)
        if name != besides and left is not None and not shortfall(need, left):
            yield name


def _claiming(proposal: EvictionProposal, node: str, taken: Amounts) -> EvictionProposal:
    """Return an eviction whose replacement takes room on a node."""
    return replace(proposal, claim=replace(proposal.claim, rooms={node: taken}))


def _missing_at_home(proposal: EvictionProposal, need: Amounts, rooms: Rooms, ledger: Ledger) -> Amounts:
    """Return what the pod's own node lacks for the replacement in its place, as far as that is known."""
    left = rooms.left(proposal.pod.node_name, ledger)
    return shortfall(_growth_at_home(proposal, need), left) if left is not None else {}


def _detail(proposal: EvictionProposal, missing: Amounts) -> str:
    """Return what the reason cannot say."""
    lacking = f"{in_words(missing)} missing on node {proposal.pod.node_name}" if missing else ""
    placement = proposal.pod.placement
    if placement is None or placement.is_tied:
        return ", ".join(filter(None, (lacking, "cannot be told whether the pod could run on another node")))
    return lacking
