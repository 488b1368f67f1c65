"""Which pods are worth updating, and in what order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.limitrange import LimitType, NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.vpa import StartupBoost, UpdateMode
from autoscaling.workload import Workload
from tests.builders import container, limit_range, pod, recommended
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    GATES_ON,
    IN_PLACE,
    INFEASIBLE,
    INITIAL,
    IPOR,
    OFF,
    RECREATE,
    annotated,
    circumstances,
    pending,
    replica_set,
    resizing,
    small,
    vpa_of,
    waiting,
)
from updater.candidates import Sorted, acts_in_place, sort_out
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.group import form_groups
from updater.selection import Member

RS = ObjectRef("ReplicaSet", "default", "rs")


def sorted_out(found: Circumstances, *pods: Pod, replicas: int = 2) -> Sorted:
    """Sort out pods of one ReplicaSet."""
    members = tuple(Member(p, RS) for p in pods)
    workloads: dict[ObjectRef, Workload] = {RS: replica_set(replicas)}
    return sort_out(members, form_groups(members, found.vpa, workloads, found.settings), found)


def names(found: Sorted) -> list[str]:
    """Return the names of the candidates in order."""
    return [c.member.pod.name for c in found.candidates]


@pytest.mark.parametrize(
    ("row", "subject", "or_recreate", "in_place"),
    [
        ("updater:M-19", small("p"), None, None),
        ("updater:M-19", pending(small("p")), Reason.POD_PENDING, None),
        ("updater:M-19", resizing(small("p"), DEFERRED), Reason.RESIZE_PENDING, None),
        ("updater:M-19", resizing(small("p"), ERROR), None, None),
        ("updater:M-19", resizing(small("p"), INFEASIBLE), None, None),
    ],
)
def test_first_look_in_place(row: str, subject: Pod, or_recreate: Reason | None, in_place: Reason | None) -> None:
    for mode, reason in ((IPOR, or_recreate), (IN_PLACE, in_place)):
        found = sorted_out(circumstances(vpa_of(mode)), subject, small("a"), small("b"))
        refused = {r.pod.name: r.reason for r in found.refusals}
        assert refused == ({} if reason is None else {"p": reason})


@pytest.mark.parametrize(
    ("row", "mode", "timed"),
    [("updater:C-5", RECREATE, ["p", "q"]), ("updater:C-5", IPOR, ["p", "q"]), ("updater:C-5", IN_PLACE, [])],
)
@pytest.mark.parametrize("replicas", [3, 9])
def test_whose_time_is_asked_for(row: str, mode: UpdateMode, timed: list[str], replicas: int) -> None:
    # Also where the answer is no in any case, for lack of budget.
    pods = (resizing(small("p"), DEFERRED), resizing(small("q"), waiting("Odd")), small("r"))
    found = sorted_out(circumstances(vpa_of(mode)), *pods, replicas=replicas)
    assert [ref.name for ref in found.timed] == timed


def test_pods_pending_or_below_the_minimum_are_not_timed() -> None:
    found = sorted_out(circumstances(vpa_of(RECREATE)), pending(resizing(small("p"), DEFERRED)), small("q"))
    assert found.timed == ()
    assert sorted_out(circumstances(vpa_of(RECREATE)), resizing(small("p"), DEFERRED)).timed == ()


@pytest.mark.parametrize(
    ("row", "mode", "reason"),
    [
        ("updater:M-15", OFF, Reason.UPDATES_OFF),
        ("updater:M-15", INITIAL, Reason.NEW_PODS_ONLY),
        ("updater:M-15", IN_PLACE, Reason.GATE_OFF),
    ],
)
def test_idle_modes_touch_nothing(row: str, mode: UpdateMode, reason: Reason) -> None:
    settings = replace(GATES_ON, is_in_place_on=False)
    found = sorted_out(circumstances(vpa_of(mode), settings), small("p"), resizing(small("q"), DEFERRED))
    assert found.candidates == ()
    assert [r.reason for r in found.refusals] == [reason, reason]
    assert found.timed == ()


@pytest.mark.parametrize(
    ("row", "is_gate_on", "boost", "left_alone"),
    [
        ("updater:M-14", True, StartupBoost(), True),
        ("updater:M-14", False, StartupBoost(), False),
        ("updater:M-14", True, None, False),
    ],
)
def test_boosted_pods_are_no_candidates(
    row: str, is_gate_on: bool, boost: StartupBoost | None, left_alone: bool
) -> None:
    """Spec: admission:13.14: with the gate off they are candidates like any other."""
    vpa = replace(vpa_of(IPOR), startup_boost=boost)
    found = sorted_out(
        circumstances(vpa, replace(GATES_ON, is_startup_boost_on=is_gate_on)),
        annotated(small("p"), boost="{}"),
        small("q"),
    )
    assert names(found) == (["q"] if left_alone else ["p", "q"])


def test_scale_ups_come_first() -> None:
    vpa = vpa_of(RECREATE, recommended("c", "1/1Gi", lower="-", upper="900m/900Mi"))
    found = sorted_out(
        circumstances(vpa),
        small("far-down", "9/9Gi"),
        small("up", "950m/1Gi"),
        small("down", "2/2Gi"),
        small("further-up", "950m/950Mi"),
    )
    assert names(found) == ["further-up", "up", "far-down", "down"]
    assert all(c.reason is Reason.OUTSIDE_BOUNDS for c in found.candidates)


def test_equals_stay_in_order() -> None:
    found = sorted_out(circumstances(vpa_of(RECREATE)), small("b"), small("a"), small("c"))
    assert names(found) == ["b", "a", "c"]


def test_a_faulty_pod_concerns_no_other() -> None:
    limits = NamespaceLimits(pod=limit_range(LimitType.POD, maximum="2/2Gi"))
    faulty = pod(container("c", "1/1Gi", "1/1Gi"), container("bare"), name="p")
    vpa = vpa_of(RECREATE, recommended("c", "4/4Gi"))
    found = sorted_out(replace(circumstances(vpa), limits=limits), faulty, small("q", "1/1Gi", "1/1Gi"))
    assert names(found) == ["q"]
    (refusal,) = found.refusals
    assert refusal.reason is Reason.INVALID_OBJECT
    assert refusal.detail.startswith("Pod default/p: container 'bare' has neither")


@pytest.mark.parametrize(
    ("mode", "in_place"), [(OFF, False), (INITIAL, False), (RECREATE, False), (IPOR, True), (IN_PLACE, True)]
)
def test_in_place_modes(mode: UpdateMode, in_place: bool) -> None:
    assert acts_in_place(circumstances(vpa_of(mode))) is in_place
