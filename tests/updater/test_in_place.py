"""The in-place decision, every row in both modes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import Container, Pod, ResizePolicy
from autoscaling.vpa import Recommendation, UpdateMode
from tests.builders import container, pod, recommended
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    GATES_ON,
    HOUR,
    IN_PLACE,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    NOW,
    OUT_OF_BOUNDS,
    SKIPPING,
    UPSTREAM,
    Scene,
    circumstances,
    group,
    pending,
    progressing,
    resizing,
    restarting,
    several,
    small,
    vpa_of,
    waiting,
    without_recommendation,
)
from updater.circumstances import Memory
from updater.decision import Action, Reason
from updater.group import Group
from updater.in_place import InPlaceDecision, Verdict, decide_in_place, is_restart_free
from updater.infeasible import InfeasibleMemory
from updater.resize_watch import ResizeWatch
from updater.settings import Settings

FREE, SHORT, USED = group(2, 2), group(4, 2), group(4, 4, disrupted=2)
REMEMBERED = Memory(infeasible=InfeasibleMemory({"uid-p0": Recommendation((OUT_OF_BOUNDS,))}))
LONG_SEEN = Memory(watch=ResizeWatch({small().ref: NOW - 2 * HOUR}))

APPROVED = InPlaceDecision(Verdict.APPROVED)
RETRIED = InPlaceDecision(Verdict.INFEASIBLE)
CACHED = InPlaceDecision(Verdict.INFEASIBLE_REMEMBERED, Reason.INFEASIBLE_REMEMBERED)


def deferred(reason: Reason, *, is_timed: bool = False) -> InPlaceDecision:
    """Return the decision to do nothing."""
    return InPlaceDecision(Verdict.DEFERRED, reason, is_timed)


def evict(reason: Reason) -> InPlaceDecision:
    """Return the decision to fall back."""
    return InPlaceDecision(Verdict.EVICT, reason, is_timed=True)


Given = tuple[Settings, Memory]
Expected = tuple[InPlaceDecision, InPlaceDecision]
"""In mode InPlaceOrRecreate, and in mode InPlace."""

PENDING_RESIZE = deferred(Reason.RESIZE_PENDING)
STILL_PENDING = deferred(Reason.RESIZE_PENDING, is_timed=True)
NO_BUDGET = deferred(Reason.TOO_FEW_RUNNING)
LATE = evict(Reason.RESIZE_TIMED_OUT)
FAILED = evict(Reason.RESIZE_FAILED)


@pytest.mark.parametrize(
    ("row", "subject", "known", "given", "expected"),
    [
        ("updater:C-3.1", small(), FREE, (Settings(), Memory()), (APPROVED, deferred(Reason.GATE_OFF))),
        (
            "updater:C-3.2",
            small(),
            Reason.BELOW_MIN_REPLICAS,
            (GATES_ON, Memory()),
            (deferred(Reason.BELOW_MIN_REPLICAS), deferred(Reason.BELOW_MIN_REPLICAS)),
        ),
        (
            "updater:C-3.2",
            pending(small()),
            Reason.REPLICAS_UNKNOWN,
            (SKIPPING, REMEMBERED),
            (deferred(Reason.REPLICAS_UNKNOWN), deferred(Reason.REPLICAS_UNKNOWN)),
        ),
        (
            "updater:C-3.3",
            pending(small()),
            FREE,
            (SKIPPING, REMEMBERED),
            (deferred(Reason.POD_PENDING), deferred(Reason.POD_PENDING)),
        ),
        ("updater:C-3.5", small(), FREE, (GATES_ON, REMEMBERED), (APPROVED, CACHED)),
        ("updater:C-3.5", resizing(small(), INFEASIBLE), FREE, (GATES_ON, REMEMBERED), (FAILED, CACHED)),
        ("updater:C-3.5", replace(small(), uid="other"), FREE, (GATES_ON, REMEMBERED), (APPROVED, APPROVED)),
        ("updater:C-3.6", resizing(small(), INFEASIBLE), FREE, (GATES_ON, Memory()), (FAILED, RETRIED)),
        (
            "updater:C-3.6",
            resizing(small(), INFEASIBLE),
            SHORT,
            (SKIPPING, Memory()),
            (deferred(Reason.TOO_FEW_RUNNING, is_timed=True), RETRIED),
        ),
        ("updater:C-3.7", resizing(small(), ERROR), FREE, (GATES_ON, Memory()), (FAILED, PENDING_RESIZE)),
        (
            "updater:C-3.7",
            resizing(small(), ERROR),
            USED,
            (GATES_ON, Memory()),
            (deferred(Reason.BUDGET_USED_UP, is_timed=True), PENDING_RESIZE),
        ),
        ("updater:C-3.8", resizing(small(), DEFERRED), FREE, (GATES_ON, Memory()), (STILL_PENDING, PENDING_RESIZE)),
        ("updater:C-3.8", resizing(small(), DEFERRED), FREE, (GATES_ON, LONG_SEEN), (LATE, PENDING_RESIZE)),
        ("updater:C-3.8", resizing(small(), DEFERRED), FREE, (SKIPPING, Memory()), (STILL_PENDING, PENDING_RESIZE)),
        ("updater:C-3.8", resizing(small(), IN_PROGRESS), FREE, (GATES_ON, Memory()), (STILL_PENDING, PENDING_RESIZE)),
        ("updater:C-3.8", resizing(small(), IN_PROGRESS), FREE, (GATES_ON, LONG_SEEN), (LATE, PENDING_RESIZE)),
        (
            "updater:C-3.8",
            resizing(small(), progressing(message="odd")),
            FREE,
            (GATES_ON, Memory()),
            (FAILED, PENDING_RESIZE),
        ),
        ("updater:C-3.8", resizing(small(), waiting("Odd")), FREE, (GATES_ON, Memory()), (FAILED, PENDING_RESIZE)),
        ("updater:C-3.9", small(), SHORT, (SKIPPING, Memory()), (APPROVED, APPROVED)),
        ("updater:C-3.9", small(), USED, (SKIPPING, Memory()), (APPROVED, APPROVED)),
        ("updater:C-3.10", small(), FREE, (GATES_ON, Memory()), (APPROVED, APPROVED)),
        ("updater:C-3.10", restarting(small()), FREE, (SKIPPING, Memory()), (APPROVED, APPROVED)),
        ("updater:C-3.11", small(), SHORT, (GATES_ON, Memory()), (NO_BUDGET, NO_BUDGET)),
        ("updater:C-3.11", restarting(small()), SHORT, (SKIPPING, Memory()), (NO_BUDGET, NO_BUDGET)),
        (
            "updater:C-3.11",
            small(),
            USED,
            (GATES_ON, Memory()),
            (deferred(Reason.BUDGET_USED_UP), deferred(Reason.BUDGET_USED_UP)),
        ),
    ],
)
def test_decision(row: str, subject: Pod, known: Group | Reason, given: Given, expected: Expected) -> None:
    for mode, decision in zip((IPOR, IN_PLACE), expected, strict=True):
        assert decide_in_place(subject, known, circumstances(vpa_of(mode), *given)) == decision


@pytest.mark.parametrize("mode", [IPOR, IN_PLACE])
@pytest.mark.parametrize("subject", [small(), resizing(small(), INFEASIBLE)])
def test_row_4_comes_before_memory_and_conditions(mode: UpdateMode, subject: Pod) -> None:
    found = circumstances(without_recommendation(vpa_of(mode)), SKIPPING, REMEMBERED)
    assert decide_in_place(subject, FREE, found) == deferred(Reason.NO_RECOMMENDATION), "updater:C-3.4"


def test_a_lower_raw_recommendation_lifts_row_5() -> None:
    lower = vpa_of(IN_PLACE, recommended("c", "249m/300Mi"))
    assert decide_in_place(small(), FREE, circumstances(lower, GATES_ON, REMEMBERED)) == APPROVED


def restarts(name: str) -> Container:
    """Return a container that restarts for a resize of its CPU."""
    return replace(container(name), resize_policy=(ResizePolicy("cpu", restarts_container=True),))


@pytest.mark.parametrize(
    ("row", "subject", "free"),
    [
        ("updater:C-4", small(), True),
        ("updater:C-4", restarting(small()), False),
        (
            "updater:C-4",
            pod(container("c"), replace(container("d"), resize_policy=(ResizePolicy("cpu", True),))),
            False,
        ),
        ("updater:C-4", pod(replace(container("c"), resize_policy=(ResizePolicy("cpu", False),))), True),
        (
            "updater:C-4",
            replace(small(), init_containers=(restarts("i"),)),
            True,
        ),
        ("updater:C-4", pod(), True),
    ],
)
def test_restart_free(row: str, subject: Pod, free: bool) -> None:
    assert is_restart_free(subject) is free


REMEMBERING = replace(GATES_ON, behaviour=replace(UPSTREAM, infeasible_memory=True))


@pytest.mark.parametrize(
    ("row", "memory", "settings", "expected"),
    [
        ("beyond:B-28", Memory(), REMEMBERING, STILL_PENDING),
        ("beyond:B-28", LONG_SEEN, REMEMBERING, LATE),
        ("updater:D-31", Memory(), GATES_ON, FAILED),
    ],
)
def test_an_error_of_the_node_passes(row: str, memory: Memory, settings: Settings, expected: InPlaceDecision) -> None:
    found = circumstances(vpa_of(IPOR), settings, memory)
    assert decide_in_place(resizing(small(), ERROR), FREE, found) == expected


@pytest.mark.parametrize(
    ("row", "settings", "subject", "expected"),
    [
        # Of three replicas one at a time may be disrupted.
        ("updater:K-2", REMEMBERING, small("p0"), 1),
        ("updater:D-38", GATES_ON, small("p0"), 3),
        # What waits is left to wait.
        ("updater:K-2", REMEMBERING, resizing(small("p0"), DEFERRED), 1),
        ("updater:D-42", GATES_ON, resizing(small("p0"), DEFERRED), 3),
    ],
)
def test_mode_in_place_heeds_the_budget(row: str, settings: Settings, subject: Pod, expected: int) -> None:
    """Spec: beyond:B-28."""
    played = Scene(vpa_of(IN_PLACE), (subject, *several(3)[1:]), settings=settings).played()
    assert played.count(Action.RESIZE) == expected
