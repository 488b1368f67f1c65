"""What the status of a disruption budget says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.budget_plan import (
    Health,
    count_healthy,
    desired_healthy,
    needs_scale,
    still_disrupted,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("row", "spec", "expected", "desired", "scaled"),
    [
        ("a number", {"minAvailable": 2}, 5, 2, False),
        ("more than there are", {"minAvailable": 9}, 5, 9, False),
        ("a share, rounded up", {"minAvailable": "50%"}, 5, 3, True),
        ("all", {"minAvailable": "100%"}, 5, 5, True),
        ("at most so many missing", {"maxUnavailable": 2}, 5, 3, True),
        ("a missing share, rounded up", {"maxUnavailable": "50%"}, 5, 2, True),
        ("more missing than there are", {"maxUnavailable": 9}, 5, 0, True),
        ("none missing", {"maxUnavailable": 0}, 5, 5, True),
        ("nothing said", {}, 5, 1, False),
    ],
)
def test_how_many_must_stay_healthy(row: str, spec: JsonObject, expected: int, desired: int, scaled: bool) -> None:
    """Spec: in-place-resize 4."""
    assert desired_healthy({"spec": spec}, expected) == desired, row
    assert needs_scale({"spec": spec}) is scaled, row


@pytest.mark.parametrize(
    ("row", "health", "allowed"),
    [
        ("spare", Health(3, 2, 3), 1),
        ("just enough", Health(3, 2, 2), 0),
        ("too few", Health(3, 2, 1), 0),
        ("none expected", Health(0, 0, 3), 0),
    ],
)
def test_how_many_may_go(row: str, health: Health, allowed: int) -> None:
    assert health.allowed == allowed, row


def pod(name: str, *, ready: bool = True, going: bool = False) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if going:
        metadata["deletionTimestamp"] = "x"
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"metadata": metadata, "status": status}


def test_evicted_pods_count_again_when_they_have_stayed_for_too_long() -> None:
    disrupted = {name: NOW - age for name, age in (("a", MINUTE), ("b", 2 * MINUTE), ("c", MINUTE), ("d", MINUTE))}
    pods = {"a": pod("a"), "b": pod("b"), "c": pod("c", going=True)}
    assert still_disrupted(disrupted, pods, NOW) == {"a": NOW - MINUTE}
    assert still_disrupted({"a": NOW - 2 * MINUTE + timedelta(seconds=1)}, pods, NOW) != {}


def test_healthy_pods_are_ready_and_stay() -> None:
    pods = [pod("a"), pod("b", ready=False), pod("c", going=True), pod("d")]
    assert count_healthy(pods, {}) == 2
    assert count_healthy(pods, {"d": NOW}) == 1
