"""One VPA's pods, decided in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from autoscaling.limitrange import LimitType
from autoscaling.pod import Pod
from autoscaling.vpa import UpdateMode
from tests.builders import container, limit_range, pod, recommended
from tests.updater.situations import (
    DEFERRED,
    GATES_ON,
    GUARDED,
    HOUR,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    NOW,
    RECREATE,
    UPSTREAM,
    Scene,
    all_done,
    pending,
    refusing,
    reporting,
    resizing,
    sent,
    several,
    small,
    vpa_of,
    without_recommendation,
)
from updater.decision import Action, Decision, Outcome
from updater.patches import PatchVerb
from updater.vpa_work import VpaWork


def attempts(scene: Scene, outcome: Callable[[Decision], Outcome] = all_done) -> list[str]:
    """Return what is attempted, in order."""
    played = scene.played(outcome)
    acts = (Action.RESIZE, Action.EVICT, Action.FAIL)
    return [f"{d.action.value} {d.ref.name}" for d in played.decisions if d.action in acts]


def test_resizes_come_before_evictions() -> None:
    pods = (resizing(small("p0"), INFEASIBLE), *several(4)[1:])
    scene = Scene(vpa_of(IPOR), pods)
    assert attempts(scene, refusing(Action.RESIZE)) == [
        "resize p1",
        "resize p2",
        "resize p3",
        "evict p0",
        "evict p1",
    ]


ALL = ["resize p0", "resize p1", "resize p2", "resize p3"]


@pytest.mark.parametrize(
    ("row", "mode", "refused", "expected"),
    [
        ("updater:R-6", RECREATE, (), ["evict p0", "evict p1"]),
        ("updater:R-6", IPOR, (), ["resize p0", "resize p1"]),
        # Only success uses up budget, and resizes and evictions draw on the same.
        ("updater:R-6", IPOR, ("p0",), ["resize p0", "resize p1", "resize p2"]),
        ("updater:R-6", IPOR, ("p0", "p1"), ALL),
        ("updater:R-6", IPOR, ("p0", "p2", "p3"), [*ALL, "evict p0"]),
        ("updater:R-6", IPOR, ("p0", "p1", "p2", "p3"), [*ALL, "evict p0", "evict p1"]),
    ],
)
def test_one_budget(row: str, mode: UpdateMode, refused: tuple[str, ...], expected: list[str]) -> None:
    def outcome(decision: Decision) -> Outcome:
        is_refused = decision.action is Action.RESIZE and decision.ref.name in refused
        return Outcome.FAILED if is_refused else Outcome.DONE

    assert attempts(Scene(vpa_of(mode), several(4)), outcome) == expected


def test_an_evicted_pod_that_was_pending_costs_nothing() -> None:
    scene = Scene(vpa_of(RECREATE), (pending(small("p0")), *several(4)[1:]), replicas=3)
    assert attempts(scene) == ["evict p0", "evict p1"]
    assert attempts(replace(scene, pods=several(4))) == ["evict p0", "evict p1"]


@pytest.mark.parametrize(
    ("row", "mode", "expected"),
    [
        ("updater:X-4", IPOR, ["fail p0", "fail p1", "evict p0"]),
        ("updater:X-4", IN_PLACE, ["fail p0", "fail p1"]),
    ],
)
def test_nothing_to_apply_counts_as_a_failed_resize(row: str, mode: UpdateMode, expected: list[str]) -> None:
    # A quick OOM or bounds cannot bring such a pod here; a threshold of zero does.
    settings = replace(GATES_ON, pod_update_threshold=0.0)
    vpa = vpa_of(mode, recommended("c", "-"))
    old = tuple(replace(p, start_time=p.start_time and p.start_time.replace(year=2025)) for p in several(2))
    assert attempts(Scene(vpa, old, settings=settings)) == expected


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("updater:K-11", reporting(small("p0", "250m/300Mi"), "100m/200Mi"), []),
        ("updater:K-11", resizing(reporting(small("p0", "250m/300Mi"), "100m/200Mi"), INFEASIBLE), []),
        ("updater:K-11", reporting(small("p0", "250m/299Mi"), "100m/200Mi"), ["resize p0"]),
    ],
)
def test_the_same_is_not_asked_for_twice(row: str, subject: Pod, expected: list[str]) -> None:
    scene = Scene(vpa_of(IN_PLACE), (subject, replace(small("q"), is_terminating=True)), replicas=1)
    scene = replace(scene, vpa=vpa_of(IN_PLACE, minimum=1), settings=GUARDED)
    assert attempts(scene) == expected
    as_upstream = replace(scene, settings=replace(GATES_ON, behaviour=UPSTREAM))
    assert attempts(as_upstream) == ["resize p0"]


def test_an_infeasible_resize_already_asked_for_is_remembered_all_the_same() -> None:
    subject = resizing(reporting(small("p0", "250m/300Mi"), "100m/200Mi"), INFEASIBLE)
    scene = Scene(vpa_of(IN_PLACE, minimum=1), (subject,), settings=GUARDED)
    first = scene.played()
    assert first.said == ["p0 wait already_requested"]
    assert replace(scene, memory=first.memory).played().said == ["p0 skip infeasible_remembered"]


def test_a_resize_that_was_asked_for_uses_no_budget() -> None:
    asked = reporting(small("p0", "250m/300Mi"), "100m/200Mi")
    assert attempts(Scene(vpa_of(IPOR), (asked, *several(3)[1:]), settings=GUARDED)) == ["resize p1"]


def test_nothing_is_remembered_where_nothing_was_recommended() -> None:
    # A pod LimitRange alone makes the pod worth it, and a container without resources gives the patch its only entry.
    subject = replace(pod(container("c", "1/1Gi", "1/1Gi"), container("bare"), name="p0"), start_time=NOW - 12 * HOUR)
    scene = Scene(
        without_recommendation(vpa_of(IN_PLACE, minimum=1, policies=())),
        (subject,),
        settings=replace(GATES_ON, behaviour=UPSTREAM),
        limits=(limit_range(LimitType.POD, minimum="4/4Gi"),),
    )
    played = scene.played(refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY))
    (decision,) = played.decisions
    assert decision.patches is not None
    assert sent(decision.patches.resize) == [{"op": "add", "path": "/spec/containers/1/resources", "value": {}}]
    assert played.memory.infeasible.recommendations == {}


def test_patches_of_both_profiles() -> None:
    scene = Scene(vpa_of(IPOR, minimum=1), (small(),), settings=GUARDED)
    (guarded,) = scene.played().decisions
    (plain,) = replace(scene, settings=replace(GATES_ON, behaviour=UPSTREAM)).played().decisions
    assert guarded.patches is not None
    assert plain.patches is not None
    assert guarded.patches.resize[3:] == plain.patches.resize
    assert guarded.patches.annotations[1:] == plain.patches.annotations
    assert {o.verb for o in plain.patches.resize} == {PatchVerb.ADD}
    assert sent(plain.patches.resize) == [
        {"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "250m"},
        {"op": "add", "path": "/spec/containers/0/resources/requests/memory", "value": "300Mi"},
    ]


def test_work_without_a_decision_has_nothing_to_fold_in() -> None:
    plan = Scene(vpa_of(IPOR), (resizing(small("p0"), DEFERRED), resizing(small("p1"), DEFERRED))).plan
    assert isinstance(plan.work, VpaWork)
    assert plan.work.after(Outcome.DONE) == plan.work
    assert plan.work.left_over() == ()
