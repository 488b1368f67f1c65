"""Status writes: late, merged, and only when there is something to say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, ManualClock, Timer
from evenkeel.simulator.kubelet.podview import PodView, read_pod
from evenkeel.simulator.kubelet.records import PodRecord
from evenkeel.simulator.kubelet.reports import Reports
from tests.evenkeel.simulator.kubelet.pods import pod

DELAY = timedelta(milliseconds=8)


class Desk:
    """Reports about one stored pod."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = ApiServer(self.clock)
        stored = self.server.store.create({"apiVersion": "v1", "kind": "Pod", **pod()})
        self.record = PodRecord(read_pod(stored), EPOCH)
        self.reports = Reports(self.server.store, self.later, DELAY)
        self.revision = self.server.store.versions.revision

    def later(self, delay: timedelta, callback: Callable[[], None]) -> Timer:
        return self.clock.call_at(self.clock.now() + delay, callback)

    def writes(self) -> int:
        """Let a write through, and return how many there were since."""
        self.clock.advance(DELAY)
        before, self.revision = self.revision, self.server.store.versions.revision
        return self.revision - before

    def status(self) -> JsonObject:
        return child(self.server.store.read("v1", "Pod", "a", "default"), "status")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_status_is_written_after_its_delay(desk: Desk) -> None:
    desk.reports.publish(desk.record, {"phase": "Running"})
    assert "phase" not in desk.status()
    assert desk.writes() == 1
    assert desk.status()["phase"] == "Running"


def test_what_is_overtaken_is_never_seen(desk: Desk) -> None:
    desk.reports.publish(desk.record, {"phase": "Pending"})
    desk.reports.publish(desk.record, {"phase": "Running"})
    assert desk.writes() == 1
    assert desk.status()["phase"] == "Running"


def test_what_is_known_is_not_written(desk: Desk) -> None:
    for _ in range(2):
        desk.reports.publish(desk.record, {"phase": "Running"})
        desk.writes()
    desk.reports.publish(desk.record, {"phase": "Running"})
    assert desk.writes() == 0


def test_a_status_is_no_change_of_the_spec(desk: Desk) -> None:
    desk.reports.publish(desk.record, {"phase": "Running"})
    desk.writes()
    assert child(desk.server.store.read("v1", "Pod", "a", "default"), "metadata")["generation"] == 1


def test_another_pod_of_that_name_is_left_alone(desk: Desk) -> None:
    desk.reports.publish(desk.record, {"phase": "Running"})
    desk.server.store.delete("v1", "Pod", "a", "default")
    body = pod()
    ensure(body, "metadata")["uid"] = "other"
    desk.server.store.create({"apiVersion": "v1", "kind": "Pod", **body})
    desk.clock.advance(DELAY)
    assert "phase" not in desk.status()
    desk.reports.finish_deletion(desk.record.view)
    assert desk.server.store.find("v1", "Pod", "a", "default")


def test_an_object_that_has_gone_is_no_matter(desk: Desk) -> None:
    desk.reports.publish(desk.record, {"phase": "Running"})
    desk.server.store.delete("v1", "Pod", "a", "default")
    desk.clock.advance(DELAY)
    desk.reports.finish_deletion(desk.record.view)
    assert desk.server.store.list("v1", "Pod") == []


def test_overwriting_is_noticed_once_nothing_is_on_its_way(desk: Desk) -> None:
    foreign: JsonObject = {"status": {"phase": "Failed"}}
    assert not desk.reports.is_overwritten(desk.record, foreign), "nothing was reported yet"
    desk.reports.publish(desk.record, {"phase": "Running"})
    assert not desk.reports.is_overwritten(desk.record, foreign), "the write is on its way"
    desk.writes()
    assert desk.reports.is_overwritten(desk.record, foreign)
    assert not desk.reports.is_overwritten(desk.record, {"status": desk.status()})
    ensure(foreign, "status")["phase"] = "Running"
    assert not desk.reports.is_overwritten(desk.record, foreign)


def test_a_deletion_is_finished(desk: Desk) -> None:
    view: PodView = desk.record.view
    desk.reports.finish_deletion(view)
    assert desk.server.store.find("v1", "Pod", text(view.body, "metadata", "name"), "default") is None
