"""What controllers read from a pod."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.pod_state import (
    LONG_AGO,
    available_from,
    created,
    is_active,
    is_available,
    is_finished,
    is_ready,
    most_restarts,
    next_availability,
    ready_since,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def ready(for_: timedelta | None, status: str = "True") -> JsonObject:
    condition: JsonObject = {"type": "Ready", "status": status}
    if for_ is not None:
        condition["lastTransitionTime"] = rfc3339(NOW - for_)
    return {"status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}, condition]}}


@pytest.mark.parametrize(
    ("row", "pod", "patience", "available"),
    [
        ("ready, no patience", ready(0 * SECOND), 0, True),
        ("ready for long enough", ready(10 * SECOND), 10, True),
        ("one second too short", ready(9 * SECOND), 10, False),
        ("not ready", ready(60 * SECOND, "False"), 0, False),
        ("ready without a time", ready(None), 10, True),
        ("no conditions", {}, 0, False),
    ],
)
def test_availability(row: str, pod: JsonObject, patience: int, available: bool) -> None:
    assert is_available(pod, patience, NOW) is available, row
    assert is_ready(pod) is (ready_since(pod) is not None), row


def test_when_the_next_pod_becomes_available() -> None:
    pods = [ready(4 * SECOND), ready(2 * SECOND), ready(60 * SECOND), ready(1 * SECOND, "False"), ready(None)]
    assert next_availability(pods, 10, NOW) == NOW + 6 * SECOND
    assert next_availability(pods, 0, NOW) is None
    assert next_availability([], 10, NOW) is None
    assert available_from(ready(None), 10) == LONG_AGO


@pytest.mark.parametrize(
    ("phase", "going", "finished", "active"),
    [
        ("Pending", False, False, True),
        ("Running", False, False, True),
        ("Running", True, False, False),
        ("Succeeded", False, True, False),
        ("Failed", True, True, False),
    ],
)
def test_phases(phase: str, going: bool, finished: bool, active: bool) -> None:
    pod: JsonObject = {"status": {"phase": phase}, "metadata": {"deletionTimestamp": rfc3339(NOW)} if going else {}}
    assert (is_finished(pod), is_active(pod)) == (finished, active)


def test_times_and_restarts() -> None:
    assert created({}) == LONG_AGO
    assert created({"metadata": {"creationTimestamp": rfc3339(NOW)}}) == NOW
    statuses = [{"restartCount": 2}, {"restartCount": 5}, {}]
    assert most_restarts({"status": {"containerStatuses": statuses}}, "containerStatuses") == 5
    assert most_restarts({}, "containerStatuses") == 0
