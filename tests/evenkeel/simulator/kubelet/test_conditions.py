"""The two resize conditions: what is kept, what is renewed, what is news (in-place-resize 3.4)."""

from __future__ import annotations

from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.conditions import DEFERRED, INFEASIBLE, ResizeConditions


def at(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def test_a_waiting_resize_keeps_its_time_while_the_reason_stays() -> None:
    held = ResizeConditions()
    assert held.put_off(DEFERRED, "one", 2, at(1)), "new"
    assert not held.put_off(DEFERRED, "two", 2, at(2)), "another message is no news"
    assert held.put_off(DEFERRED, "two", 3, at(3)), "another generation is"
    assert held.pending is not None
    assert (held.pending.changed_at, held.pending.probed_at) == (at(1), at(3))
    assert (held.pending.message, held.pending.generation) == ("two", 3)
    assert held.is_deferred()
    assert held.put_off(INFEASIBLE, "three", 3, at(4)), "another reason is"
    assert held.pending.changed_at == at(4)
    assert not held.is_deferred()


def test_an_allocation_begins_progress_anew() -> None:
    held = ResizeConditions()
    held.put_off(DEFERRED, "one", 2, at(1))
    held.fail("broken", 2, at(1))
    held.begin(3, at(5))
    assert held.pending is None
    assert held.progress is not None
    assert (held.progress.reason, held.progress.message, held.progress.generation) == ("", "", 3)
    assert held.progress.changed_at == at(5)


def test_progress_keeps_error_and_generation() -> None:
    held = ResizeConditions()
    held.begin(2, at(1))
    assert held.fail("one", 5, at(2)), "new"
    assert not held.fail("one", 5, at(3)), "the same again is no news"
    assert held.fail("two", 5, at(4)), "another message is"
    held.keep_going(5, at(6))
    assert held.progress is not None
    assert (held.progress.reason, held.progress.message, held.progress.generation) == ("Error", "two", 2)
    assert (held.progress.changed_at, held.progress.probed_at) == (at(2), at(6))
    assert held.finish() == 2
    assert held.finish() is None


def test_progress_without_allocation_names_the_present_generation() -> None:
    held = ResizeConditions()
    held.keep_going(4, at(1))
    assert held.progress is not None
    assert held.progress.generation == 4
    other = ResizeConditions()
    assert other.fail("one", 4, at(1))
    assert other.finish() == 4


def test_both_stand_side_by_side_until_they_are_cleared() -> None:
    held = ResizeConditions()
    held.begin(2, at(1))
    held.put_off(INFEASIBLE, "never", 3, at(2))
    assert held.rows() == [
        {
            "type": "PodResizePending",
            "status": "True",
            "observedGeneration": 3,
            "lastProbeTime": "2026-01-01T00:00:02Z",
            "lastTransitionTime": "2026-01-01T00:00:02Z",
            "reason": "Infeasible",
            "message": "never",
        },
        {
            "type": "PodResizeInProgress",
            "status": "True",
            "observedGeneration": 2,
            "lastProbeTime": "2026-01-01T00:00:01Z",
            "lastTransitionTime": "2026-01-01T00:00:01Z",
        },
    ]
    held.clear()
    assert held.rows() == []


def test_conditions_are_restored_with_a_new_time() -> None:
    before = ResizeConditions()
    before.begin(2, at(1))
    before.fail("broken", 2, at(2))
    before.put_off(DEFERRED, "full", 3, at(3))
    body: JsonObject = {"status": {"conditions": [*before.rows(), {"type": "Ready", "status": "True"}]}}
    restored = ResizeConditions.restored(body, at(60))
    assert restored.pending is not None
    assert restored.progress is not None
    assert (restored.pending.message, restored.pending.generation) == ("full", 3)
    assert (restored.progress.reason, restored.progress.message) == ("Error", "broken")
    assert restored.pending.changed_at == restored.progress.changed_at == at(60)
