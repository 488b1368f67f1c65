"""Events: what a resize event says, how similar ones are merged and how many there may be (in-place-resize 3.11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.kubelet.events import NORMAL, WARNING, Correlator, Event, Recorder, resize_summary
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, container, held, resources, view

POD = ("default", "a", "uid-a")


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def told(message: str, reason: str = "R") -> Event:
    return Event(NORMAL, reason, message)


def test_a_summary_lists_init_containers_first_and_leaves_out_what_is_empty() -> None:
    pod = view("a", container(), initContainers=[container("setup", resources("1"))])
    summary = resize_summary(pod, {"app": held("2")}, 3, 'say "no"')
    assert summary == (
        '{"initContainers":[{"name":"setup","resources":{"requests":{"cpu":"1"}}}],'
        '"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}],"generation":3,"error":"say \\"no\\""}'
    )
    plain = json.loads(resize_summary(view(), view().desired, 1))
    assert plain == {"containers": [{"name": "app", "resources": BURSTABLE}], "generation": 1}


def test_the_tenth_message_of_a_kind_is_merged() -> None:
    correlator = Correlator()
    verdicts = [correlator.judge(POD, told(f"m{n}"), at(n)) for n in range(12)]
    assert [v.message for v in verdicts[:9]] == [f"m{n}" for n in range(9)]
    assert [v.message for v in verdicts[9:]] == [f"(combined from similar events): m{n}" for n in range(9, 12)]
    assert len({v.key for v in verdicts}) == 10


def test_other_reasons_and_objects_are_counted_apart() -> None:
    correlator = Correlator()
    for number in range(9):
        correlator.judge(POD, told(f"m{number}"), at(number))
    assert correlator.judge(POD, told("other", "S"), at(9)).message == "other"
    assert correlator.judge(("default", "b", "uid-b"), told("other"), at(9)).message == "other"
    assert correlator.judge(POD, Event(WARNING, "R", "other"), at(9)).message == "other"


def test_the_same_message_is_the_same_event() -> None:
    correlator = Correlator()
    keys = {correlator.judge(POD, told("m"), at(n)).key for n in range(15)}
    assert len(keys) == 1


def test_similar_events_are_forgotten_after_ten_quiet_minutes() -> None:
    correlator = Correlator()
    for number in range(9):
        correlator.judge(POD, told(f"m{number}"), at(number))
    assert correlator.judge(POD, told("m9"), at(8 + 601)).message == "m9"


def test_ten_minutes_count_from_the_last_one() -> None:
    correlator = Correlator()
    for number in range(9):
        correlator.judge(POD, told(f"m{number}"), at(number * 599))
    assert correlator.judge(POD, told("m9"), at(9 * 599)).message.startswith("(combined")


def test_the_budget_of_an_object_is_25_and_one_more_every_five_minutes() -> None:
    correlator = Correlator()
    dropped = [correlator.judge(POD, told("m"), at(0)).dropped for _ in range(27)]
    assert dropped == [False] * 25 + [True] * 2
    assert correlator.judge(POD, told("m"), at(299)).dropped
    assert not correlator.judge(POD, told("m"), at(300)).dropped
    assert correlator.judge(POD, told("m"), at(301)).dropped
    assert not correlator.judge(("default", "b", "uid-b"), told("m"), at(301)).dropped


def test_an_object_that_has_gone_is_forgotten() -> None:
    correlator = Correlator()
    for number in range(26):
        correlator.judge(POD, told(f"m{number}"), at(0))
    correlator.forget(POD)
    verdict = correlator.judge(POD, told("m"), at(0))
    assert (verdict.dropped, verdict.message) == (False, "m")


class Desk:
    """A recorder whose writes wait until they are let through."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = ApiServer(self.clock)
        self.waiting: list[Callable[[], None]] = []
        self.recorder = Recorder(self.server.store, "n", self.waiting.append)

    def events(self) -> list[JsonObject]:
        """Let all writes through, and return what is stored."""
        for write in self.waiting:
            write()
        self.waiting.clear()
        return self.server.store.list("v1", "Event")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_event_is_stored_as_kubelets_write_it(desk: Desk) -> None:
    desk.recorder.tell(view(), Event(WARNING, "Evicted", "too large", annotations=(("k", "v"),)))
    assert desk.server.store.list("v1", "Event") == []
    (event,) = desk.events()
    assert {key: event[key] for key in ("type", "reason", "message", "count", "reportingComponent")} == {
        "type": "Warning",
        "reason": "Evicted",
        "message": "too large",
        "count": 1,
        "reportingComponent": "kubelet",
    }
    assert event["source"] == {"component": "kubelet", "host": "n"}
    assert child(event, "metadata", "annotations") == {"k": "v"}
    involved = child(event, "involvedObject")
    assert (involved["kind"], involved["name"], involved["uid"]) == ("Pod", "a", "uid-a")
    assert "fieldPath" not in involved


CONTAINERS = [("app", "spec.containers{app}"), ("setup", "spec.initContainers{setup}")]


@pytest.mark.parametrize(("name", "path"), CONTAINERS)
def test_an_event_about_a_container_names_it(desk: Desk, name: str, path: str) -> None:
    pod = view("a", container(), initContainers=[container("setup")])
    desk.recorder.tell(pod, Event(NORMAL, "Started", "started", name))
    (event,) = desk.events()
    assert text(event, "involvedObject", "fieldPath") == path


def test_the_same_event_again_raises_the_count(desk: Desk) -> None:
    for _ in range(3):
        desk.recorder.tell(view(), told("m"))
        desk.clock.advance(timedelta(seconds=1))
    (event,) = desk.events()
    assert (event["count"], event["firstTimestamp"]) == (3, "2026-01-01T00:00:00Z")
    assert event["lastTimestamp"] == "2026-01-01T00:00:02Z"


def test_merged_events_are_one_object_with_the_newest_message(desk: Desk) -> None:
    for number in range(12):
        desk.recorder.tell(view(), told(f"m{number}"))
    events = desk.events()
    assert len(events) == 10
    merged = next(e for e in events if text(e, "message").startswith("(combined"))
    assert (merged["count"], text(merged, "message")) == (3, "(combined from similar events): m11")


def test_events_beyond_the_budget_are_lost(desk: Desk) -> None:
    for number in range(30):
        desk.recorder.tell(view(), told("m", f"R{number}"))
    assert len(desk.events()) == 25


def test_a_pod_that_has_gone_is_forgotten(desk: Desk) -> None:
    desk.recorder.tell(view(), told("m"))
    desk.events()
    desk.recorder.forget(view())
    desk.recorder.tell(view(), told("m"))
    assert [event["count"] for event in desk.events()] == [1, 1]


def test_an_event_about_the_node(desk: Desk) -> None:
    desk.recorder.tell_of_node("uid-n", told("m"))
    (event,) = desk.events()
    assert child(event, "involvedObject") == {"kind": "Node", "name": "n", "uid": "uid-n"}
    assert text(event, "metadata", "namespace") == "default"
