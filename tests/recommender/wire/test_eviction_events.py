"""Eviction events as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from recommender.oom import OomRecord
from recommender.wire.eviction_events import decode_eviction
from tests.builders import T0


def event(annotations: dict[str, str] | None, *, reason: str = "Evicted", kind: str = "Pod") -> bytes:
    return json.dumps(
        {
            "metadata": {
                "name": "e",
                "namespace": "ns",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": annotations,
            },
            "involvedObject": {"kind": kind, "namespace": "ns", "name": "p"},
            "reason": reason,
        },
    ).encode()


def told(offenders: str, usage: str, starved: str) -> dict[str, str]:
    return {
        "offending_containers": offenders,
        "offending_containers_usage": usage,
        "starved_resource": starved,
    }


@pytest.mark.parametrize(
    ("row", "raw", "records"),
    [
        (
            "recommender:8.3 memory only",
            event(told("a,b", "100Mi,2", "memory,ephemeral-storage")),
            (OomRecord("ns", "p", "a", T0, 104857600),),
        ),
        ("recommender:8.3 rounded up", event(told("a", "1500m", "memory")), (OomRecord("ns", "p", "a", T0, 2),)),
        ("recommender:8.3 other reason", event(told("a", "1", "memory"), reason="Killed"), ()),
        ("recommender:8.3 other kind", event(told("a", "1", "memory"), kind="Node"), ()),
        ("recommender:8.3 nothing told", event(None), ()),
    ],
)
def test_evictions_for_want_of_memory(row: str, raw: bytes, records: tuple[OomRecord, ...]) -> None:
    assert decode_eviction(raw) == records, row


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (event(told("a,b", "1", "memory")), "Event ns/e: .*one entry for each container"),
        (event({"offending_containers": "a"}), "Event ns/e: .*one entry for each container"),
        (event(told("a", "much", "memory")), "Event ns/e: quantity 'much'"),
        (b"{", "unreadable"),
    ],
)
def test_malformed_events_are_named(raw: bytes, message: str) -> None:
    with pytest.raises(InvalidObjectError, match=message):
        decode_eviction(raw)
