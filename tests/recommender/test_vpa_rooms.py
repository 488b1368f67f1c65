"""Which rooms on nodes the pods of each VPA may take, as columns that are brought up to date."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from autoscaling.matching import of_labels, parse_selector
from autoscaling.node import Node
from autoscaling.ownership import ControllerKey
from autoscaling.placement import Placement
from autoscaling.pod import Owner, Pod
from autoscaling.workload import Workload
from recommender.grouping import Groups
from recommender.node_rooms import NodeRoom, NodeRooms
from recommender.pod_shapes import PodShapes
from recommender.vpa_rooms import RoomColumns, VpaRooms
from tests.builders import amounts, container
from tests.recommender.scene import Scene, integers, pod, vpa

NODES = tuple(Node(f"node-{disk}", amounts(f"4/{size}G"), {"disk": disk}) for size, disk in enumerate("abc", 5))
APPS = ("v", "w")


def placed(name: str, app: str, disk: str, memory: str = "1G", *, is_daemon: bool = False) -> Pod:
    kind = "DaemonSet" if is_daemon else "ReplicaSet"
    return replace(
        pod(name, labels={"app": app}),
        placement=Placement({"disk": disk}, overhead=amounts("10m")),
        containers=(container("main", f"1/{memory}"), container("side", f"1/{memory}")),
        owners=(Owner("apps/v1", kind, app, controller=True),),
    )


class Stage:
    """VPAs ``v`` and ``w``, their pods, and columns about them that are kept."""

    def __init__(self) -> None:
        self.scene, self.shapes, self.kept, self.rooms = Scene(), PodShapes(), VpaRooms(), NodeRooms()
        self.rooms.look(NODES, ())
        self.templates = dict.fromkeys(APPS, "a")
        self.version = 0
        for name in APPS:
            self.scene.follow(vpa(name), selector=parse_selector(f"app={name}"))
            self.scene.tracked(name).controllers = (ControllerKey("default", "Deployment", name, "apps/v1"),)

    def observe(self, one: Pod) -> None:
        self.scene.observe(one)
        self.shapes.observe(self.scene.model.pods["default", one.name], one)

    def forget(self, name: str) -> None:
        state = self.scene.model.pods.get(("default", name))
        if state is not None:
            self.shapes.forget(state)
            self.scene.model.forget_pod("default", name)

    def template(self, app: str, disk: str) -> None:
        self.templates[app] = disk
        self.version += 1

    def look(self, into: VpaRooms, recommended: NDArray[np.bool_] | None = None) -> RoomColumns:
        groups: Groups = self.scene.model.groups()
        flags = np.ones((2, len(groups)), dtype=np.bool_) if recommended is None else recommended
        workloads = {
            ("default", kind, app): Workload(kind, "default", app, of_labels({}), placement=Placement({"disk": disk}))
            for app, disk in self.templates.items()
            for kind in ("Deployment", "DaemonSet")
        }
        changed = set(self.shapes.changed)
        if into is self.kept:
            self.shapes.changed.clear()
        into.look(groups, changed, flags, workloads, (self.version,))
        return into.columns(self.rooms)


def told(columns: RoomColumns) -> list[tuple[tuple[NodeRoom, ...], list[int]]]:
    """Return what columns tell of each VPA."""
    pairs = zip(columns.kinds.tolist(), columns.others.T.tolist(), strict=True)
    return [(columns.rooms[kind], others) for kind, others in pairs]


NAMES, DISKS = st.sampled_from(("p", "q", "r")), st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("observe"), NAMES, st.sampled_from(APPS), DISKS, st.sampled_from(("1G", "2G")), st.booleans()),
    st.tuples(st.just("forget"), NAMES),
    st.tuples(st.just("template"), st.sampled_from(APPS), DISKS),
    st.tuples(st.just("look"), st.integers(0, 2**12)),
)


@given(st.lists(STEPS, max_size=12))
def test_columns_that_are_kept_tell_what_fresh_ones_do(steps: list[tuple[object, ...]]) -> None:
    """Spec: beyond:B-11, performance:R-3."""
    stage = Stage()
    for name, *given_ in steps:
        match name, given_:
            case "observe", [str(one), str(app), str(disk), str(memory), bool(is_daemon)]:
                stage.observe(placed(one, app, disk, memory, is_daemon=is_daemon))
            case "forget", [str(one)]:
                stage.forget(one)
            case "template", [str(app), str(disk)]:
                stage.template(app, disk)
            case "look", [int(bits)]:
                count = 2 * len(stage.scene.model.groups())
                flags = np.array([bits >> at & 1 for at in range(count)], dtype=np.bool_).reshape(2, -1)
                fresh = told(stage.look(VpaRooms(), flags))
                assert told(stage.look(stage.kept, flags)) == fresh
    assert told(stage.look(VpaRooms())) == told(stage.look(stage.kept))


@pytest.mark.parametrize(
    ("row", "recommended", "others"),
    [
        ("beyond:B-11 all", [[1, 1], [1, 1]], [10, 0]),
        ("beyond:B-11 one", [[1, 0], [1, 0]], [1010, 10**9]),
        ("beyond:B-11 memory of one", [[1, 1], [0, 1]], [10, 10**9]),
        ("beyond:B-11 none", [[0, 0], [0, 0]], [2010, 2 * 10**9]),
    ],
)
def test_what_is_not_recommended(row: str, recommended: list[list[int]], others: list[int]) -> None:
    stage = Stage()
    stage.observe(placed("p", "v", "a"))
    columns = stage.look(stage.kept, np.array(recommended, dtype=np.bool_))
    assert columns.others[:, 0].tolist() == others, row


def test_of_a_rollout_the_more_demanding_pod_counts_on_the_nodes_of_both() -> None:
    stage = Stage()
    for one in (placed("p", "v", "a"), placed("q", "v", "b", "2G")):
        stage.observe(one)
    columns = stage.look(stage.kept, np.zeros((2, 2), dtype=np.bool_))
    ((room,), others), _ = told(columns)
    assert (room.node, others) == ("node-b", [2010, 4 * 10**9]), "beyond:B-11"


def test_kinds_that_are_no_longer_used_go() -> None:
    stage = Stage()
    for disk in "abcdefgh":
        stage.observe(placed("p", "v", disk))
        assert len(stage.look(stage.kept).rooms) <= len(APPS) + 2, "performance:R-5"


def test_the_largest_node_of_each() -> None:
    columns = RoomColumns(
        integers(1, 0, 1), ((), (NodeRoom("n", 4, 8), NodeRoom("o", 5, 1))), np.zeros((2, 3), dtype=np.int64)
    )
    assert columns.first.tolist() == [[4, 0, 4], [8, 0, 8]], "beyond:B-11"
    assert columns.is_known.tolist() == [True, False, True]
