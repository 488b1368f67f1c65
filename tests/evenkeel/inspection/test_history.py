"""Changes as Events and logs tell of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.objectref import ObjectRef
from autoscaling.target_resources import ContainerTarget
from evenkeel.inspection.history import (
    PastChange,
    Source,
    ToldEvent,
    history,
    history_table,
    of_event,
    of_log_entry,
)
from tests.builders import T0, amounts, container, pod, recommended, vpa
from updater.audit import Audit
from updater.decision import Reason

WEB = ObjectRef("Pod", "default", "web-0")
AUDIT = Audit(
    pod(container("web", "100m/100Mi"), container("side", "10m/-"), name="web-0"),
    (
        ContainerTarget(amounts("250m/100Mi")),
        ContainerTarget(amounts("20m/-")),
    ),
    vpa(recommended("web", "250m/100Mi")),
)
TOLD = AUDIT.told("Resize requested", Reason.OUTSIDE_BOUNDS.meaning)
RESIZED = ToldEvent(T0, WEB, "InPlaceResizedByVPA", TOLD, 1)
ENTRY: dict[str, object] = {
    "event": "pod changed",
    "object": "Pod default/web-0",
    "vpa": "VerticalPodAutoscaler default/web",
    "action": "resize",
    "reason": "outside_bounds",
    "changes": ["web cpu 100m→250m", "side cpu 10m→20m"],
    "digest": AUDIT.digest(),
    "timestamp": "2026-01-01T00:00:02.000000Z",
}


def test_an_event_as_the_updater_words_it_is_read_back() -> None:
    """beyond:B-42."""
    read = of_event(RESIZED, {WEB: "web"})
    assert read is not None
    assert read.changes == AUDIT.by_container() == ("web cpu 100m→250m", "side cpu 10m→20m")
    assert read.reason == Reason.OUTSIDE_BOUNDS.meaning
    assert (read.digest, read.vpa, read.action, read.source) == (AUDIT.digest(), "web", "resize", Source.EVENT)


@pytest.mark.parametrize("reason", list(Reason), ids=[reason.value for reason in Reason])
def test_every_reason_is_read_back(reason: Reason) -> None:
    """beyond:B-42."""
    event = replace(RESIZED, reason="EvictedByVPA", message=AUDIT.told("Evicted", reason.meaning))
    read = of_event(event, {})
    assert read is not None
    assert (read.action, read.reason, read.digest) == ("evict", reason.meaning, AUDIT.digest())


EVENTS = [
    ("beyond:B-42 no audit", "Evicted: The reason.", ((), "The reason.", "")),
    ("beyond:B-42 upstream's words", "Pod was resized", ((), "Pod was resized", "")),
    ("beyond:B-42 no digest", "Evicted: web cpu 1→2. The reason.", (("web cpu 1→2",), "The reason.", "")),
]


@pytest.mark.parametrize(("row", "message", "expected"), EVENTS, ids=[row[0] for row in EVENTS])
def test_events_in_other_words(row: str, message: str, expected: object) -> None:
    read = of_event(replace(RESIZED, message=message), {})
    assert read is not None
    assert (read.changes, read.reason, read.digest) == expected


def test_other_events_are_none() -> None:
    assert of_event(replace(RESIZED, reason="Scheduled"), {}) is None


LINES = [
    ("beyond:B-42", {}, True),
    ("beyond:B-42 another event", {"event": "pod decided"}, False),
    ("beyond:B-42 no pod", {"object": "VerticalPodAutoscaler default/web"}, False),
    ("beyond:B-42 no name", {"object": 3}, False),
    ("beyond:B-42 no time", {"timestamp": "soon"}, False),
    ("beyond:B-42 no zone", {"timestamp": "2026-01-01T00:00:02"}, False),
]


@pytest.mark.parametrize(("row", "changed", "is_change"), LINES, ids=[row[0] for row in LINES])
def test_lines_of_the_log(row: str, changed: dict[str, object], is_change: bool) -> None:
    read = of_log_entry(ENTRY | changed)
    assert (read is not None) is is_change
    if read is not None:
        assert (read.pod, read.vpa, read.at) == (WEB, "web", T0 + timedelta(seconds=2))


def logged() -> PastChange:
    read = of_log_entry(ENTRY)
    assert read is not None
    return read


def seen(**changed: object) -> PastChange:
    read = of_event(RESIZED, {})
    assert read is not None
    return replace(read, **changed)  # type: ignore[arg-type]


TWICE = [
    ("beyond:B-42 the same", seen(), 1),
    ("beyond:B-42 at the edge", seen(at=T0 - timedelta(seconds=3)), 1),
    ("beyond:B-42 beyond the edge", seen(at=T0 - timedelta(seconds=4)), 2),
    ("beyond:B-42 other digest", seen(digest="x"), 2),
    ("beyond:B-42 other action", seen(action="evict"), 2),
    ("beyond:B-42 other pod", seen(pod=ObjectRef("Pod", "default", "web-1")), 2),
    ("beyond:B-42 counted", seen(count=2), 2),
]


@pytest.mark.parametrize(("row", "event", "length"), TWICE, ids=[row[0] for row in TWICE])
def test_a_change_told_of_twice_is_one(row: str, event: PastChange, length: int) -> None:
    changes = history((event, logged()))
    assert len(changes) == length
    assert Source.LOG in {change.source for change in changes}
    assert list(changes) == sorted(changes, key=lambda change: change.at)


def test_other_namespaces_are_left_out() -> None:
    assert history((seen(), logged()), "shop") == ()


def test_the_table_has_a_row_for_each_change() -> None:
    table = history_table((seen(count=3), logged()))
    assert [row[4] for row in table.rows] == ["resize (3 times)", "resize"]
    assert [row[3] for row in table.rows] == ["-", "web"]
    assert table.rows[0][5] == "web cpu 100m→250m; side cpu 10m→20m"
