"""Recommendations held to what nodes have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.hpa import HorizontalScaling, Hpa, UtilizationMetric
from autoscaling.pod import ConditionStatus
from autoscaling.policy import container_policy
from autoscaling.resources import CONTROLLED
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, Recommendation, ScalingMode, TargetRef
from recommender.amounts import MAX_AMOUNT, from_quantity
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.node_caps import fitted_to_nodes
from recommender.node_rooms import NodeRoom
from recommender.postprocess import recommendations
from recommender.recommendation_table import RecommendationTable
from recommender.settings import RenderingSettings
from recommender.vpa_rooms import RoomColumns
from tests.builders import amounts, printed
from tests.recommender.rounds import Drawn, rounds
from tests.recommender.scene import APP, integers, vpa

GB = 10**9
CASE = NodeRoom("node1", 4000, 7_700_000_000)


def columns(*rooms: NodeRoom, others: tuple[int, int] = (0, 0)) -> RoomColumns:
    """Return the rooms of the nodes for one VPA."""
    return RoomColumns(integers(0), (rooms,), np.array([others], dtype=np.int64).T)


def table_of(
    figures: dict[str, tuple[list[int], list[int]]], *policies: ContainerPolicy, is_humanised: bool = False
) -> RecommendationTable:
    """Return the recommendation of one VPA: of each container cpu and memory of target, lower and upper bound."""
    groups = Groups.of([TrackedVpa(vpa("v", *policies), APP, linked={name: [0] for name in figures})])
    cpu, memory = (np.array([figures[name][side] for name in groups.names]).T for side in (0, 1))
    return recommendations(groups, Estimates(cpu, memory), RenderingSettings(humanize_memory=is_humanised))


def same(cpu: int, memory: int) -> tuple[list[int], list[int]]:
    return [cpu] * 3, [memory] * 3


def texts(recommendation: Recommendation, resource: str = "memory") -> dict[str, tuple[str, ...]]:
    """Return target, lower, upper bound and uncapped target of each container."""
    return {
        entry.container_name: tuple(
            printed(vector or {}).get(resource, "-")
            for vector in (entry.target, entry.lower_bound, entry.upper_bound, entry.uncapped_target)
        )
        for entry in recommendation.containers
    }


@pytest.mark.parametrize(
    ("row", "figures", "expected", "is_said"),
    [
        ("case:45", {"a": same(100, 9 * GB)}, {"a": ("7700M", "7700M", "7700M", "9G")}, True),
        ("case:45 at the cap", {"a": same(100, 7_700_000_000)}, {"a": ("7700M",) * 4}, False),
        (
            "case:45 one byte above",
            {"a": same(100, 7_700_000_001)},
            {"a": ("7700M", "7700M", "7700M", "7700000001")},
            True,
        ),
        (
            "case:45 sum of two",
            {"a": same(100, 6 * GB), "b": same(100, 3 * GB)},
            {
                "a": ("5133333333", "5133333333", "5133333333", "6G"),
                "b": ("2566666666", "2566666666", "2566666666", "3G"),
            },
            True,
        ),
        (
            "beyond:B-11 upper bound only",
            {"a": ([100] * 3, [2 * GB, GB, 80 * GB]), "b": ([100] * 3, [GB, GB, 20 * GB])},
            {"a": ("2G", "1G", "6160M", "2G"), "b": ("1G", "1G", "1540M", "1G")},
            False,
        ),
        (
            "beyond:B-11 upper bound no less than target",
            {"a": ([100] * 3, [2 * GB, GB, 2 * GB]), "b": ([100] * 3, [GB, GB, 98 * GB])},
            {"a": ("2G", "1G", "2G", "2G"), "b": ("1G", "1G", "5700M", "1G")},
            False,
        ),
        (
            "beyond:B-11 lower bound no more than target",
            {"a": ([100] * 3, [7 * GB, 7 * GB, 7 * GB]), "b": ([100] * 3, [7 * GB, GB, 7 * GB])},
            {"a": ("3850M", "3850M", "3850M", "7G"), "b": ("3850M", "1G", "3850M", "7G")},
            True,
        ),
    ],
)
def test_the_cap(
    row: str,
    figures: dict[str, tuple[list[int], list[int]]],
    expected: dict[str, tuple[str, ...]],
    *,
    is_said: bool,
) -> None:
    table = table_of(figures)
    fitted = fitted_to_nodes(table, columns(CASE))
    found = {
        name: tuple(str(amounts(f"-/{text}")["memory"].value()) for text in vectors)
        for name, vectors in texts(fitted.table[0]).items()
    }
    wanted = {
        name: tuple(str(amounts(f"-/{text}")["memory"].value()) for text in vectors)
        for name, vectors in expected.items()
    }
    assert found == wanted, row
    assert texts(fitted.table[0], "cpu") == texts(table[0], "cpu"), row
    assert bool(fitted.conditions) is is_said, row
    if is_said:
        assert fitted.conditions[0].type == "CappedToNode", row


def test_the_condition_names_node_amounts_and_way_out() -> None:
    fitted = fitted_to_nodes(table_of({"a": same(9000, 9 * GB)}), columns(CASE))
    condition = fitted.conditions[0]
    assert (condition.status, condition.reason) == (ConditionStatus.TRUE, "LargerThanAnyNode"), "case:45"
    for part in ("Node node1", "4 of cpu, but 9 would", "7700000000 of memory, but 9000000000 would", "Add a larger"):
        assert part in condition.message, "beyond:B-11"


@pytest.mark.parametrize(
    ("row", "rooms", "others", "expected"),
    [
        ("beyond:B-11 nothing known", (), (0, 0), "9G"),
        ("beyond:B-11 others", (CASE,), (0, GB), "6700M"),
        ("beyond:B-11 others take all", (CASE,), (0, 7_700_000_000), "9G"),
        ("beyond:B-11 too much cpu for others", (CASE,), (4001, 0), "9G"),
        ("beyond:B-11 others leave a byte", (CASE,), (0, 7_699_999_999), "1"),
        # On the node with more memory there is a tenth of the cpu.
        ("beyond:B-11 one node for both", (NodeRoom("m", 10, 90 * GB), CASE), (0, 0), "7700M"),
        ("beyond:B-11 fits the second", (NodeRoom("c", 400, 8 * GB), NodeRoom("m", 100, 9 * GB)), (0, 0), "9G"),
    ],
)
def test_which_node_counts(row: str, rooms: tuple[NodeRoom, ...], others: tuple[int, int], expected: str) -> None:
    table = table_of({"a": same(100, 9 * GB)})
    fitted = fitted_to_nodes(table, columns(*rooms, others=others))
    (target, *_), wanted = texts(fitted.table[0])["a"], amounts(f"-/{expected}")["memory"]
    assert amounts(f"-/{target}")["memory"] == wanted, row
    assert bool(fitted.conditions) is (expected != "9G"), row


@pytest.mark.parametrize(
    ("row", "least", "expected"),
    [
        ("beyond:B-11 no least", "-", (5_133_333_333, 2_566_666_666)),
        ("beyond:B-11 kept", "-/3G", (4_700_000_000, 3_000_000_000)),
        ("beyond:B-11 just possible", "-/7700M", (0, 7_700_000_000)),
        ("beyond:B-11 not possible", "-/9G", (0, 7_700_000_000)),
    ],
)
def test_min_allowed(row: str, least: str, expected: tuple[int, int]) -> None:
    table = table_of({"a": same(100, 6 * GB), "b": same(100, 3 * GB)}, ContainerPolicy("b", min_allowed=amounts(least)))
    fitted = fitted_to_nodes(table, columns(CASE))
    found = tuple(entry.target["memory"].value() for entry in fitted.table[0].containers)
    assert found == expected, row


def test_a_bound_that_is_kept_stays_as_it_was_typed() -> None:
    policies = ContainerPolicy("b", min_allowed=amounts("-/3001M"))
    table = table_of({"a": same(100, 6 * GB), "b": same(100, GB)}, policies)
    assert texts(fitted_to_nodes(table, columns(CASE)).table[0])["b"][0] == "3001M", "recommender:4.4"


def test_a_container_that_no_pod_has_any_more_takes_nothing() -> None:
    table = table_of({"a": same(100, 6 * GB), "b": same(100, 3 * GB)})
    gone = replace(table, groups=replace(table.groups, is_present=np.array([True, False])))
    fitted = fitted_to_nodes(gone, columns(CASE))
    assert fitted.table is gone, "beyond:B-6"
    assert not fitted.conditions


def test_containers_that_are_not_scaled_ask_for_nothing() -> None:
    table = table_of({"a": same(100, 6 * GB), "b": same(100, 3 * GB)}, ContainerPolicy("b", mode=ScalingMode.OFF))
    assert fitted_to_nodes(table, columns(CASE)).table is table, "beyond:B-11"


def test_a_lower_bound_above_the_upper_one_finds_its_node_too() -> None:
    table = table_of({"a": ([0, 1, 0], [0, 0, 0])})
    fitted = fitted_to_nodes(table, columns(NodeRoom("n0", 0, 0), NodeRoom("n1", 1, 0)))
    assert fitted.table[0] == table[0], "beyond:B-11"


def test_what_is_held_for_a_horizontal_autoscaler_is_capped_with_the_rest() -> None:
    table = table_of({"a": same(100, 9 * GB)})
    (tracked,) = table.groups.vpas
    hpa = Hpa("default", "h", TargetRef("Deployment", "v"), (UtilizationMetric("cpu", 50),))
    tracked.scaling = HorizontalScaling((hpa,), {("a", "cpu"): 5000})
    both = np.full((3, 1), 100), np.full((3, 1), 9 * GB)
    held = recommendations(table.groups, Estimates(*both), RenderingSettings())
    entry = fitted_to_nodes(held, columns(CASE)).table[0].containers[0]
    assert (printed(entry.target)["cpu"], entry.target["memory"].value()) == ("4", 7_700_000_000), "beyond:B-14"
    assert printed(entry.uncapped_target or {})["cpu"] == "100m"


def test_a_capped_amount_is_not_humanised() -> None:
    fitted = fitted_to_nodes(table_of({"a": same(100, 9 * GB)}, is_humanised=True), columns(CASE))
    entry = fitted.table[0].containers[0]
    assert entry.target["memory"].value() == 7_700_000_000, "recommender:4.4"
    assert printed(entry.uncapped_target or {})["memory"] == printed(amounts("-/8.38Gi"))["memory"]


def vectors(entry: ContainerRecommendation) -> list[dict[str, int]]:
    """Return target and bounds in whole amounts."""
    three = (entry.target, entry.lower_bound or {}, entry.upper_bound or {})
    return [{name: min(from_quantity(vector.get(name), name), MAX_AMOUNT) for name in CONTROLLED} for vector in three]


def least(drawn: Drawn, place: int, entry: ContainerRecommendation, resource: str) -> int:
    policy = container_policy(drawn.groups.vpas[place].vpa, entry.container_name)
    bound = (policy.min_allowed if policy else {}).get(resource)
    return min(from_quantity(bound, resource), MAX_AMOUNT)


ROOM = st.sampled_from((0, 1, 500, 1500, 10**6, 400_000_000, 10**10, MAX_AMOUNT)) | st.integers(0, MAX_AMOUNT)
NODES = st.lists(st.tuples(ROOM, ROOM), max_size=3)


@given(rounds(), st.data())
def test_the_law_of_caps(drawn: Drawn, data: st.DataObject) -> None:
    """Spec: beyond:B-11, case:45."""
    table, count = drawn.table, len(drawn.groups.vpas)
    kinds = tuple(
        tuple(NodeRoom(f"n{number}", *room) for number, room in enumerate(data.draw(NODES))) for _ in range(3)
    )
    others = np.array(data.draw(st.lists(st.tuples(ROOM, ROOM), min_size=count, max_size=count)), dtype=np.int64)
    rooms = RoomColumns(
        np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), dtype=np.int64),
        kinds,
        others.reshape(count, 2).T,
    )
    fitted = fitted_to_nodes(table, rooms)
    for place, (before, after) in enumerate(zip(table, fitted.table, strict=True)):
        left = [
            (n.cpu - int(rooms.others[0, place]), n.memory - int(rooms.others[1, place]))
            for n in kinds[rooms.kinds[place]]
        ]
        pairs = list(zip(before.containers, after.containers, strict=True))
        assert [entry.uncapped_target for entry in after.containers] == [e.uncapped_target for e in before.containers]
        asked, had = (
            [
                tuple(sum(vectors(pair[side])[vector][resource] for pair in pairs) for resource in CONTROLLED)
                for vector in range(3)
            ]
            for side in (0, 1)
        )
        most = tuple(max(vector[side] for vector in asked) for side in (0, 1))
        if any(most[0] <= cpu and most[1] <= memory for cpu, memory in left):
            assert after == before, "nothing changes where it is below"
            assert place not in fitted.conditions
        # A node that leaves nothing of what is asked for, or has too little for the rest, will not do.
        usable = [room for room in left if all(r > 0 or r == a for r, a in zip(room, asked[0], strict=True))]
        if not usable:
            assert after == before
            continue
        assert any(all(v[0] <= cpu and v[1] <= memory for v in had) for cpu, memory in usable), "never above the cap"
        for old, new in pairs:
            for was, now in zip(vectors(old), vectors(new), strict=True):
                assert all(now[name] <= was[name] for name in CONTROLLED)
        is_held_back = any(had[0][side] < asked[0][side] for side in (0, 1))
        assert is_held_back == (place in fitted.conditions)
        for side, resource in enumerate(CONTROLLED):
            wanted = [min(least(drawn, place, old, resource), vectors(old)[0][resource]) for old, _ in pairs]
            if is_held_back and all(sum(wanted) <= room[side] for room in usable):
                for floor, (_, new) in zip(wanted, pairs, strict=True):
                    assert vectors(new)[0][resource] >= floor, "minAllowed is kept where that is possible"
