"""What is taken on every node: the requests of the pods there, kept up to date with every write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenkeel.simulator.api.containers import amounts
from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.pod_amounts import effective_requests
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.controllers.index import controller_uid
from evenkeel.simulator.controllers.node_fit import taints_of
from evenkeel.simulator.controllers.pod_state import is_finished

PODS_RESOURCE = "pods"


@dataclass(frozen=True, slots=True)
class Share:
    """What one pod takes on its node.

    Args:
        node: Name of the node.
        requests: Billionths of each resource's unit by name.
        controller: Uid of the pod's controller, empty without one.
    """

    node: str
    requests: Mapping[str, int]
    controller: str


@dataclass(slots=True)
class NodeState:
    """One node.

    Args:
        name: Its name.
        body: The node object; None while only pods name the node.
        taints: Its taints, with the one that being cordoned stands for.
        allocatable: Billionths of each resource's unit that pods may request.
        used: Billionths of each resource's unit that its pods request.
        pods: How many pods it has.
        by_controller: How many pods it has of each controller, by uid.
    """

    name: str
    body: JsonObject | None = None
    taints: list[JsonObject] = field(default_factory=list)
    allocatable: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    pods: int = 0
    by_controller: dict[str, int] = field(default_factory=dict)

    def lacks(self, requests: Mapping[str, int]) -> list[str]:
        """Return the resources of which a pod asks for more than is left, by name."""
        short = [
            name
            for name, wanted in requests.items()
            if wanted and self.used.get(name, 0) + wanted > self.allocatable.get(name, 0)
        ]
        most = self.allocatable.get(PODS_RESOURCE)
        if most is not None and (self.pods + 1) * 10**9 > most:
            short.append(PODS_RESOURCE)
        return short


class NodeUsage:
    """All nodes with what is taken on each."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeState] = {}
        self._by_name: list[NodeState] | None = None
        self._shares: dict[Key, Share] = {}

    def nodes(self) -> list[NodeState]:
        """Return the nodes that exist, by name."""
        if self._by_name is None:
            self._by_name = [state for _, state in sorted(self._nodes.items()) if state.body is not None]
        return self._by_name

    def put_node(self, stored: Stored) -> None:
        """Take a node's present state in."""
        state = self._state(stored.key[1])
        if state.body is None:
            self._by_name = None
        state.body, state.taints = stored.body, taints_of(stored.body)
        status = child(stored.body, "status")
        given = amounts(status, "allocatable") or amounts(status, "capacity")
        state.allocatable = {name: amount.nano for name, amount in given.items()}

    def drop_node(self, name: str) -> None:
        """Forget a node that has gone; pods that name it stay counted, in case it comes back."""
        state = self._state(name)
        state.body, state.allocatable = None, {}
        self._by_name = None
        self._forget_empty(name)

    def apply(self, change: Change) -> tuple[Share | None, Share | None]:
        """Take a pod's change in, and return what it took before and takes now."""
        before = self._shares.get(change.after.key)
        after = None if change.type is ChangeType.DELETED else share_of(change.after.body)
        if before == after:
            return before, after
        if before is not None:
            self._count(before, -1)
            del self._shares[change.after.key]
        if after is not None:
            self._count(after, 1)
            self._shares[change.after.key] = after
        return before, after

    def put_pod(self, stored: Stored) -> None:
        """Take a pod in that is there already."""
        share = share_of(stored.body)
        if share is not None:
            self._count(share, 1)
            self._shares[stored.key] = share

    def _count(self, share: Share, sign: int) -> None:
        """Add a share to its node, or take it away."""
        state = self._state(share.node)
        state.pods += sign
        for name, amount in share.requests.items():
            state.used[name] = state.used.get(name, 0) + sign * amount
        if share.controller:
            count = state.by_controller.get(share.controller, 0) + sign
            state.by_controller[share.controller] = count
            if not count:
                del state.by_controller[share.controller]
        self._forget_empty(share.node)

    def _state(self, name: str) -> NodeState:
        """Return the state of a node, made on first use."""
        return self._nodes.setdefault(name, NodeState(name))

    def _forget_empty(self, name: str) -> None:
        """Forget a node that does not exist and has no pods."""
        state = self._nodes[name]
        if state.body is None and not state.pods:
            del self._nodes[name]


def share_of(pod: JsonObject) -> Share | None:
    """Return what a pod takes on its node; None when it is on none or has ended (spec: in-place-resize 2)."""
    node = text(pod, "spec", "nodeName")
    if not node or is_finished(pod):
        return None
    requests = {name: amount.nano for name, amount in effective_requests(pod).items()}
    return Share(node, requests, controller_uid(pod))
