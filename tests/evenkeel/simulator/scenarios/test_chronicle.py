"""What writes and log lines mean to those who watch."""

from __future__ import annotations

from datetime import timedelta

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.scenarios.chronicle import (
    Chronicle,
    event_happenings,
    listed,
    log_happenings,
    pod_happenings,
    usage_happenings,
    vpa_happenings,
)
from evenkeel.simulator.scenarios.happenings import as_record
from tests.evenkeel.simulator.scenarios.scene import pod, vpa

AT = timedelta(seconds=3)


def change(before: JsonObject | None, after: JsonObject | None) -> Change:
    old = Stored(before, 1) if before is not None else None
    if after is None:
        assert old is not None
        return Change(ChangeType.DELETED, old, old)
    return Change(ChangeType.MODIFIED if old else ChangeType.ADDED, old, Stored(after, 2))


def running() -> JsonObject:
    return pod("web-a", conditions=[])


def pending() -> JsonObject:
    return {**running(), "spec": {}, "status": {"phase": "Pending"}}


def resizing(reason: str = "", message: str = "", kind: str = "PodResizePending") -> JsonObject:
    condition = {"type": kind, "status": "True", "reason": reason, "message": message}
    return pod("web-a", conditions=[{"type": "Ready", "status": "True"}, condition])


def with_resources(cpu: str) -> JsonObject:
    status = {"name": "main", "restartCount": 0, "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "1"}}}
    return pod("web-a", containerStatuses=[status], conditions=[])


def with_restarts(count: int, reason: str) -> JsonObject:
    status = {"name": "main", "restartCount": count, "lastState": {"terminated": {"reason": reason}}}
    return pod("web-a", containerStatuses=[status], conditions=[])


def with_sidecar(cpu: str) -> JsonObject:
    status = {"name": "proxy", "restartCount": 0, "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "1"}}}
    return pod("web-a", initContainerStatuses=[status], conditions=[])


LEAVING = {**running(), "metadata": {**pod("web-a")["metadata"], "deletionTimestamp": "x"}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (None, pending(), ["pod web-a created"]),
        (pending(), running(), ["pod web-a started on node-1"]),
        (running(), pod("web-a", conditions=[], podIP="10.0.0.1"), []),
        (running(), LEAVING, ["pod web-a leaving on node-1"]),
        (LEAVING, None, ["pod web-a gone on node-1"]),
        (running(), resizing("Deferred", "no room"), ["web-a: PodResizePending Deferred: no room"]),
        (resizing("Deferred", "a"), resizing("Deferred", "b"), ["web-a: PodResizePending Deferred: b"]),
        (running(), resizing(kind="PodResizeInProgress"), ["web-a: PodResizeInProgress"]),
        (resizing("Deferred"), running(), ["no resize of web-a is waiting or under way"]),
        (with_resources("1m"), with_resources("2m"),
         ["container main of web-a now has requests 2m/-, limits 1/-"]),
        (with_sidecar("1m"), with_sidecar("2m"), ["container proxy of web-a now has requests 2m/-, limits 1/-"]),
        (pending(), with_resources("2m"), ["pod web-a started on node-1"]),
        (with_restarts(0, ""), with_restarts(1, "OOMKilled"),
         ["container main of web-a restarted after OOMKilled, 1 in all"]),
        (with_restarts(1, "Completed"), with_restarts(2, "Completed"), ["container main of web-a restarted, 2 in all"]),
    ],
)  # fmt: skip
def test_writes_to_pods(before: JsonObject | None, after: JsonObject | None, texts: list[str]) -> None:
    found = pod_happenings(change(before, after), AT)
    assert [one.text for one in found] == texts
    assert all(one.at == AT for one in found)


def test_a_pod_of_another_namespace_is_named_with_it() -> None:
    other = pod("web-a")
    assert isinstance(other["metadata"], dict)
    other["metadata"]["namespace"] = "team"
    assert pod_happenings(change(None, other), AT)[0].text == "pod team/web-a created on node-1"


def event(count: int = 1, message: str = "hello") -> JsonObject:
    involved = {"kind": "Pod", "name": "web-a", "namespace": "default"}
    return {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "R", "message": message, "count": count}


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [(None, event(), 1), (None, event(3), 3), (event(1), event(3), 2), (event(2), event(2), 0), (event(), None, 0)],
)
def test_writes_to_events(before: JsonObject | None, after: JsonObject | None, times: int) -> None:
    assert [one.text for one in event_happenings(change(before, after), AT)] == ["event R on Pod web-a: hello"] * times


def test_what_the_kubelet_adds_in_json_is_left_out() -> None:
    (told,) = event_happenings(change(None, event(message='Pod resize started: {"a":1}')), AT)
    assert told.text == "event R on Pod web-a: Pod resize started"


def test_writes_to_vpas() -> None:
    before, after = vpa(), vpa()
    texts = [one.text for one in vpa_happenings(change(None, after), AT)]
    assert texts == ["web: main should have 400m/100Mi (25m/- to 1/-)", "web: side should have 5m/- (-/- to -/-)"]
    assert vpa_happenings(change(before, after), AT) == []
    assert vpa_happenings(change(before, None), AT) == []


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        (b'{"event":"pod decided","level":"info","object":"Pod a/b","action":"evict","reason":"r","detail":""}',
         ["updater: evict Pod a/b: r"]),
        (b'{"event":"pod decided","level":"info","object":"Pod a/b","action":"skip","reason":"r","detail":"why"}',
         ["updater: skip Pod a/b: r (why)"]),
        (b'{"event":"round failed","level":"error","job":"j","exception":"x"}',
         ["updater: error: round failed: job j"]),
        (b'{"event":"slow","level":"warning"}', ["updater: warning: slow"]),
        (b'{"event":"caches filled","level":"info"}', []),
        (b"no structure", []),
    ],
)  # fmt: skip
def test_log_lines(line: bytes, texts: list[str]) -> None:
    assert [one.text for one in log_happenings("updater", LogLine.parse(line), AT)] == texts


def test_usage_is_given_in_the_notation_of_requests() -> None:
    usage = {"cpu": "499999999n", "memory": "104857600"}
    row: JsonObject = {
        "metadata": {"name": "web-a", "namespace": "default"},
        "containers": [{"name": "m", "usage": usage}],
    }
    (used,) = usage_happenings([row], AT)
    assert used.text == "container m of web-a uses 500m CPU, 100Mi memory"
    assert as_record(used) == {
        "at": 3.0, "what": "used", "pod": "web-a", "container": "m", "cpu": "500m", "memory": "100Mi",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("amounts", "text"),
    [({}, "-/-"), ({"cpu": "1"}, "1/-"), ({"memory": "1Mi", "cpu": "1", "gpu": 2}, "1/1Mi, gpu 2")],
)
def test_amounts_in_one_line(amounts: JsonObject, text: str) -> None:
    assert listed(amounts) == text


def test_a_chronicle_keeps_what_was_logged_before_what_it_led_to() -> None:
    clock = ManualClock()
    server = ApiServer(clock)
    for definition in definitions(ApiGroup.EVENKEEL).values():
        server.store.create(dict(definition))
    clock.advance(timedelta(minutes=1))
    chronicle = Chronicle(server)
    lines = [LogLine("info", "pod decided", {"object": "Pod a/b", "action": "evict", "reason": "r"})]

    def collect() -> None:
        while lines:
            chronicle.take_log("updater", lines.pop())

    chronicle.begin(collect)
    clock.advance(timedelta(seconds=5))
    server.store.create(pod("web-a"))
    chronicle.did("something")
    assert [(one.at.total_seconds(), one.text) for one in chronicle.news()] == [
        (5.0, "updater: evict Pod a/b: r"),
        (5.0, "pod web-a created on node-1"),
        (5.0, "pod web-a started on node-1"),
        (5.0, "scenario: something"),
    ]
    assert chronicle.news() == []
    chronicle.end()
    server.store.delete("v1", "Pod", "web-a", "default")
    assert chronicle.news() == []
