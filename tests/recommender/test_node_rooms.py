"""What nodes have for pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.node import Node, Taint
from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration
from autoscaling.scheduling import Demands
from recommender.node_rooms import DaemonPods, NodeRoom, NodeRooms, Sought
from tests.builders import amounts

GPU = Taint("gpu", "yes", "NoSchedule")
GB = 10**9
KEY = ("kube-system", "DaemonSet", "agent")
ANYWHERE: Sought = (Demands(), None)


def node(name: str = "n", room: str = "4/8G", **labels: str) -> Node:
    return Node(name, amounts(room), labels)


def seek(*nodes: Node, sought: Sought = ANYWHERE, daemons: tuple[DaemonPods, ...] = ()) -> list[NodeRoom]:
    rooms = NodeRooms()
    rooms.look(nodes, daemons)
    return list(rooms.largest(frozenset({sought})))


LARGE, SMALL = NodeRoom("large", 8000, 16 * GB), NodeRoom("small", 4000, 8 * GB)
TWO = (node("small"), node("large", "8/16G", disk="ssd"))


@pytest.mark.parametrize(
    ("row", "placement", "expected"),
    [
        ("case:45 anywhere", Placement(), [LARGE]),
        ("case:45 selector", Placement({"disk": "ssd"}), [LARGE]),
        ("case:45 other selector", Placement({"disk": "hdd"}), []),
        ("case:45 affinity", Placement(node_terms=(NodeTerm((NodeRequirement("disk", "DoesNotExist"),)),)), [SMALL]),
        (
            "case:45 name",
            Placement(node_terms=(NodeTerm(fields=(NodeRequirement("metadata.name", "In", ("small",)),)),)),
            [SMALL],
        ),
    ],
)
def test_which_nodes_will_do(row: str, placement: Placement, expected: list[NodeRoom]) -> None:
    assert seek(*TWO, sought=(Demands.of(placement), None)) == expected, row


@pytest.mark.parametrize(
    ("row", "taint", "tolerations", "expected"),
    [
        ("case:45 taint", GPU, (), [SMALL]),
        ("case:45 no execution", replace(GPU, effect="NoExecute"), (), [SMALL]),
        ("case:45 tolerated", GPU, (Toleration("gpu", "Exists"),), [LARGE]),
        ("case:45 preference", replace(GPU, effect="PreferNoSchedule"), (), [LARGE]),
        ("beyond:B-11 passes", Taint("node.kubernetes.io/not-ready", "", "NoExecute"), (), [LARGE]),
        ("beyond:B-11 cordon", Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"), (), [LARGE]),
    ],
)
def test_taints(row: str, taint: Taint, tolerations: tuple[Toleration, ...], expected: list[NodeRoom]) -> None:
    tainted = replace(TWO[1], taints=(taint,), is_unschedulable=True, is_ready=False)
    assert seek(TWO[0], tainted, sought=(Demands(tolerations=tolerations), None)) == expected, row


@pytest.mark.parametrize(
    ("row", "nodes", "expected"),
    [
        ("beyond:B-11 none", (), []),
        (
            "beyond:B-11 both sides",
            (node("c", "8/8G"), node("m", "2/64G")),
            [("m", 2000, 64 * GB), ("c", 8000, 8 * GB)],
        ),
        ("beyond:B-11 no more of anything", (node("c", "8/8G"), node("s", "8/7G")), [("c", 8000, 8 * GB)]),
        ("beyond:B-11 equal ones", (node("b"), node("a")), [("a", 4000, 8 * GB)]),
        ("beyond:B-11 rounded down", (node("a", "3999999u/1500m"),), [("a", 3999, 1)]),
        ("beyond:B-11 says nothing", (Node("a"),), []),
        ("beyond:B-11 says nothing of memory", (node("a", "4/-"),), []),
    ],
)
def test_the_largest(row: str, nodes: tuple[Node, ...], expected: list[tuple[str, int, int]]) -> None:
    assert seek(*nodes) == [NodeRoom(*each) for each in expected], row


AGENT = DaemonPods(KEY, Placement(), (500, GB))
ON_SSD = replace(AGENT, placement=Placement({"disk": "ssd"}))


@pytest.mark.parametrize(
    ("row", "daemons", "daemon_set", "expected"),
    [
        ("case:45 everywhere", (AGENT,), None, ("large", 7500, 15 * GB)),
        ("case:45 there", (ON_SSD,), None, ("large", 7500, 15 * GB)),
        ("case:45 two", (AGENT, replace(ON_SSD, daemon_set=("x", "y", "z"))), None, ("large", 7000, 14 * GB)),
        ("case:45 elsewhere", (replace(AGENT, placement=Placement({"disk": "hdd"})),), None, LARGE),
        ("case:45 its own", (AGENT,), KEY, LARGE),
        ("case:45 leaves a bit", (replace(AGENT, placement=ON_SSD.placement, room=(7999, GB)),), None, None),
        ("case:45 leaves nothing", (replace(ON_SSD, room=(8000, GB)),), None, SMALL),
    ],
)
def test_what_daemon_sets_take(
    row: str, daemons: tuple[DaemonPods, ...], daemon_set: tuple[str, str, str] | None, expected: object
) -> None:
    found = seek(*TWO, sought=(Demands(), daemon_set), daemons=daemons)
    if expected is None:
        assert [each.node for each in found] == ["small", "large"], row
    else:
        assert found == [expected if isinstance(expected, NodeRoom) else NodeRoom(*expected)], row  # type: ignore[misc]


def test_pods_of_two_kinds_have_the_nodes_of_both() -> None:
    rooms = NodeRooms()
    rooms.look((node("c", "8/8G", kind="c"), node("m", "2/64G", kind="m")), ())
    sought = frozenset({(Demands.of(Placement({"kind": kind})), None) for kind in "cm"})
    assert [each.node for each in rooms.largest(sought)] == ["m", "c"], "beyond:B-11"
    assert rooms.largest(frozenset()) == ()


def test_what_does_not_count_changes_nothing() -> None:
    rooms, sought = NodeRooms(), frozenset({ANYWHERE})
    rooms.look((node(), node("o", "1/1G")), (AGENT,))
    before = rooms.largest(sought)
    beat = replace(node(), resource_version="8", is_ready=False, is_unschedulable=True)
    rooms.look((beat, node("o", "1/1G")), (replace(AGENT),))
    assert rooms.largest(sought) is before, "performance:R-3"


@pytest.mark.parametrize(
    ("row", "nodes", "daemons", "expected"),
    [
        ("beyond:B-11 node grows", (node(room="5/8G"),), (AGENT,), [("n", 4500, 7 * GB)]),
        ("beyond:B-11 node goes", (), (AGENT,), []),
        ("beyond:B-11 node comes", (node(), node("o", "9/9G")), (AGENT,), [("o", 8500, 8 * GB)]),
        ("beyond:B-11 daemon set goes", (node(),), (), [("n", 4000, 8 * GB)]),
        ("beyond:B-11 taint comes", (replace(node(), taints=(GPU,)),), (AGENT,), []),
    ],
)
def test_what_counts_is_looked_at_again(
    row: str, nodes: tuple[Node, ...], daemons: tuple[DaemonPods, ...], expected: list[tuple[str, int, int]]
) -> None:
    rooms = NodeRooms()
    rooms.look((node(),), (AGENT,))
    assert rooms.largest(frozenset({ANYWHERE})) == (NodeRoom("n", 3500, 7 * GB),)
    rooms.look(nodes, daemons)
    assert list(rooms.largest(frozenset({ANYWHERE}))) == [NodeRoom(*each) for each in expected], row
