"""Events end an hour after they were last written."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject
from tests.evenkeel.simulator.controllers.ground import MINUTE, Ground


def event(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, "count": 1}


def test_an_event_lives_for_an_hour_after_it_was_written() -> None:
    ground = Ground(0, plane=False)
    ground.create(event("early"))
    ground.plane.start()
    ground.run(10 * MINUTE)
    ground.create(event("late"))
    ground.run(40 * MINUTE)
    ground.merge("Event", "early", count=2)
    ground.run(15 * MINUTE)
    assert ground.names("Event") == ["early", "late"]
    ground.run(6 * MINUTE)
    assert ground.names("Event") == ["early"]
    ground.run(40 * MINUTE)
    assert ground.names("Event") == []


def test_an_event_that_was_removed_before_is_no_trouble() -> None:
    ground = Ground(0)
    ground.create(event("a"))
    ground.delete("Event", "a")
    ground.run(timedelta(hours=2))
    assert ground.names("Event") == []
