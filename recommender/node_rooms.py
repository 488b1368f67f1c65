"""What the nodes have for a pod: allocatable less what pods of DaemonSets take there.

Only what lasts counts. A cordon, and the taints that Kubernetes sets while a node is not ready or under pressure, pass:
if they counted, recommendations would follow every restart of a node. Likewise a DaemonSet takes its room on each node
that its pods may run on, whether or not one runs there just now.

Spec: beyond:B-11, case:45.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from autoscaling.node import Node
from autoscaling.placement import Placement
from autoscaling.resources import CONTROLLED, CPU, MEMORY
from autoscaling.scheduling import Demands, may_run_on
from autoscaling.targets import WorkloadKey
from recommender.label_sets import Room
from recommender.policy_bounds import NANO_PER_AMOUNT

PASSING_TAINTS: Final = "node.kubernetes.io/"
"""What the keys of taints begin with that tell of a state that passes."""

Sought = tuple[Demands, WorkloadKey | None]
"""What pods ask of a node, and the DaemonSet that they are of themselves, whose pods take nothing away from them."""


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """What one node has for a pod.

    Args:
        node: Its name.
        cpu: Millicores.
        memory: Bytes.
    """

    node: str
    cpu: int
    memory: int


@dataclass(frozen=True, slots=True)
class DaemonPods:
    """The pods of one DaemonSet.

    Args:
        daemon_set: Its key.
        placement: Where its template lets them run.
        room: What the largest of them asks for.
    """

    daemon_set: WorkloadKey
    placement: Placement
    room: Room


class NodeRooms:
    """What the nodes have; mutable, owned by the task of the rounds."""

    def __init__(self) -> None:
        self._seen: Sequence[Node] = ()
        self._lasting: dict[str, tuple[Node, Node]] = {}
        self._daemons: tuple[DaemonPods, ...] = ()
        self._taken: dict[str, dict[WorkloadKey, Room]] = {}
        self._found: dict[frozenset[Sought], tuple[NodeRoom, ...]] = {}

    def look(self, nodes: Sequence[Node], daemons: tuple[DaemonPods, ...]) -> None:
        """Look at the nodes and at the DaemonSets there are.

        Args:
            nodes: All nodes; the same object as before where nothing has changed.
            daemons: All DaemonSets.
        """
        is_other = daemons != self._daemons
        if nodes is not self._seen:
            before, self._seen = self._lasting, nodes
            self._lasting = {node.name: _noted(node, before.get(node.name)) for node in nodes}
            is_other |= before.keys() != self._lasting.keys()
            is_other = is_other or any(before[name][1] is not noted[1] for name, noted in self._lasting.items())
        if is_other:
            self._daemons = daemons
            self._found.clear()
            self._taken = {
                name: {each.daemon_set: each.room for each in daemons if may_run_on(node, each.placement)}
                for name, (_, node) in self._lasting.items()
            }

    def largest(self, sought: frozenset[Sought]) -> tuple[NodeRoom, ...]:
        """Return what the nodes have for pods that may be of several kinds, the largest by cpu times memory first.

        A node that has no more of anything than another one is left out.

        Args:
            sought: What the pods of each kind ask for.

        Returns:
            Nothing where no node will do.
        """
        found = self._found.get(sought)
        if found is None:
            rooms = (room for each in sought for room in self._rooms(*each))
            found = self._found[sought] = tuple(sorted(_undominated(rooms), key=lambda room: -room.cpu * room.memory))
        return found

    def _rooms(self, demands: Demands, daemon_set: WorkloadKey | None) -> Iterable[NodeRoom]:
        """Yield what each node has that will do for one kind of pods."""
        placement = demands.placement
        for name, (_, node) in self._lasting.items():
            if not may_run_on(node, placement):
                continue
            taken = [room for key, room in self._taken[name].items() if key != daemon_set]
            cpu, memory = _allocatable(node)
            cpu, memory = cpu - sum(room[0] for room in taken), memory - sum(room[1] for room in taken)
            if cpu > 0 and memory > 0:
                yield NodeRoom(name, cpu, memory)


def _noted(node: Node, before: tuple[Node, Node] | None) -> tuple[Node, Node]:
    """Return a node as it was seen with what lasts of it: the same object as before where that has not changed."""
    if before is not None and before[0] is node:
        return before
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(PASSING_TAINTS))
    allocatable = {name: node.allocatable[name] for name in CONTROLLED if name in node.allocatable}
    lasting = Node(node.name, allocatable, node.labels, taints)
    return node, before[1] if before is not None and before[1] == lasting else lasting


def _allocatable(node: Node) -> Room:
    """Return what a node's pods may ask for in total, rounded down; nothing where it does not say."""
    amounts = node.allocatable
    cpu, memory = (amounts[name].nano // NANO_PER_AMOUNT[name] if name in amounts else 0 for name in (CPU, MEMORY))
    return cpu, memory


def _undominated(rooms: Iterable[NodeRoom]) -> list[NodeRoom]:
    """Return the rooms of which no other one has at least as much of both; of equal ones the first by name."""
    kept: list[NodeRoom] = []
    for room in sorted(rooms, key=lambda room: (-room.cpu, -room.memory, room.node)):
        if not kept or room.memory > kept[-1].memory:
            kept.append(room)
    return kept
