"""Events go an hour after they were last written."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.builtin import EVENTS
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


def event(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, "reason": "R"}


def names(server: ApiServer) -> list[str]:
    return [text(found, "metadata", "name") for found in server.store.list("v1", "Event")]


def test_events_go_an_hour_after_their_last_change() -> None:
    clock = ManualClock()
    server = ApiServer(clock)
    server.store.create(event("a"))
    clock.advance(timedelta(minutes=10))
    server.store.create(event("b"))
    server.store.create(event("c"))
    clock.advance(timedelta(minutes=20))
    server.store.merge({**event("b"), "count": 2})
    server.store.delete("v1", "Event", "c", "default")
    clock.advance(timedelta(minutes=30) - SECOND)
    assert names(server) == ["a", "b"]
    clock.advance(SECOND)
    assert names(server) == ["b"]
    clock.advance(timedelta(minutes=30) - SECOND)
    assert names(server) == ["b"]
    clock.advance(SECOND)
    assert names(server) == []


def test_watchers_see_events_go() -> None:
    clock = ManualClock()
    server = ApiServer(clock)
    server.store.create(event("a"))
    revision = server.store.versions.revision
    clock.advance(HOUR)
    (change,) = server.store.versions.changes_since(EVENTS, revision)
    assert (change.type.value, change.after.key) == ("DELETED", ("default", "a"))
    server.store.create(event("a"))
    clock.advance(HOUR)
    assert names(server) == []
