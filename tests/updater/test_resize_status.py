"""What a pod reports of a resize."""

from __future__ import annotations

import pytest

from autoscaling.pod import READY, ConditionStatus, PodCondition
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    IN_PROGRESS,
    INFEASIBLE,
    progressing,
    resizing,
    small,
    waiting,
)
from updater.resize_status import ResizeStatus, resize_status

FALSE, UNKNOWN = ConditionStatus.FALSE, ConditionStatus.UNKNOWN
IS_READY = PodCondition(READY, ConditionStatus.TRUE)


@pytest.mark.parametrize(
    ("row", "conditions", "status"),
    [
        ("updater:C-1", (), None),
        ("updater:C-1", (IS_READY,), None),
        ("updater:C-1", (waiting("Deferred", FALSE),), None),
        ("updater:C-1", (waiting("Deferred", UNKNOWN),), None),
        ("updater:C-1", (progressing(status=FALSE),), None),
        ("updater:W-20", (progressing(status=FALSE), DEFERRED), None),
        ("updater:W-20", (DEFERRED, progressing(status=FALSE)), ResizeStatus.DEFERRED),
        ("updater:C-2", (IS_READY, DEFERRED), ResizeStatus.DEFERRED),
        ("updater:C-2", (INFEASIBLE,), ResizeStatus.INFEASIBLE),
        ("updater:C-2", (waiting(""),), ResizeStatus.UNKNOWN),
        ("updater:C-2", (waiting("Odd"),), ResizeStatus.UNKNOWN),
        ("updater:C-2", (IN_PROGRESS,), ResizeStatus.IN_PROGRESS),
        ("updater:C-2", (ERROR,), ResizeStatus.ERROR),
        ("updater:C-2", (progressing("Error"),), ResizeStatus.ERROR),
        ("updater:C-2", (progressing(message="odd"),), ResizeStatus.UNKNOWN),
        ("updater:C-2", (progressing("Odd"),), ResizeStatus.UNKNOWN),
        # A pending condition counts whatever its own status, once there is a resize at all.
        ("updater:C-2", (ERROR, waiting("Deferred", FALSE)), ResizeStatus.DEFERRED),
        ("updater:C-2", (IN_PROGRESS, INFEASIBLE), ResizeStatus.INFEASIBLE),
    ],
)
def test_resize_status(row: str, conditions: tuple[PodCondition, ...], status: ResizeStatus | None) -> None:
    assert resize_status(resizing(small(), *conditions)) is status
