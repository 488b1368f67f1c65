"""Weaknesses of upstream, each by one situation that shows it, and what becomes of it in profile evenkeel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from autoscaling.pod import ContainerStatus, Pod
from autoscaling.resources import ContainerResources
from autoscaling.vpa import ChangeRequirement, EvictionRequirement
from tests.builders import amounts, recommended
from tests.updater.disruptions import ready
from tests.updater.rooms import around, given, node, on
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    EVENKEEL,
    GATES_ON,
    HOUR,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    Scene,
    about,
    all_done,
    killed,
    refusing,
    reporting,
    resizing,
    sent,
    small,
    vpa_of,
)
from tests.updater.test_replacement import TARGET, bounded, quota
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome
from updater.resize_watch import ResizeWatch
from updater.settings import Settings
from updater.surroundings import MemoryUse, Surroundings

UPDATED = recommended("c", "250m/300Mi", lower="240m/290Mi", upper="260m/310Mi")
"""What the pods of these scenes fall short of, narrowly."""
MORE_MEMORY = (EvictionRequirement(("memory",), ChangeRequirement.TARGET_LOWER),)


def waiting_for(subject: Pod, ago: int) -> Pod:
    """Return a Ready pod whose node has put its resize off so many minutes ago; it has less than it asks for."""
    waiting = resizing(given(on(subject), "50m/100Mi"), about(DEFERRED, 1, NOW - ago * MINUTE))
    conditions = (*waiting.conditions, *ready(small()).conditions)
    return replace(ready(waiting), conditions=conditions, resized_at=NOW - (ago + 1) * MINUTE)


def failing(subject: Pod) -> Pod:
    """Return a Ready pod whose node could not carry its resize out just now."""
    stuck = resizing(given(subject, "50m/100Mi"), about(ERROR, 1, NOW))
    return replace(stuck, conditions=(*stuck.conditions, *ready(small()).conditions))


LONG = Memory(watch=ResizeWatch({small().ref: NOW - 2 * HOUR}))
ONE_NODE = around(node(room="200m/8Gi"))
OVER_QUOTA = refusing(Action.RESIZE, outcome=Outcome.OVER_QUOTA)
OF_TWO = (ready(small("p0")), ready(small("p1")))


def rate_limited(decision: Decision) -> Outcome:
    """Return the outcomes of a limiter that has no token left."""
    return Outcome.RATE_LIMITED if decision.action is Action.RESIZE else all_done(decision)


def one(subject: Pod) -> Scene:
    """Return a scene of one pod in mode InPlaceOrRecreate."""
    return Scene(vpa_of(IPOR, UPDATED, minimum=1), (subject,))


Outcomes = Callable[[Decision], Outcome]

WEAKNESSES: list[tuple[str, Scene, Outcomes, list[str], list[str]]] = [
    (
        "updater:K-3 a new pod would be refused, too",
        one(ready(small())),
        OVER_QUOTA,
        ["p0 resize outside_bounds", "p0 evict resize_refused"],
        ["p0 resize outside_bounds"],
    ),
    (
        "updater:K-5 an error of the node passes",
        one(failing(small())),
        all_done,
        ["p0 evict resize_failed"],
        ["p0 wait resize_pending"],
    ),
    (
        "updater:K-6 a kill before the resize, as upstream",
        one(killed(ready(small("p0", "250m/300Mi")), MINUTE, 2 * MINUTE)),
        all_done,
        ["p0 skip oom_without_change"],
        ["p0 skip oom_without_change"],
    ),
    (
        "updater:K-10 no quota for the replacement",
        Scene(vpa_of(RECREATE, TARGET, minimum=1), (ready(small()),), surroundings=bounded(quota("1", "601m"))),
        all_done,
        ["p0 evict outside_bounds"],
        ["p0 skip quota_would_block"],
    ),
    (
        "updater:K-12 less is not asked for while a resize waits, as upstream",
        one(waiting_for(small("p0", "4/4Gi"), 2)),
        all_done,
        ["p0 wait resize_pending"],
        ["p0 wait resize_pending"],
    ),
    (
        "updater:K-13 requirements are about evictions",
        Scene(vpa_of(IPOR, minimum=1, requirements=MORE_MEMORY), (ready(small()),)),
        all_done,
        ["p0 skip requirements_unmet"],
        ["p0 resize outside_bounds"],
    ),
    (
        "updater:K-14 one replica",
        Scene(vpa_of(IPOR, UPDATED), (ready(small()),)),
        all_done,
        ["p0 skip below_min_replicas"],
        ["p0 resize outside_bounds"],
    ),
    (
        "updater:K-15 old and resized a minute ago, as upstream",
        Scene(
            vpa_of(IPOR, recommended("c", "120m/200Mi", lower="50m/100Mi", upper="1/1Gi"), minimum=1),
            (replace(ready(small()), start_time=NOW - 13 * HOUR, annotations={"vpaInPlaceUpdated": "true"}),),
        ),
        all_done,
        ["p0 resize worthwhile_change"],
        ["p0 resize worthwhile_change"],
    ),
    (
        "updater:K-18 nowhere else to go",
        replace(one(waiting_for(small(), 6)), surroundings=ONE_NODE, memory=LONG),
        all_done,
        ["p0 evict resize_timed_out"],
        ["p0 resize claim_released"],
    ),
    (
        "updater:K-22 one refusal of the limiter ends the round, as upstream",
        replace(one(OF_TWO[0]), pods=OF_TWO),
        rate_limited,
        ["p0 resize outside_bounds", "p1 skip round_ended"],
        ["p0 resize outside_bounds", "p1 skip round_ended"],
    ),
    (
        "updater:K-35 too few pods in mode InPlace",
        Scene(vpa_of(IN_PLACE, UPDATED), (ready(small()),)),
        all_done,
        ["p0 fail below_min_replicas"],
        ["p0 resize outside_bounds"],
    ),
]


@pytest.mark.parametrize(("row", "scene", "outcome", "in_upstream", "in_evenkeel"), WEAKNESSES)
def test_a_weakness_of_upstream(
    row: str, scene: Scene, outcome: Outcomes, in_upstream: list[str], in_evenkeel: list[str]
) -> None:
    assert replace(scene, settings=GATES_ON).played(outcome).said == in_upstream, row
    assert replace(scene, settings=EVENKEEL).played(outcome).said == in_evenkeel, row


@pytest.mark.parametrize(
    ("row", "settings", "limit"),
    [("updater:X-2", GATES_ON, "300Mi"), ("updater:K-7", EVENKEEL, str(2**30 + -(-(2**30) // 10)))],
)
def test_a_memory_limit_is_lowered_no_further_than_use_allows(row: str, settings: Settings, limit: str) -> None:
    subject = ready(reporting(small("p0", "300m/2Gi", "300m/2Gi"), "300m/2Gi", "300m/2Gi"))
    seen = Surroundings(memory={subject.ref: {"c": MemoryUse(NOW, 2**30)}})
    (decision,) = replace(one(subject), surroundings=seen, settings=settings).played().decisions
    assert decision.patches is not None
    values = {str(op["path"]): op["value"] for op in sent(decision.patches.resize) if op["op"] != "test"}
    assert values["/spec/containers/0/resources/limits/memory"] == limit, row


@pytest.mark.parametrize(("row", "settings", "most"), [("updater:K-9", EVENKEEL, 10), ("updater:X-11", GATES_ON, 30)])
def test_a_node_bears_so_many_changes_at_a_time(row: str, settings: Settings, most: int) -> None:
    pods = tuple(ready(small(f"p{number:02}")) for number in range(30))
    made = Scene(vpa_of(IPOR), pods, settings=replace(settings, eviction_tolerance=1.0))
    assert made.played().count(Action.RESIZE) == most, row


@pytest.mark.parametrize(("settings", "is_guarded"), [(GATES_ON, False), (EVENKEEL, True)])
def test_a_pod_of_the_same_name_is_not_hit(settings: Settings, *, is_guarded: bool) -> None:
    for mode in (IPOR, RECREATE):
        (decision,) = Scene(vpa_of(mode, minimum=1), (ready(small()),), settings=settings).played().decisions
        assert (decision.uid, decision.is_guarded) == ("uid-p0", is_guarded), "updater:K-23"
        if decision.patches is not None:
            verbs = [op["op"] for op in sent(decision.patches.resize)]
            assert (verbs[0] == "test") is is_guarded, "updater:K-23"


def test_a_container_that_says_nothing_of_its_resources_is_judged_by_its_spec() -> None:
    """Spec: updater:P-3."""
    silent = replace(small("p0", "250m/300Mi"), statuses=(ContainerStatus("c"),))
    bare = replace(silent, statuses=(ContainerStatus("c", ContainerResources(amounts("100m/200Mi"))),))
    for subject, action in ((silent, Action.SKIP), (bare, Action.EVICT)):
        (decision,) = Scene(vpa_of(RECREATE, UPDATED, minimum=1), (subject,)).played().decisions
        assert decision.action is action, "updater:P-3"
