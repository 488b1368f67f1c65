"""Leave to evict, also for pods in the middle of a resize."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import Pod, PodCondition
from autoscaling.vpa import UpdatePolicy
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    EVENKEEL,
    GATES_ON,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    circumstances,
    group,
    pending,
    progressing,
    resizing,
    small,
    vpa_of,
    waiting,
)
from updater.circumstances import Memory
from updater.decision import Reason
from updater.eviction import Clearance, clear_eviction, give_up_reason
from updater.group import Group
from updater.resize_status import ResizeStatus
from updater.resize_watch import ResizeWatch
from updater.settings import Settings

TICK = timedelta(microseconds=1)
FREE, SHORT, USED = group(2, 2), group(4, 2), group(4, 4, disrupted=2)
BELOW = replace(FREE, is_below_minimum=True)
GIVEN = Clearance(is_given=True)


def refused(reason: Reason, *, is_timed: bool = False) -> Clearance:
    """Return that there is no leave."""
    return Clearance(is_given=False, reason=reason, is_timed=is_timed)


@pytest.mark.parametrize(
    ("row", "subject", "known", "clearance"),
    [
        ("updater:R-8", small(), Reason.REPLICAS_UNKNOWN, refused(Reason.REPLICAS_UNKNOWN)),
        ("updater:R-8", pending(small()), Reason.BELOW_MIN_REPLICAS, refused(Reason.BELOW_MIN_REPLICAS)),
        ("updater:R-8", pending(small()), SHORT, GIVEN),
        ("updater:R-8", pending(small()), BELOW, GIVEN),
        ("updater:R-8", pending(resizing(small(), DEFERRED)), USED, GIVEN),
        ("updater:R-8", small(), BELOW, refused(Reason.BELOW_MIN_REPLICAS)),
        ("updater:R-8", resizing(small(), INFEASIBLE), BELOW, refused(Reason.BELOW_MIN_REPLICAS)),
        ("updater:R-8", small(), FREE, GIVEN),
        ("updater:R-8", small(), SHORT, refused(Reason.TOO_FEW_RUNNING)),
        ("updater:R-8", small(), USED, refused(Reason.BUDGET_USED_UP)),
        ("updater:C-5", resizing(small(), DEFERRED), FREE, refused(Reason.RESIZE_PENDING, is_timed=True)),
        ("updater:C-5", resizing(small(), DEFERRED), SHORT, refused(Reason.RESIZE_PENDING, is_timed=True)),
        ("updater:C-5", resizing(small(), ERROR), SHORT, refused(Reason.TOO_FEW_RUNNING, is_timed=True)),
        ("updater:C-5", resizing(small(), ERROR), FREE, Clearance(True, Reason.RESIZE_FAILED, is_timed=True)),
    ],
)
def test_leave_to_evict(row: str, subject: Pod, known: Group | Reason, clearance: Clearance) -> None:
    assert clear_eviction(subject, known, circumstances(vpa_of(RECREATE))) == clearance


@pytest.mark.parametrize(
    ("row", "condition", "waited", "given"),
    [
        ("updater:C-5", DEFERRED, 5 * MINUTE, False),
        ("updater:C-5", DEFERRED, 5 * MINUTE + TICK, True),
        ("updater:C-5", INFEASIBLE, timedelta(0), True),
        ("updater:C-5", waiting("Odd"), timedelta(0), True),
        ("updater:C-5", IN_PROGRESS, HOUR, False),
        ("updater:C-5", IN_PROGRESS, HOUR + TICK, True),
        ("updater:C-5", ERROR, timedelta(0), True),
        ("updater:C-5", progressing(message="odd"), timedelta(0), True),
    ],
)
def test_patience(row: str, condition: PodCondition, waited: timedelta, given: bool) -> None:
    memory = Memory(watch=ResizeWatch({small().ref: NOW - waited}))
    found = clear_eviction(resizing(small(), condition), FREE, circumstances(vpa_of(RECREATE), GATES_ON, memory))
    assert (found.is_given, found.is_timed) == (given, True)


@pytest.mark.parametrize(
    ("status", "waited", "reason"),
    [
        (ResizeStatus.DEFERRED, 2 * MINUTE, None),
        (ResizeStatus.DEFERRED, 2 * MINUTE + TICK, Reason.RESIZE_TIMED_OUT),
        (ResizeStatus.IN_PROGRESS, 3 * MINUTE, None),
        (ResizeStatus.IN_PROGRESS, 3 * MINUTE + TICK, Reason.RESIZE_TIMED_OUT),
        (ResizeStatus.ERROR, timedelta(0), Reason.RESIZE_FAILED),
    ],
)
def test_both_timers_are_settings(status: ResizeStatus, waited: timedelta, reason: Reason | None) -> None:
    settings = replace(GATES_ON, deferred_timeout=2 * MINUTE, progress_timeout=3 * MINUTE)
    assert give_up_reason(status, waited, circumstances(vpa_of(RECREATE), settings)) is reason


OWN_TIMES = replace(vpa_of(IPOR), update_policy=UpdatePolicy(IPOR, 1, (), None, 120, 180))


@pytest.mark.parametrize(
    ("row", "settings", "status", "waited", "reason"),
    [
        ("beyond:B-20", EVENKEEL, ResizeStatus.DEFERRED, 2 * MINUTE, None),
        ("beyond:B-20", EVENKEEL, ResizeStatus.DEFERRED, 2 * MINUTE + TICK, Reason.RESIZE_TIMED_OUT),
        ("beyond:B-20", EVENKEEL, ResizeStatus.IN_PROGRESS, 3 * MINUTE, None),
        ("beyond:B-20", EVENKEEL, ResizeStatus.IN_PROGRESS, 3 * MINUTE + TICK, Reason.RESIZE_TIMED_OUT),
        ("beyond:B-20", EVENKEEL, ResizeStatus.REQUESTED, 3 * MINUTE + TICK, Reason.RESIZE_TIMED_OUT),
        ("updater:D-26", GATES_ON, ResizeStatus.DEFERRED, 5 * MINUTE, None),
        ("updater:D-26", GATES_ON, ResizeStatus.IN_PROGRESS, HOUR, None),
    ],
)
def test_a_vpa_has_times_of_its_own(
    row: str, settings: Settings, status: ResizeStatus, waited: timedelta, reason: Reason | None
) -> None:
    assert give_up_reason(status, waited, circumstances(OWN_TIMES, settings)) is reason, row


def test_one_time_of_its_own_leaves_the_other_to_the_flag() -> None:
    """Spec: beyond:B-20."""
    subject = replace(OWN_TIMES, update_policy=UpdatePolicy(IPOR, deferred_timeout_seconds=1))
    around = circumstances(subject, EVENKEEL)
    assert (around.deferred_timeout, around.progress_timeout) == (timedelta(seconds=1), HOUR)
