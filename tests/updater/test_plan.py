"""The decision table: what a whole round makes of each situation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.matching import NOTHING, SelectingVpa
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.pod import ConditionStatus, Owner, Pod, PodCondition
from autoscaling.vpa import (
    ChangeRequirement,
    EvictionRequirement,
    Recommendation,
    StartupBoost,
    TargetRef,
    UpdateMode,
    Vpa,
)
from autoscaling.workload import Workload
from tests.builders import container, limit_range, pod, recommended
from tests.updater.situations import (
    AUTO,
    DEFERRED,
    DEPLOYMENT,
    ERROR,
    GATES_ON,
    GUARDED,
    HOUR,
    IN_PLACE,
    IN_PROGRESS,
    INFEASIBLE,
    INITIAL,
    IPOR,
    MINUTE,
    NOW,
    OFF,
    RECREATE,
    SECOND,
    SELECTOR,
    SKIPPING,
    UPSTREAM,
    Scene,
    all_done,
    annotated,
    killed,
    owned,
    pending,
    play,
    progressing,
    refusing,
    replica_set,
    reporting,
    resizing,
    restarting,
    several,
    small,
    vpa_of,
    waiting,
    without_recommendation,
)
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome
from updater.infeasible import InfeasibleMemory
from updater.patches import PatchVerb
from updater.plan import Plan
from updater.resize_watch import ResizeWatch
from updater.settings import Settings
from updater.snapshot import Snapshot

Outcomes = Callable[[Decision], Outcome]
UNGUARDED = replace(GATES_ON, behaviour=UPSTREAM)
BOOSTING = replace(GATES_ON, is_startup_boost_on=True)
HIGHER_MEMORY = (EvictionRequirement(("memory",), ChangeRequirement.TARGET_HIGHER),)
SAME = recommended("c", "100m/200Mi", lower="150m/200Mi", upper="400m/500Mi")
"""Nothing to change, though the request is below the lower bound."""


def seen(age: timedelta) -> Memory:
    """Return what is remembered when ``p0`` was first seen mid-resize so long ago."""
    return Memory(watch=ResizeWatch({small().ref: NOW - age}))


def bounded(age: timedelta) -> Pod:
    """Return ``p0`` at an age with twice the limits that ``PINCHING`` allows."""
    return replace(small("p0", "1/1Gi", "2/2Gi"), start_time=NOW - age)


PINCHING = limit_range(LimitType.POD, maximum="1/1Gi")


def remembering(target: str) -> Memory:
    """Return what is remembered when a target was infeasible for ``p0``."""
    return Memory(infeasible=InfeasibleMemory({"uid-p0": Recommendation((recommended("c", target),))}))


def one(
    mode: UpdateMode | None,
    subject: Pod,
    *others: Pod,
    replicas: int | None = None,
    settings: Settings = GATES_ON,
    memory: Memory | None = None,
) -> Scene:
    """Return a scene of a pod with company enough for a budget of one."""
    company = others or (replace(small("q"), start_time=NOW, containers=IN_RANGE),)
    return Scene(vpa_of(mode), (subject, *company), replicas, settings=settings, memory=memory or Memory())


IN_RANGE = (container("c", "250m/300Mi"),)
QUIET = "q skip too_young"


def aged(age: timedelta, requests: str = "250m/300Mi") -> Pod:
    """Return ``p0`` at an age, by default with exactly what is recommended."""
    return replace(small("p0", requests), start_time=NOW - age)


RECREATE_ROWS: list[tuple[str, Scene, Outcomes, list[str]]] = [
    ("updater:D-6", one(RECREATE, small()), all_done, ["p0 evict outside_bounds", QUIET]),
    ("updater:D-6", one(AUTO, small()), all_done, ["p0 evict outside_bounds", QUIET]),
    ("updater:D-6", one(None, small()), all_done, ["p0 evict outside_bounds", QUIET]),
    ("updater:D-7", Scene(vpa_of(RECREATE), (small(),)), all_done, ["p0 skip below_min_replicas"]),
    ("updater:D-7", Scene(vpa_of(RECREATE, minimum=1), (small(),)), all_done, ["p0 evict outside_bounds"]),
    (
        "updater:D-7",
        Scene(vpa_of(RECREATE), (small(),), settings=SKIPPING),
        all_done,
        ["p0 skip below_min_replicas"],
    ),
    (
        "updater:D-8",
        Scene(vpa_of(RECREATE), several(3)),
        all_done,
        ["p0 evict outside_bounds", "p1 skip budget_used_up", "p2 skip budget_used_up"],
    ),
    (
        "updater:D-8",
        Scene(vpa_of(RECREATE), several(2), replicas=4),
        all_done,
        ["p0 skip too_few_running", "p1 skip too_few_running"],
    ),
    (
        "updater:D-9",
        Scene(vpa_of(RECREATE), (pending(small()), small("p1")), replicas=2),
        all_done,
        ["p0 evict outside_bounds", "p1 skip too_few_running"],
    ),
    (
        "updater:D-9",
        Scene(vpa_of(RECREATE), (pending(small()), *several(4)[1:]), replicas=3),
        all_done,
        ["p0 evict outside_bounds", "p1 evict outside_bounds", "p2 skip budget_used_up", "p3 skip budget_used_up"],
    ),
    ("updater:D-9", Scene(vpa_of(RECREATE), (pending(small()),)), all_done, ["p0 skip below_min_replicas"]),
    (
        "updater:D-10",
        one(RECREATE, resizing(small(), DEFERRED), memory=seen(5 * MINUTE)),
        all_done,
        ["p0 wait resize_pending", QUIET],
    ),
    ("updater:D-10", one(RECREATE, resizing(small(), DEFERRED)), all_done, ["p0 wait resize_pending", QUIET]),
    (
        "updater:D-11",
        one(RECREATE, resizing(small(), DEFERRED), memory=seen(5 * MINUTE + SECOND)),
        all_done,
        ["p0 evict outside_bounds", QUIET],
    ),
    *(
        ("updater:D-12", one(RECREATE, resizing(small(), c)), all_done, ["p0 evict outside_bounds", QUIET])
        for c in (INFEASIBLE, ERROR, waiting("Odd"), progressing(message="odd"))
    ),
    (
        "updater:D-13",
        one(RECREATE, resizing(small(), IN_PROGRESS), memory=seen(HOUR)),
        all_done,
        ["p0 wait resize_pending", QUIET],
    ),
    (
        "updater:D-13",
        one(RECREATE, resizing(small(), IN_PROGRESS), memory=seen(HOUR + SECOND)),
        all_done,
        ["p0 evict outside_bounds", QUIET],
    ),
    (
        "updater:D-14",
        Scene(vpa_of(RECREATE), several(3)),
        refusing(Action.EVICT),
        ["p0 evict outside_bounds", "p1 evict outside_bounds", "p2 evict outside_bounds"],
    ),
]

IPOR_ROWS: list[tuple[str, Scene, Outcomes, list[str]]] = [
    ("updater:D-15", one(IPOR, small()), all_done, ["p0 resize outside_bounds", QUIET]),
    (
        "updater:D-16",
        Scene(vpa_of(IPOR), several(3)),
        all_done,
        ["p0 resize outside_bounds", "p1 skip budget_used_up", "p2 skip budget_used_up"],
    ),
    (
        "updater:D-17",
        Scene(vpa_of(IPOR), several(3), settings=SKIPPING),
        all_done,
        ["p0 resize outside_bounds", "p1 resize outside_bounds", "p2 resize outside_bounds"],
    ),
    (
        "updater:D-18",
        Scene(vpa_of(IPOR), tuple(restarting(p) for p in several(3)), settings=SKIPPING),
        all_done,
        ["p0 resize outside_bounds", "p1 skip budget_used_up", "p2 skip budget_used_up"],
    ),
    ("updater:D-19", Scene(vpa_of(IPOR), (small(),)), all_done, ["p0 skip below_min_replicas"]),
    ("updater:D-19", Scene(vpa_of(IPOR, minimum=1), (small(),)), all_done, ["p0 resize outside_bounds"]),
    ("updater:D-20", Scene(vpa_of(IPOR), (small(),), settings=SKIPPING), all_done, ["p0 resize outside_bounds"]),
    (
        "updater:D-20",
        Scene(vpa_of(IPOR), (small(),), replicas=4, settings=SKIPPING),
        all_done,
        ["p0 resize outside_bounds"],
    ),
    (
        "updater:D-21",
        Scene(vpa_of(IPOR), (restarting(small()),), settings=SKIPPING),
        all_done,
        ["p0 resize outside_bounds"],
    ),
    (
        "updater:D-21",
        Scene(vpa_of(IPOR), (restarting(small()),), replicas=4, settings=SKIPPING),
        all_done,
        ["p0 skip too_few_running"],
    ),
    (
        "updater:D-22",
        Scene(vpa_of(IPOR), (small(),), settings=SKIPPING),
        refusing(Action.RESIZE),
        ["p0 resize outside_bounds", "p0 skip below_min_replicas"],
    ),
    (
        "updater:D-23",
        Scene(vpa_of(IPOR), (resizing(small(), INFEASIBLE),), settings=SKIPPING),
        all_done,
        ["p0 skip below_min_replicas"],
    ),
    (
        "updater:D-24",
        one(IPOR, pending(small()), small("p1"), small("p2")),
        all_done,
        ["p0 skip pod_pending", "p1 skip too_few_running", "p2 skip too_few_running"],
    ),
    (
        "updater:D-25",
        Scene(vpa_of(IPOR), several(3)),
        refusing(Action.RESIZE),
        [
            "p0 resize outside_bounds",
            "p0 evict resize_refused",
            "p1 resize outside_bounds",
            "p1 skip budget_used_up",
            "p2 resize outside_bounds",
            "p2 skip budget_used_up",
        ],
    ),
    (
        "updater:D-25",
        Scene(vpa_of(IPOR), several(2)),
        refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY),
        ["p0 resize outside_bounds", "p0 evict resize_refused", "p1 resize outside_bounds", "p1 skip budget_used_up"],
    ),
    (
        "updater:D-26",
        one(IPOR, resizing(small(), DEFERRED), memory=seen(5 * MINUTE)),
        all_done,
        ["p0 wait resize_pending", QUIET],
    ),
    (
        "updater:D-27",
        one(IPOR, resizing(small(), DEFERRED), memory=seen(5 * MINUTE + SECOND)),
        all_done,
        ["p0 evict resize_timed_out", QUIET],
    ),
    (
        "updater:D-28",
        one(IPOR, resizing(small(), DEFERRED), memory=seen(HOUR), replicas=4),
        all_done,
        ["p0 skip too_few_running", "q skip too_few_running"],
    ),
    ("updater:D-29", one(IPOR, resizing(small(), INFEASIBLE)), all_done, ["p0 evict resize_failed", QUIET]),
    (
        "updater:D-30",
        one(IPOR, resizing(small(), IN_PROGRESS), memory=seen(HOUR)),
        all_done,
        ["p0 wait resize_pending", QUIET],
    ),
    (
        "updater:D-30",
        one(IPOR, resizing(small(), IN_PROGRESS), memory=seen(HOUR + SECOND)),
        all_done,
        ["p0 evict resize_timed_out", QUIET],
    ),
    ("updater:D-31", one(IPOR, resizing(small(), ERROR)), all_done, ["p0 evict resize_failed", QUIET]),
    *(
        ("updater:D-32", one(IPOR, resizing(small(), c)), all_done, ["p0 evict resize_failed", QUIET])
        for c in (progressing(message="odd"), progressing("Odd"), waiting("Odd"), waiting(""))
    ),
    (
        "updater:D-33",
        one(IPOR, resizing(aged(HOUR), INFEASIBLE)),
        all_done,
        ["p0 skip too_young", QUIET],
    ),
    (
        "updater:D-34",
        replace(one(IPOR, small("p0", "100m/400Mi")), vpa=vpa_of(IPOR, requirements=HIGHER_MEMORY)),
        all_done,
        ["p0 skip requirements_unmet", QUIET],
    ),
    (
        "updater:D-34",
        replace(
            one(IPOR, resizing(small("p0", "100m/400Mi"), INFEASIBLE)), vpa=vpa_of(IPOR, requirements=HIGHER_MEMORY)
        ),
        all_done,
        ["p0 skip requirements_unmet", QUIET],
    ),
    (
        "updater:D-35",
        one(IPOR, resizing(small(), INFEASIBLE), replicas=4, settings=SKIPPING),
        all_done,
        ["p0 skip too_few_running", QUIET],
    ),
]

IN_PLACE_ROWS: list[tuple[str, Scene, Outcomes, list[str]]] = [
    (
        "updater:D-36",
        Scene(vpa_of(IN_PLACE), several(2), settings=Settings()),
        all_done,
        ["p0 skip gate_off", "p1 skip gate_off"],
    ),
    ("updater:D-37", one(IN_PLACE, small()), all_done, ["p0 resize outside_bounds", QUIET]),
    (
        "updater:D-38",
        Scene(vpa_of(IN_PLACE), several(3)),
        all_done,
        ["p0 resize outside_bounds", "p1 resize outside_bounds", "p2 resize outside_bounds"],
    ),
    ("updater:D-39", Scene(vpa_of(IN_PLACE), (small(),)), all_done, ["p0 fail below_min_replicas"]),
    ("updater:D-40", Scene(vpa_of(IN_PLACE), (small(),), settings=SKIPPING), all_done, ["p0 resize outside_bounds"]),
    ("updater:D-41", one(IN_PLACE, pending(small())), all_done, ["p0 resize outside_bounds", QUIET]),
    *(
        (
            "updater:D-42",
            one(IN_PLACE, resizing(small(), c), memory=seen(10 * HOUR)),
            all_done,
            ["p0 resize outside_bounds", QUIET],
        )
        for c in (DEFERRED, IN_PROGRESS, waiting("Odd"))
    ),
    (
        "updater:D-43",
        one(IN_PLACE, resizing(small(), INFEASIBLE)),
        all_done,
        ["p0 resize outside_bounds", QUIET],
    ),
    *(
        (
            "updater:D-44",
            one(IN_PLACE, resizing(small(), *conditions), memory=remembering(target)),
            all_done,
            ["p0 skip infeasible_remembered", QUIET],
        )
        for conditions in ((INFEASIBLE,), ())
        for target in ("250m/300Mi", "249m/300Mi", "250m/-")
    ),
    (
        # The phase counts before what is remembered, so that this is not told of as D-44 is.
        "updater:D-44",
        one(IN_PLACE, pending(small()), memory=remembering("250m/300Mi")),
        all_done,
        ["p0 skip no_less_for_the_pod", QUIET],
    ),
    (
        "updater:D-45",
        one(IN_PLACE, resizing(small(), INFEASIBLE), memory=remembering("251m/100Mi")),
        all_done,
        ["p0 resize outside_bounds", QUIET],
    ),
    (
        "updater:D-46",
        one(IN_PLACE, small(), memory=remembering("251m/100Mi")),
        all_done,
        ["p0 resize outside_bounds", QUIET],
    ),
    ("updater:D-47", one(IN_PLACE, resizing(small(), ERROR)), all_done, ["p0 resize outside_bounds", QUIET]),
    ("updater:D-48", one(IN_PLACE, small()), refusing(Action.RESIZE), ["p0 resize outside_bounds", QUIET]),
]


@pytest.mark.parametrize(
    ("row", "scene", "outcome", "said"),
    [*RECREATE_ROWS, *IPOR_ROWS, *IN_PLACE_ROWS],
)
def test_decisions(row: str, scene: Scene, outcome: Outcomes, said: list[str]) -> None:
    assert scene.played(outcome).said == said
    # Nothing in the table depends on whether calls name the pod's UID.
    unguarded = replace(scene, settings=replace(scene.settings, behaviour=UPSTREAM))
    assert unguarded.played(outcome).said == said


@pytest.mark.parametrize(
    ("row", "scene", "outcome", "remembered"),
    [
        ("updater:D-42", one(IN_PLACE, resizing(small(), DEFERRED)), all_done, None),
        ("updater:D-43", one(IN_PLACE, resizing(small(), INFEASIBLE)), all_done, "250m"),
        ("updater:D-43", one(IN_PLACE, resizing(small(), INFEASIBLE)), refusing(Action.RESIZE), "250m"),
        ("updater:D-44", one(IN_PLACE, small(), memory=remembering("200m/200Mi")), all_done, "200m"),
        (
            "updater:D-45",
            one(IN_PLACE, resizing(small(), INFEASIBLE), memory=remembering("900m/100Mi")),
            all_done,
            "250m",
        ),
        ("updater:D-46", one(IN_PLACE, small(), memory=remembering("900m/100Mi")), all_done, "900m"),
        ("updater:D-47", one(IN_PLACE, resizing(small(), ERROR)), all_done, None),
        ("updater:D-48", one(IN_PLACE, small()), refusing(Action.RESIZE), None),
        ("updater:D-48", one(IN_PLACE, small()), refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY), "250m"),
        (
            "updater:D-48",
            one(IN_PLACE, small(), memory=remembering("900m/100Mi")),
            refusing(Action.RESIZE),
            "900m",
        ),
        ("updater:D-25", one(IPOR, small()), refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY), None),
        ("updater:D-29", one(IPOR, resizing(small(), INFEASIBLE)), all_done, None),
    ],
)
def test_what_is_remembered_as_infeasible(row: str, scene: Scene, outcome: Outcomes, remembered: str | None) -> None:
    kept = scene.played(outcome).memory.infeasible.recommendations
    found = {uid: str(r.containers[0].target["cpu"]) for uid, r in kept.items()}
    assert found == ({} if remembered is None else {"uid-p0": remembered})


@pytest.mark.parametrize(
    ("row", "settings", "said"),
    [
        ("updater:D-42", UNGUARDED, "p0 resize outside_bounds"),
        ("updater:D-42", GUARDED, "p0 wait already_requested"),
    ],
)
def test_an_identical_patch_is_sent_again_only_as_upstream(row: str, settings: Settings, said: str) -> None:
    asked = replace(small("p0", "250m/300Mi"), start_time=NOW)
    reported = resizing(reporting(asked, "100m/200Mi"), DEFERRED)
    assert one(IN_PLACE, reported, settings=settings).played().said == [said, QUIET]


OLD = 12 * HOUR
BY_MODE = ((RECREATE, "evict"), (AUTO, "evict"), (IPOR, "resize"), (IN_PLACE, "resize"))

AGE_ROWS = [
    ("updater:D-53", aged(OLD - SECOND, "200m/300Mi"), "skip too_young"),
    ("updater:D-54", aged(OLD, "230m/300Mi"), "skip change_too_small"),
    ("updater:D-54", aged(10 * OLD, "275m/300Mi"), "skip change_too_small"),
    ("updater:D-55", aged(OLD, "200m/300Mi"), "worthwhile_change"),
    ("updater:D-56", killed(aged(MINUTE, "249m/300Mi"), 9 * MINUTE, 9 * MINUTE), "quick_oom"),
    ("updater:D-56", killed(aged(MINUTE, "249m/300Mi"), 9 * MINUTE, 10 * MINUTE), "skip too_young"),
    ("updater:D-56", killed(aged(MINUTE, "249m/300Mi"), 10 * MINUTE, 9 * MINUTE), "skip too_young"),
    ("updater:D-58", replace(aged(OLD, "200m/300Mi"), start_time=None), "skip no_start_time"),
    ("updater:D-61", killed(aged(OLD - SECOND, "200m/300Mi"), MINUTE, 11 * MINUTE), "skip too_young"),
]


@pytest.mark.parametrize(("row", "subject", "said"), AGE_ROWS)
@pytest.mark.parametrize(("mode", "verb"), BY_MODE)
def test_age_and_quick_oom_count_alike_in_every_mode(
    row: str,
    subject: Pod,
    said: str,
    mode: UpdateMode,
    verb: str,
) -> None:
    """Spec: api:1.3."""
    expected = said if said.startswith("skip") else f"{verb} {said}"
    assert one(mode, subject).played().said == [f"p0 {expected}", QUIET]


@pytest.mark.parametrize(
    ("row", "mode", "subject", "settings", "said"),
    [
        ("updater:D-57", RECREATE, killed(small(), MINUTE, MINUTE), GATES_ON, "skip oom_without_change"),
        ("updater:D-57", IPOR, killed(small(), MINUTE, MINUTE), GATES_ON, "skip oom_without_change"),
        ("updater:D-57", IN_PLACE, killed(small(), MINUTE, MINUTE), GATES_ON, "skip oom_without_change"),
        ("updater:D-57", RECREATE, killed(small(), MINUTE, 11 * MINUTE), GATES_ON, "evict outside_bounds"),
        ("updater:D-57", IPOR, killed(small(), MINUTE, 11 * MINUTE), UNGUARDED, "resize outside_bounds"),
        ("updater:D-57", IPOR, killed(small(), MINUTE, 11 * MINUTE), GUARDED, "wait already_requested"),
        ("updater:D-57", IN_PLACE, killed(small(), MINUTE, 11 * MINUTE), UNGUARDED, "resize outside_bounds"),
    ],
)
def test_an_oom_kill_without_change(row: str, mode: UpdateMode, subject: Pod, settings: Settings, said: str) -> None:
    scene = replace(one(mode, subject, small("q"), settings=settings), vpa=vpa_of(mode, SAME))
    assert scene.played().said[0] == f"p0 {said}"


@pytest.mark.parametrize(
    ("row", "mode", "subject", "limits", "said"),
    [
        ("updater:D-49", IPOR, small(), (), "skip no_recommendation"),
        ("updater:D-49", IPOR, aged(OLD), (PINCHING,), "skip no_recommendation"),
        ("updater:D-49", IN_PLACE, aged(OLD), (), "skip no_recommendation"),
        ("updater:D-49", IN_PLACE, bounded(OLD - SECOND), (PINCHING,), "skip too_young"),
        # A pod LimitRange makes a target of the requests alone; there is nothing to resize to, but reason to evict.
        ("updater:D-49", IN_PLACE, bounded(OLD), (PINCHING,), "fail nothing_to_apply"),
        ("updater:D-49", RECREATE, bounded(OLD), (PINCHING,), "evict worthwhile_change"),
        ("updater:D-49", RECREATE, bounded(OLD), (), "skip no_recommendation"),
    ],
)
def test_without_a_recommendation(
    row: str,
    mode: UpdateMode,
    subject: Pod,
    limits: tuple[LimitRangeItem, ...],
    said: str,
) -> None:
    scene = replace(one(mode, subject), vpa=without_recommendation(vpa_of(mode, policies=())), limits=limits)
    assert scene.played().said[0] == f"p0 {said}"


@pytest.mark.parametrize(
    ("row", "mode", "settings", "boost", "said"),
    [
        ("updater:D-50", RECREATE, BOOSTING, StartupBoost(), "skip boosted"),
        ("updater:D-50", AUTO, BOOSTING, StartupBoost(), "skip boosted"),
        ("updater:D-50", INITIAL, BOOSTING, StartupBoost(), "skip new_pods_only"),
        ("updater:D-50", OFF, BOOSTING, StartupBoost(), "skip updates_off"),
        ("updater:D-50", IPOR, BOOSTING, StartupBoost(), "skip boosted"),
        ("updater:D-50", IN_PLACE, BOOSTING, StartupBoost(), "skip boosted"),
    ],
)
def test_boosted_pods(row: str, mode: UpdateMode, settings: Settings, boost: StartupBoost | None, said: str) -> None:
    subject = annotated(small(), boost="{}")
    scene = Scene(replace(vpa_of(mode), startup_boost=boost), (subject,), settings=settings)
    assert scene.played().said == [f"p0 {said}"]


@pytest.mark.parametrize(
    ("row", "settings", "boost", "is_ready", "said"),
    [
        ("updater:U-5 gate off", GATES_ON, StartupBoost(), True, ["p0 resize outside_bounds"]),
        ("updater:U-5 no boost in the VPA", BOOSTING, None, True, ["p0 resize outside_bounds"]),
        # A boost that is not over leaves nothing to resize, and what cannot be resized is evicted.
        ("updater:U-5 not Ready", GATES_ON, None, False, ["p0 fail nothing_to_apply", "p0 evict resize_refused"]),
    ],
)
def test_boosts_that_nobody_else_takes_back(
    row: str, settings: Settings, boost: StartupBoost | None, is_ready: bool, said: list[str]
) -> None:
    status = ConditionStatus.TRUE if is_ready else ConditionStatus.FALSE
    ready = PodCondition("Ready", status, last_transition_time=NOW)
    subject = replace(annotated(small(), boost="{}"), conditions=(ready,))
    scene = Scene(replace(vpa_of(IPOR), startup_boost=boost), (subject,), settings=settings)
    played = scene.played()
    assert played.said == said, row
    patches = played.decisions[0].patches
    removed = [o.path for o in patches.annotations if o.verb is PatchVerb.REMOVE] if patches else []
    assert removed == (["/metadata/annotations/vpaCpuStartupBoost~1c"] if is_ready else []), "updater:X-5"


def test_a_boost_annotation_that_cannot_be_read_keeps_the_pod_from_being_resized() -> None:
    ready = PodCondition("Ready", ConditionStatus.TRUE, last_transition_time=NOW)
    subject = replace(annotated(small(), boost="no JSON"), conditions=(ready,))
    assert Scene(vpa_of(IPOR), (subject,)).played().said == ["p0 fail invalid_object", "p0 evict resize_refused"]


@pytest.mark.parametrize(
    ("row", "mode", "kind", "count", "acted"),
    [
        ("updater:D-60", RECREATE, "Gang", 4, 4),
        ("updater:D-60", IPOR, "Gang", 4, 4),
        ("updater:D-60", RECREATE, "Job", 4, 2),
    ],
)
def test_kinds_without_replicas(row: str, mode: UpdateMode, kind: str, count: int, acted: int) -> None:
    pods = tuple(owned(p, kind, "g", "batch/v1") for p in several(count))
    snapshot = Snapshot.of(
        vpas=(SelectingVpa(replace(vpa_of(mode), target_ref=TargetRef(kind, "g")), SELECTOR),),
        pods=pods,
        workloads=(Workload("Job", "default", "g", SELECTOR, "batch/v1"),),
        scales={ControllerKey("default", "Gang", "g", "batch/v1"): ScaleAnswer(is_found=True, replicas=count)},
        limit_ranges=(),
    )
    played = play(Plan.of(snapshot, NOW, Memory(), GATES_ON))
    assert played.count(Action.EVICT) + played.count(Action.RESIZE) == acted


def two_vpas(mode: UpdateMode) -> Snapshot:
    """Return two VPAs with three pods each."""
    second = replace(vpa_of(mode), name="w", target_ref=TargetRef("Deployment", "e"))
    other = replace(DEPLOYMENT, name="e")
    owner = (Owner("apps/v1", "Deployment", "e", controller=True),)
    return Snapshot.of(
        vpas=(SelectingVpa(vpa_of(mode), SELECTOR), SelectingVpa(second, SELECTOR)),
        pods=(*several(3), *(owned(small(f"r{n}"), "ReplicaSet", "other") for n in range(3))),
        workloads=(DEPLOYMENT, other, replica_set(3), replace(replica_set(3, "other"), owners=owner)),
        scales={},
        limit_ranges=(),
    )


LATER = ["r0 skip round_ended", "r1 skip round_ended", "r2 skip round_ended"]


@pytest.mark.parametrize(
    ("row", "mode", "limited", "said"),
    [
        (
            "updater:D-59",
            RECREATE,
            Action.EVICT,
            ["p0 evict outside_bounds", "p1 skip round_ended", "p2 skip round_ended", *LATER],
        ),
        (
            "updater:D-59",
            IPOR,
            Action.RESIZE,
            ["p0 resize outside_bounds", "p1 skip round_ended", "p2 skip round_ended", *LATER],
        ),
        (
            "updater:D-59",
            IN_PLACE,
            Action.RESIZE,
            ["p0 resize outside_bounds", "p1 skip round_ended", "p2 skip round_ended", *LATER],
        ),
    ],
)
def test_the_rate_limiter_ends_the_round(row: str, mode: UpdateMode, limited: Action, said: list[str]) -> None:
    plan = Plan.of(two_vpas(mode), NOW, Memory(), GATES_ON)
    played = play(plan, refusing(limited, outcome=Outcome.RATE_LIMITED))
    assert played.said == said
    # Metrics of a VPA that the round did not come to are left alone.
    assert {d.scope.vpa.name for d in played.decisions if d.scope} == {"v"}


def test_a_failed_resize_that_waits_for_eviction_is_named_when_the_round_ends() -> None:
    outcomes = iter((Outcome.FAILED, Outcome.RATE_LIMITED))
    played = Scene(vpa_of(IPOR), several(2)).played(lambda _: next(outcomes, Outcome.DONE))
    assert played.said == ["p0 resize outside_bounds", "p0 skip round_ended", "p1 resize outside_bounds"]


def test_a_failure_that_cannot_be_sent_uses_the_rate_limiter_as_well() -> None:
    scene = Scene(vpa_of(IN_PLACE), (small(), owned(small("p1"), "ReplicaSet", "lone")))
    workloads = (replica_set(1, "lone"),)
    played = replace(scene, workloads=workloads).played(refusing(Action.FAIL, outcome=Outcome.RATE_LIMITED))
    assert played.said == ["p0 fail below_min_replicas", "p1 skip round_ended"]


@pytest.mark.parametrize(
    ("row", "vpa", "settings", "said"),
    [
        ("updater:D-4", vpa_of(OFF), GATES_ON, ["v skip updates_off"]),
        ("updater:D-4", vpa_of(INITIAL), GATES_ON, ["v skip new_pods_only"]),
        (
            "updater:D-4",
            vpa_of(RECREATE),
            replace(GATES_ON, ignored_namespaces=frozenset({"default"})),
            ["v skip namespace_ignored"],
        ),
    ],
)
def test_vpas_that_take_no_part(row: str, vpa: Vpa, settings: Settings, said: list[str]) -> None:
    remembered = remembering("900m/900Mi")
    scene = Scene(vpa, several(2), settings=settings, memory=remembered)
    assert scene.played().said == said
    # Without any VPA the pods are not looked at, so nothing is forgotten either (M-8).
    gone = replace(scene, pods=())
    assert gone.played().memory == remembered


def test_an_unresolved_target_is_said() -> None:
    scene = Scene(vpa_of(RECREATE), several(2)).snapshot
    unresolved = replace(scene, vpas=(SelectingVpa(vpa_of(RECREATE), NOTHING),))
    assert play(Plan.of(unresolved, NOW, Memory(), GATES_ON)).said == ["v skip target_unresolved"]


def test_infeasible_memory_of_vanished_pods_is_dropped() -> None:
    gone = InfeasibleMemory({"uid-gone": Recommendation(), "uid-p0": Recommendation()})
    scene = replace(one(IPOR, small()), memory=Memory(infeasible=gone))
    assert set(scene.played().memory.infeasible.recommendations) == {"uid-p0"}


def test_only_the_next_decision_can_be_folded_in() -> None:
    plan = Scene(vpa_of(RECREATE), several(3)).plan
    first = plan.next()
    assert first is not None
    later = plan.after(first, Outcome.DONE)
    with pytest.raises(ValueError, match="not the next decision"):
        later.after(first, Outcome.DONE)


def test_decisions_carry_what_their_calls_and_metrics_need() -> None:
    scene = one(IPOR, small(), settings=GUARDED)
    decision = scene.played().decisions[-1]
    assert decision.scope is not None
    assert (decision.scope.mode, decision.scope.pods, decision.scope.updatable, decision.scope.evictable) == (
        IPOR,
        2,
        1,
        0,
    )
    assert (decision.uid, decision.is_guarded) == ("uid-p0", True)
    assert decision.patches is not None
    unguarded = replace(scene, settings=UNGUARDED).played().decisions[-1]
    assert (unguarded.uid, unguarded.is_guarded) == ("uid-p0", False)
    evicted = replace(scene, vpa=vpa_of(RECREATE)).played().decisions[-1]
    assert evicted.scope is not None
    assert (evicted.uid, evicted.patches, evicted.scope.evictable, evicted.scope.updatable) == ("uid-p0", None, 1, 0)
    assert evicted.is_guarded
    assert not replace(scene, vpa=vpa_of(RECREATE), settings=UNGUARDED).played().decisions[-1].is_guarded


def test_an_object_that_cannot_be_used_stops_no_other() -> None:
    # The neighbour has requests but no recommendation, and no upper bound that a pod LimitRange could scale (K-31 d).
    faulty = pod(container("c", "1/1Gi", "1/1Gi"), container("side", "1/1Gi", "1/1Gi"), name="p0")
    scene = Scene(
        vpa_of(IPOR, recommended("c", "4/4Gi")),
        (faulty, small("p1", "1/1Gi", "1/1Gi")),
        limits=(limit_range(LimitType.POD, maximum="2/2Gi"),),
    )
    played = scene.played()
    assert played.said == ["p0 skip invalid_object", "p1 resize outside_bounds"]
    assert "container 'side'" in played.decisions[0].detail


def test_an_update_threshold_of_zero_does_not_update_for_nothing() -> None:
    scene = replace(
        one(RECREATE, aged(OLD), settings=replace(GATES_ON, pod_update_threshold=0.0)),
        vpa=without_recommendation(vpa_of(RECREATE)),
    )
    assert scene.played().said == ["p0 skip no_recommendation", "q skip no_recommendation"]
