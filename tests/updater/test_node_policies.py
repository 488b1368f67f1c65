"""What is learnt of nodes that keep resources of guaranteed pods as they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import Pod, PodCondition
from tests.updater.rooms import on
from tests.updater.situations import DEFERRED, EVENKEEL, INFEASIBLE, NOW, SECOND, resizing, small
from updater.node_policies import REMEMBERED_FOR, NodePolicies, refused_by_policy

BEHAVIOUR = EVENKEEL.behaviour
STATIC_CPU = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
STATIC_MEMORY = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'


def refusing(message: str, condition: PodCondition = INFEASIBLE, name: str = "p0", node: str = "node1") -> Pod:
    """Return a pod whose node says this of its resize."""
    return resizing(on(small(name), node), replace(condition, message=message))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("case:34", refusing(STATIC_CPU), {"cpu"}),
        ("case:34", refusing(STATIC_MEMORY), {"memory"}),
        ("case:34", refusing("Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"), {"cpu"}),
        ("case:34", refusing("Node didn't have enough capacity: cpu, requested: 5000, capacity: 2000"), set()),
        ("case:34", refusing(""), set()),
        ("case:34", replace(refusing(STATIC_CPU), qos_class="Guaranteed"), {"cpu"}),
        ("resize:R46", replace(refusing(STATIC_CPU), qos_class="Burstable"), set()),
        ("case:34", refusing(STATIC_CPU, DEFERRED), set()),
        ("case:34", refusing(STATIC_CPU, replace(INFEASIBLE, observed_generation=1)), {"cpu"}),
        ("case:34", replace(refusing(STATIC_CPU, replace(INFEASIBLE, observed_generation=1)), generation=2), set()),
        ("case:34", on(small()), set()),
    ],
)
def test_what_a_refusal_tells(row: str, subject: Pod, expected: set[str]) -> None:
    assert refused_by_policy(subject, BEHAVIOUR) == expected, row


@pytest.mark.parametrize(
    ("row", "nodes", "later", "expected"),
    [
        ("case:34", None, timedelta(0), {"cpu"}),
        ("case:34", None, REMEMBERED_FOR - SECOND, {"cpu"}),
        ("case:34", None, REMEMBERED_FOR, set()),
        ("case:34", {"node1"}, SECOND, {"cpu"}),
        ("case:34", {"node2"}, SECOND, set()),
    ],
)
def test_how_long_it_is_remembered(
    row: str, nodes: Collection[str] | None, later: timedelta, expected: set[str]
) -> None:
    learnt = NodePolicies().looking([small("q"), refusing(STATIC_CPU)], None, NOW, BEHAVIOUR)
    after = learnt.looking([small("q")], nodes, NOW + later, BEHAVIOUR)
    assert after.kept_by("node1") == expected, row
    assert not after.kept_by("node2"), row


def test_where_nothing_is_told_nothing_is_made() -> None:
    known = NodePolicies()
    assert known.looking([small("q")], None, NOW, BEHAVIOUR) is known, "case:34"


@given(st.lists(st.tuples(st.sampled_from(["n1", "n2"]), st.sampled_from([STATIC_CPU, STATIC_MEMORY, "full"]))))
def test_each_node_is_told_by_its_own_pods(told: list[tuple[str, str]]) -> None:
    pods = [refusing(message, name=f"p{n}", node=node) for n, (node, message) in enumerate(told)]
    learnt = NodePolicies().looking(pods, None, NOW, BEHAVIOUR)
    names = {STATIC_CPU: {"cpu"}, STATIC_MEMORY: {"memory"}, "full": set[str]()}
    for node in ("n1", "n2"):
        assert learnt.kept_by(node) == {n for at, message in told if at == node for n in names[message]}, "case:34"
