"""Leave to evict, also for pods in the middle of a resize."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import Pod, PodCondition
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    GATES_ON,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
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
    assert give_up_reason(status, waited, settings) is reason
