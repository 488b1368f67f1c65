"""Guaranteed pods on nodes with a static CPU or memory manager."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import Pod
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import UpdateMode, Vpa
from tests.builders import amounts, container, pod, recommended
from tests.updater.disruptions import ready, with_only
from tests.updater.rooms import around, node, on
from tests.updater.rooms import given as given_by_node
from tests.updater.situations import (
    GATES_ON,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    NOW,
    RECREATE,
    SECOND,
    UPSTREAM,
    Scene,
    annotated,
    circumstances,
    resizing,
    sent,
    small,
    vpa_of,
)
from tests.updater.test_node_policies import STATIC_CPU, STATIC_MEMORY
from updater.circumstances import Memory
from updater.conditions import RESIZE_BLOCKED, TYPE_OF_REASON
from updater.decision import Reason
from updater.kept_resources import unless_node_keeps_it
from updater.ledger import Ledger
from updater.node_policies import REMEMBERED_FOR, NodePolicies
from updater.settings import Settings
from updater.shaping import Hindrance, Proposal

LEARNING = replace(with_only("node_policies_are_learnt"), eviction_tolerance=1.0)
AS_UPSTREAM = replace(GATES_ON, eviction_tolerance=1.0)
KNOWN = Memory(node_policies=NodePolicies({("node1", "cpu"): NOW + REMEMBERED_FOR}))
MORE_CPU = recommended("c", "3/1Gi", lower="2500m/1Gi", upper="4/1Gi")
MORE_OF_BOTH = recommended("c", "3/2Gi", lower="2500m/1500Mi", upper="4/4Gi")


def pinned(name: str = "p0", has: str = "2/1Gi", asks: str | None = None, node_name: str = "node1") -> Pod:
    """Return a guaranteed pod that has cores of its own."""
    asked = asks or has
    return on(ready(given_by_node(small(name, asked, asked), has, has)), node_name)


def refused(message: str = STATIC_CPU, name: str = "p0", asks: str = "3/1Gi", has: str = "2/1Gi") -> Pod:
    """Return such a pod that its node has refused a resize."""
    return resizing(pinned(name, has, asks), replace(INFEASIBLE, message=message))


@pytest.mark.parametrize(
    ("row", "mode", "settings", "other", "expected"),
    [
        ("case:34", IPOR, AS_UPSTREAM, pinned("p1"), ["p0 evict resize_failed", "p1 resize outside_bounds"]),
        ("case:34", IPOR, LEARNING, pinned("p1"), ["p0 evict resize_failed", "p1 evict node_keeps_it"]),
        (
            "case:34",
            IPOR,
            LEARNING,
            pinned("p1", node_name="n2"),
            ["p0 evict resize_failed", "p1 resize outside_bounds"],
        ),
        (
            "resize:R46",
            IPOR,
            LEARNING,
            on(given_by_node(small("p1", "2/1Gi"), "2/1Gi")),
            ["p0 evict resize_failed", "p1 resize outside_bounds"],
        ),
        ("case:34", IN_PLACE, AS_UPSTREAM, pinned("p1"), ["p0 resize outside_bounds", "p1 resize outside_bounds"]),
        ("case:34", IN_PLACE, LEARNING, pinned("p1"), ["p0 skip node_keeps_it", "p1 skip node_keeps_it"]),
        ("case:34", RECREATE, AS_UPSTREAM, pinned("p1"), ["p0 evict outside_bounds", "p1 evict outside_bounds"]),
        ("case:34", RECREATE, LEARNING, pinned("p1"), ["p0 evict outside_bounds", "p1 evict outside_bounds"]),
    ],
)
def test_one_refusal_is_enough(row: str, mode: UpdateMode, settings: Settings, other: Pod, expected: list[str]) -> None:
    played = Scene(vpa_of(mode, MORE_CPU, minimum=1), (refused(), other), settings=settings).played()
    assert played.said == expected, row


@pytest.mark.parametrize(
    "message", ["Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000", STATIC_MEMORY]
)
def test_another_refusal_says_nothing_of_cpu(message: str) -> None:
    made = Scene(vpa_of(IPOR, MORE_CPU, minimum=1), (refused(message), pinned("p1")), settings=LEARNING)
    assert made.played().said == ["p0 evict resize_failed", "p1 resize outside_bounds"], "case:34"


def values(subject: Vpa, one: Pod, settings: Settings = LEARNING, memory: Memory = KNOWN) -> dict[str, object]:
    """Return what the resize of a pod sets, by the last two parts of its path."""
    (decision,) = Scene(subject, (one,), settings=settings, memory=memory).played().decisions
    assert decision.patches is not None, decision.reason
    return {"/".join(str(op["path"]).split("/")[-2:]): op["value"] for op in sent(decision.patches.resize)}


@pytest.mark.parametrize(
    ("row", "one", "expected"),
    [
        ("resize:R45", pinned(), {"requests/memory": "2Gi", "limits/memory": "2Gi"}),
        (
            "case:34",
            pinned(asks="3/1Gi"),
            {"requests/memory": "2Gi", "limits/memory": "2Gi", "requests/cpu": "2", "limits/cpu": "2"},
        ),
    ],
)
def test_what_the_node_does_not_keep_is_resized(row: str, one: Pod, expected: dict[str, object]) -> None:
    assert values(vpa_of(IPOR, MORE_OF_BOTH, minimum=1), one) == expected, row


def test_it_is_tried_again_after_a_day_and_after_a_restart() -> None:
    made = Scene(vpa_of(IN_PLACE, MORE_CPU, minimum=1), (pinned(),), settings=LEARNING, memory=KNOWN)
    first = made.played()
    assert first.said == ["p0 skip node_keeps_it"], "case:34"
    shortly = replace(made, memory=first.memory, now=NOW + REMEMBERED_FOR - SECOND).played()
    assert shortly.said == ["p0 skip node_keeps_it"], "case:34"
    later = replace(made, memory=shortly.memory, now=NOW + REMEMBERED_FOR).played()
    assert later.said == ["p0 resize outside_bounds"], "case:34"
    assert replace(made, memory=Memory()).played().said == ["p0 resize outside_bounds"], "case:34"


def test_the_pods_own_node_takes_its_replacement() -> None:
    # It does not go for want of room, so where there is one node only it is not in vain.
    settings = replace(LEARNING, behaviour=replace(UPSTREAM, node_policies_are_learnt=True, free_room=True))
    for message, expected in ((STATIC_CPU, "p0 evict resize_failed"), ("too much", "p0 resize claim_released")):
        made = Scene(vpa_of(IPOR, MORE_CPU, minimum=1), (refused(message),), settings=settings)
        assert replace(made, surroundings=around(node(room="8/8Gi"))).played().said == [expected], "case:34"


def test_it_is_told_on_the_vpa() -> None:
    assert TYPE_OF_REASON[Reason.NODE_KEEPS_IT] == RESIZE_BLOCKED, "case:34"
    (held,) = (
        Scene(vpa_of(IN_PLACE, MORE_CPU, minimum=1), (pinned(),), settings=LEARNING, memory=KNOWN).played().decisions
    )
    assert held.detail == "node node1 keeps cpu of guaranteed pods as it is", "case:34"


def test_the_end_of_a_boost_evicts_nobody() -> None:
    boosted = annotated(pinned(), boost='{"requests":{"cpu":"1"},"limits":{"cpu":"1"}}')
    made = Scene(vpa_of(IPOR, MORE_CPU, minimum=1), (boosted,), settings=LEARNING, memory=KNOWN)
    assert made.played().said == ["p0 skip node_keeps_it"], "case:34"


SIZES = st.integers(1, 8)


@given(
    st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1, max_size=3),
    st.lists(st.none() | st.tuples(SIZES, SIZES), min_size=3, max_size=3),
    st.sampled_from(["cpu", "memory"]),
)
def test_nothing_is_asked_for_that_the_node_keeps(
    sizes: list[tuple[int, int, int]], wanted: list[tuple[int, int] | None], kept: str
) -> None:
    """Of a resize that is sent no container's request of what the node keeps is another one than it has accepted."""
    containers = [
        container(f"c{n}", f"{asked}/{asked}Gi", f"{asked}/{asked}Gi") for n, (asked, _, _) in enumerate(sizes)
    ]
    subject = on(pod(*containers))
    for number, (_, cpu, memory) in enumerate(sizes):
        subject = given_by_node(subject, f"{cpu}/{memory}Gi", f"{cpu}/{memory}Gi", container=f"c{number}")
    targets = tuple(
        None if size is None else ContainerTarget(amounts(f"{size[0]}/{size[1]}Gi"), amounts(f"{size[0]}/{size[1]}Gi"))
        for size in wanted[: len(sizes)]
    )
    known = Memory(node_policies=NodePolicies({("node1", kept): NOW + REMEMBERED_FOR}))
    found = unless_node_keeps_it(
        Proposal(subject, targets, None), circumstances(vpa_of(IPOR), LEARNING, known), Ledger()
    )
    if isinstance(found, Hindrance):
        assert found.helps_to_evict, "case:34"
        other = "memory" if kept == "cpu" else "cpu"
        asked = [c.resources.request(other) for c in subject.containers]
        assert all(t is None or t.requests[other] == a for t, a in zip(targets, asked, strict=True)), "resize:R45"
        return
    for one, target, status in zip(subject.containers, found.targets, subject.statuses, strict=True):
        requests = {**(one.resources.requests or {}), **(target.requests if target else {})}
        assert requests[kept] == status.accepted_requests[kept], "case:34"
