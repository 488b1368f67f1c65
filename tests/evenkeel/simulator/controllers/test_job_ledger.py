"""Each pod of a Job counts once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.controllers.job_ledger import INDEX_ANNOTATION, Ledger, Ledgers, index_of, tally
from evenkeel.simulator.controllers.pod_state import LONG_AGO

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str, phase: str = "Running", *, going: bool = False, index: str = "") -> Stored:
    metadata: JsonObject = {"name": name, "namespace": "d", "uid": name}
    metadata["ownerReferences"] = [{"uid": "job", "controller": True}]
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    if index:
        metadata["annotations"] = {INDEX_ANNOTATION: index}
    return Stored({"metadata": metadata, "status": {"phase": phase}}, 1)


@pytest.mark.parametrize(
    ("row", "stored", "counted"),
    [
        ("running", pod("a"), {}),
        ("succeeded", pod("a", "Succeeded"), {"succeeded": 1}),
        ("failed", pod("a", "Failed"), {"failed": 1}),
        ("going", pod("a", going=True), {"failed": 1}),
        ("going after success", pod("a", "Succeeded", going=True), {"succeeded": 1}),
    ],
)
def test_what_counts(row: str, stored: Stored, counted: JsonObject) -> None:
    ledger = Ledger()
    status = tally({}, [stored], ledger, NOW)
    assert status == counted, row
    assert tally({"status": status}, [stored], ledger, NOW) == counted, row


def test_a_pod_that_has_gone_before_it_was_looked_at_counts_too() -> None:
    ledgers = Ledgers()
    ledger = ledgers.of("job")
    ledgers.note(Change(ChangeType.MODIFIED, None, pod("x")))
    ledgers.note(Change(ChangeType.DELETED, None, pod("a")))
    ledgers.note(Change(ChangeType.DELETED, None, pod("b", "Succeeded")))
    assert tally({"status": {"failed": 4}}, [], ledger, NOW) == {"failed": 5, "succeeded": 1}
    ledgers.note(Change(ChangeType.DELETED, None, pod("a")))
    assert tally({"status": {"failed": 5}}, [], ledger, NOW) == {"failed": 5}
    ledgers.close("job")
    ledgers.note(Change(ChangeType.DELETED, None, pod("c")))
    assert ledgers.of("job").gone == []


def test_of_an_indexed_job_indexes_count() -> None:
    job: JsonObject = {"spec": {"completionMode": "Indexed"}, "status": {"completedIndexes": "0"}}
    pods = [pod("a", "Succeeded", index="0"), pod("b", "Succeeded", index="1"), pod("c", "Failed", index="2")]
    assert tally(job, pods, Ledger(), NOW) == {"completedIndexes": "0,1", "succeeded": 2, "failed": 1}
    assert (index_of(pods[0].body), index_of(pod("x").body)) == (0, None)


def test_failures_in_a_row_put_the_next_pod_off() -> None:
    ledger = Ledger()
    assert ledger.next_creation() == LONG_AGO
    tally({}, [pod("a", "Failed"), pod("b", "Failed")], ledger, NOW)
    assert ledger.next_creation() == NOW + timedelta(seconds=20)
    tally({}, [pod("c", "Succeeded")], ledger, NOW)
    assert ledger.next_creation() == LONG_AGO
