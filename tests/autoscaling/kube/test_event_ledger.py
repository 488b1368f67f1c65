"""Which events are written, and under which name."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.kube.event_ledger import EventDraft, EventKind, EventLedger, EventRecord, InvolvedObject
from autoscaling.objectref import ObjectRef
from tests.autoscaling.kube.clocks import T0

WEB = InvolvedObject(ObjectRef("Pod", "shop", "web"), "v1", "u-1", "7")
EVICTED = EventDraft(WEB, EventKind.NORMAL, "EvictedByVPA", "Pod was evicted.")


def at(seconds: float) -> tuple[datetime, float]:
    return T0 + timedelta(seconds=seconds), seconds


def test_the_first_event_is_written_and_its_repetitions_are_counted() -> None:
    ledger = EventLedger()
    first, second = ledger.enter(EVICTED, *at(0)), ledger.enter(EVICTED, *at(90))
    assert first is not None
    assert second is not None
    assert (first.count, first.first_text, first.last_text) == (1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    assert (second.count, second.first_text, second.last_text) == (2, "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z")
    assert (first.name, first.namespace) == (second.name, "shop")
    assert first.name.startswith("web.")


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (replace(EVICTED, involved=replace(WEB, resource_version="8")), True),
        (replace(EVICTED, involved=replace(WEB, uid="u-2")), False),
        (replace(EVICTED, involved=replace(WEB, field_path="spec.containers{a}")), False),
        (replace(EVICTED, kind=EventKind.WARNING), False),
        (replace(EVICTED, reason="InPlaceResizedByVPA"), False),
        (replace(EVICTED, message="Another text."), False),
    ],
)
def test_what_makes_two_events_one(other: EventDraft, is_same: bool) -> None:
    ledger = EventLedger()
    first, second = ledger.enter(EVICTED, *at(0)), ledger.enter(other, *at(0))
    assert first is not None
    assert second is not None
    assert (second.name == first.name, second.count == 2) == (is_same, is_same)


def test_an_object_has_a_burst_of_events_and_then_one_each_five_minutes() -> None:
    ledger = EventLedger()
    drafts = [replace(EVICTED, message=str(number)) for number in range(27)]
    written = [ledger.enter(draft, *at(0)) is not None for draft in drafts[:26]]
    assert written == [True] * 25 + [False]
    assert ledger.enter(drafts[26], *at(299.9)) is None
    assert ledger.enter(drafts[26], *at(300)) is not None
    other = replace(EVICTED, involved=replace(WEB, ref=ObjectRef("Pod", "shop", "db")))
    assert ledger.enter(other, *at(0)) is not None


def test_events_on_cluster_wide_objects_live_in_the_default_namespace() -> None:
    node = InvolvedObject(ObjectRef("Node", "", "n1"), "v1", "u")
    record = EventLedger().enter(replace(EVICTED, involved=node), *at(0))
    assert record is not None
    assert record.namespace == "default"


def test_a_forgotten_event_starts_anew() -> None:
    ledger = EventLedger()
    first = ledger.enter(EVICTED, *at(0))
    ledger.forget(EVICTED)
    again = ledger.enter(EVICTED, *at(1))
    assert first is not None
    assert again is not None
    assert (again.count, again.name == first.name) == (1, False)
    ledger.forget(replace(EVICTED, reason="Never"))


def test_memory_is_bounded_and_the_longest_unused_goes_first() -> None:
    ledger = EventLedger(remembered=2)
    drafts = [replace(EVICTED, involved=replace(WEB, uid=uid)) for uid in "abc"]
    for draft in (*drafts[:2], drafts[0], drafts[2]):
        ledger.enter(draft, *at(0))
    counts = [
        record.count
        for record in (ledger.enter(draft, *at(1)) for draft in (drafts[0], drafts[2], drafts[1]))
        if record
    ]
    assert counts == [3, 2, 1]


@given(st.lists(st.sampled_from("abcde"), max_size=40))
def test_no_two_events_share_a_name(messages: list[str]) -> None:
    ledger = EventLedger()
    records: list[EventRecord] = []
    for message in messages:
        record = ledger.enter(replace(EVICTED, message=message), *at(0))
        records += [record] if record else []
    names = {record.draft.message: record.name for record in records}
    assert len(set(names.values())) == len(names)
