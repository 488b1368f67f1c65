"""Replica budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from autoscaling.vpa import UpdateMode
from autoscaling.workload import Workload
from tests.updater.disruptions import ready
from tests.updater.situations import (
    AUTO,
    IN_PLACE,
    INITIAL,
    IPOR,
    OFF,
    RECREATE,
    SELECTOR,
    UPSTREAM,
    annotated,
    group,
    pending,
    several,
    small,
    vpa_of,
)
from updater.decision import Reason
from updater.group import Group, form_groups, is_boosted
from updater.selection import Member
from updater.settings import Settings


def spent(subject: Group) -> int:
    """Return how many pods may be disrupted one after the other, at most the running ones."""
    count = 0
    while subject.is_disruptable and count < subject.running:
        subject, count = subject.after_disruption(), count + 1
    return count


@pytest.mark.parametrize(
    ("row", "configured", "running", "tolerance", "actions"),
    [
        ("updater:R-6", 1, 1, 0.5, 1),
        ("updater:R-6", 2, 2, 0.5, 1),
        ("updater:R-6", 3, 3, 0.5, 1),
        ("updater:R-6", 4, 4, 0.5, 2),
        ("updater:R-6", 5, 5, 0.5, 2),
        ("updater:R-6", 10, 10, 0.5, 5),
        ("updater:R-6", 0, 7, 0.5, 7),
        ("updater:R-6", 5, 3, 0.5, 0),
        ("updater:R-6", 2, 1, 0.5, 0),
        ("updater:R-6", 1, 0, 0.5, 0),
        ("updater:W-18", 10, 10, 0.5, 5),
        ("updater:W-18", 10, 8, 0.5, 3),
        ("updater:W-18", 5, 5, 0.1, 1),
        ("updater:W-18", 5, 4, 0.1, 0),
        ("updater:W-18", 3, 3, 1.0, 3),
        ("updater:W-18", 2, 1, 0.5, 0),
    ],
)
def test_budget(row: str, configured: int, running: int, tolerance: float, actions: int) -> None:
    assert spent(group(configured, running, tolerance)) == actions


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1))
def test_budget_never_leaves_fewer_running_than_tolerated(configured: int, running: int, tolerance: float) -> None:
    subject = group(configured, running, tolerance)
    left = running - spent(subject)
    tolerated = configured - subject.tolerance
    # The only pod more than that is the one of a full group that tolerates none.
    full = configured == running and subject.tolerance == 0
    assert left >= min(running, tolerated - (1 if full else 0))


def members(*pods: Pod, kind: str = "ReplicaSet", name: str = "rs") -> tuple[Member, ...]:
    """Return pods of one direct controller."""
    return tuple(Member(p, ObjectRef(kind, "default", name)) for p in pods)


def workload(kind: str, replicas: int | None = None, desired: int = 0) -> Workload:
    """Return a controller named ``rs``."""
    return Workload(kind, "default", "rs", SELECTOR, replicas=replicas, desired_scheduled=desired)


@pytest.mark.parametrize(
    ("row", "desired", "running", "actions"),
    [
        ("upstream-1.8.1:2.3", 5, 5, 2),
        ("upstream-1.8.1:2.3", 10, 10, 5),
        ("upstream-1.8.1:2.3", 10, 6, 1),
        ("upstream-1.8.1:2.3", 10, 5, 0),
        ("updater:W-18", 8, 10, 6),
        ("updater:W-18", 10, 10, 5),
    ],
)
def test_daemon_sets_go_by_the_desired_number(row: str, desired: int, running: int, actions: int) -> None:
    daemon_set = workload("DaemonSet", desired=desired)
    pods = members(*(ready(p) for p in several(running)), kind="DaemonSet")
    formed = form_groups(pods, vpa_of(RECREATE), {daemon_set.ref: daemon_set}, Settings())
    found = formed.of(daemon_set.ref)
    assert isinstance(found, Group)
    assert spent(found) == actions


@pytest.mark.parametrize(
    ("row", "kind", "known", "configured"),
    [
        ("updater:R-4", "ReplicaSet", workload("ReplicaSet", 4), 4),
        ("updater:R-4", "StatefulSet", workload("StatefulSet", 4), 4),
        ("updater:R-4", "ReplicationController", workload("ReplicationController", 4), 4),
        ("updater:R-4", "ReplicaSet", workload("ReplicaSet", 0), None),
        ("updater:R-4", "ReplicaSet", workload("ReplicaSet"), None),
        ("updater:R-4", "ReplicaSet", None, None),
        ("updater:R-4", "DaemonSet", workload("DaemonSet", 4, 7), 7),
        ("updater:R-4", "DaemonSet", workload("DaemonSet", 4), None),
        ("updater:R-4", "DaemonSet", None, None),
        ("updater:R-4", "Job", None, 3),
        ("updater:R-4", "Job", workload("Job", 9), 3),
        ("updater:R-4", "Deployment", workload("Deployment", 9), 0),
        ("updater:R-4", "Gang", None, 0),
        ("updater:R-4", "Gang", workload("Gang", 5), 0),
        # A scale that was read counts, else the pods that there are (updater:K-8).
        ("beyond:B-30", "Gang", workload("Gang", 5), 5),
        ("beyond:B-30", "Gang", workload("Gang", 0), 3),
        ("beyond:B-30", "Gang", None, 3),
        ("beyond:B-30", "Deployment", workload("Deployment", 9), 9),
        ("beyond:B-30", "ReplicaSet", None, None),
    ],
)
def test_configured_pods(row: str, kind: str, known: Workload | None, configured: int | None) -> None:
    workloads = {known.ref: known} if known else {}
    key = ObjectRef(kind, "default", "rs")
    settings = Settings(behaviour=replace(UPSTREAM, custom_controllers=row.startswith("beyond")))
    found = form_groups(members(*several(3), kind=kind), vpa_of(RECREATE), workloads, settings).of(key)
    if configured is None:
        assert found is Reason.REPLICAS_UNKNOWN
    else:
        assert isinstance(found, Group)
        assert found.configured == configured


def formed(
    pods: tuple[Pod, ...], mode: UpdateMode, minimum: int | None, settings: Settings, replicas: int = 9
) -> Group | Reason:
    """Return the group that pods of one ReplicaSet form."""
    controller = workload("ReplicaSet", replicas)
    subject = vpa_of(mode, minimum=minimum)
    return form_groups(members(*pods), subject, {controller.ref: controller}, settings).of(controller.ref)


SKIPPING = Settings(skips_disruption_budget=True)
AS_UPSTREAM = Settings(behaviour=UPSTREAM)


@pytest.mark.parametrize(
    ("row", "live", "mode", "minimum", "settings", "is_below"),
    [
        ("updater:M-22", 1, RECREATE, None, Settings(), None),
        ("updater:M-22", 2, RECREATE, None, Settings(), False),
        ("updater:M-22", 1, RECREATE, 1, Settings(), False),
        ("updater:M-22", 2, RECREATE, 3, Settings(), None),
        ("updater:M-22", 3, RECREATE, 3, Settings(), False),
        ("updater:M-22", 2, RECREATE, None, Settings(min_replicas=3), None),
        ("updater:R-3", 1, RECREATE, None, SKIPPING, None),
        ("updater:R-3", 1, AUTO, None, SKIPPING, None),
        ("updater:R-3", 1, OFF, None, SKIPPING, None),
        ("updater:R-3", 1, INITIAL, None, SKIPPING, None),
        ("updater:R-3", 1, IPOR, None, SKIPPING, True),
        ("updater:R-3", 1, IN_PLACE, None, SKIPPING, True),
        ("updater:R-3", 1, IPOR, None, AS_UPSTREAM, None),
        ("beyond:B-26", 1, IPOR, None, Settings(), True),
        ("beyond:B-26", 1, IN_PLACE, None, Settings(), True),
        ("beyond:B-26", 1, RECREATE, None, Settings(), None),
        ("beyond:B-26", 2, IPOR, None, Settings(), False),
        ("updater:R-3", 2, IPOR, None, SKIPPING, False),
    ],
)
def test_minimum(
    row: str, live: int, mode: UpdateMode, minimum: int | None, settings: Settings, is_below: bool | None
) -> None:
    found = formed(several(live), mode, minimum, settings)
    if is_below is None:
        assert found is Reason.BELOW_MIN_REPLICAS
    else:
        assert isinstance(found, Group)
        assert found.is_below_minimum is is_below


@pytest.mark.parametrize(
    ("row", "mode", "settings", "is_below"),
    [("updater:R-3", RECREATE, Settings(), False), ("updater:R-3", IPOR, SKIPPING, True)],
)
def test_a_boosted_pod_lifts_the_minimum(row: str, mode: UpdateMode, settings: Settings, is_below: bool) -> None:
    found = formed((annotated(small(), boost="{}"),), mode, None, settings)
    assert isinstance(found, Group)
    assert found.is_below_minimum is is_below


@pytest.mark.parametrize(
    ("row", "configured", "share", "tolerance"),
    [
        ("updater:R-5", 3, 0.5, 1),
        ("updater:R-5", 10, 0.29, 2),
        ("updater:R-5", 10, 0.0, 0),
        ("updater:R-5", 10, 1.0, 10),
        ("updater:R-5", 1, 0.99, 0),
    ],
)
def test_tolerance_is_floored(row: str, configured: int, share: float, tolerance: int) -> None:
    found = formed(several(2), RECREATE, None, Settings(eviction_tolerance=share), configured)
    assert isinstance(found, Group)
    assert found.tolerance == tolerance


def test_only_phase_pending_counts_as_not_running() -> None:
    pods = (pending(small()), small("p1"), replace(small("p2"), phase=PodPhase.UNKNOWN))
    found = formed(pods, RECREATE, None, Settings())
    assert isinstance(found, Group)
    assert (found.running, found.configured) == (2, 9)


def test_each_direct_controller_has_its_own_budget() -> None:
    first, second = (replace(workload("ReplicaSet", 4), name=name) for name in ("a", "b"))
    everyone = members(*several(4), name="a") + members(*several(4), name="b")
    groups = form_groups(everyone, vpa_of(RECREATE), {w.ref: w for w in (first, second)}, Settings())
    one, other = groups.after_disruption(first.ref).of(first.ref), groups.of(second.ref)
    assert isinstance(one, Group)
    assert isinstance(other, Group)
    assert (one.disrupted, other.disrupted) == (1, 0)


@pytest.mark.parametrize(("disrupted", "reason"), [(0, Reason.TOO_FEW_RUNNING), (1, Reason.BUDGET_USED_UP)])
def test_shortage_tells_whose_fault_it_is(disrupted: int, reason: Reason) -> None:
    assert group(4, 2, disrupted=disrupted).shortage is reason


@pytest.mark.parametrize(
    ("annotations", "boosted"),
    [
        (None, False),
        ({}, False),
        ({"vpaCpuStartupBoost": ""}, False),
        ({"vpaCpuStartupBoost/": ""}, True),
        ({"vpaCpuStartupBoost/other": "x"}, True),
    ],
)
def test_boost_annotation(annotations: dict[str, str] | None, boosted: bool) -> None:
    assert is_boosted(replace(small(), annotations=annotations)) is boosted
