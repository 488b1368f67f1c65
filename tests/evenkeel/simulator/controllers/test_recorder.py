"""Events: one object for each thing said, counted when it is said again."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.controllers.recorder import Recorder
from tests.evenkeel.simulator.api.wire import pod


def test_the_same_again_is_counted() -> None:
    clock = ManualClock()
    server = ApiServer(clock)
    server.store.create(pod())
    kind = server.registry.at("", "v1", "pods")
    assert kind is not None
    about = (kind, server.store.existing(kind, ("default", "a")))
    recorder = Recorder(server.store, "me")
    recorder.normal(about, "Started", "it runs")
    clock.advance(timedelta(seconds=5))
    recorder.normal(about, "Started", "it runs")
    recorder.warning(about, "Started", "it runs")
    Recorder(server.store, "other").normal(about, "Started", "it runs")
    events = server.store.list("v1", "Event", "default")
    assert sorted((str(event["type"]), event["count"]) for event in events) == [
        ("Normal", 1),
        ("Normal", 2),
        ("Warning", 1),
    ]
    twice = next(event for event in events if event["count"] == 2)
    assert (twice["firstTimestamp"], twice["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
    involved = twice["involvedObject"]
    assert isinstance(involved, dict)
    assert (involved["kind"], involved["namespace"], involved["name"]) == ("Pod", "default", "a")
    assert involved["uid"] == about[1].uid


def test_events_about_cluster_wide_objects_live_in_the_default_namespace() -> None:
    server = ApiServer()
    server.store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    kind = server.registry.at("", "v1", "nodes")
    assert kind is not None
    Recorder(server.store, "me").normal((kind, server.store.existing(kind, ("", "n"))), "Seen", "there it is")
    assert len(server.store.list("v1", "Event", "default")) == 1
