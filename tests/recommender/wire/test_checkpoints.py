"""Checkpoint objects as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.runtime.api_group import ApiGroup
from recommender.checkpoint import (
    ContainerCheckpoint,
    HistogramCheckpoint,
    RunningWindow,
    StoredState,
    StrategyRecord,
)
from recommender.wire.checkpoints import checkpoint_json, checkpoint_patch, checkpoint_status_json, decode_checkpoint
from tests.builders import T0

CHECKPOINT = ContainerCheckpoint(
    namespace="ns",
    vpa_name="v",
    container_name="c",
    cpu=HistogramCheckpoint(T0, {16: 10000, 25: 5000, 36: 2500}, 0.7000000000000001),
    memory=HistogramCheckpoint(),
    first_sample=T0,
    last_sample=T0 + timedelta(days=2),
    sample_count=3,
    updated=T0 + timedelta(days=3),
)


def test_the_form_that_is_written() -> None:
    assert checkpoint_json(CHECKPOINT, "autoscaling.k8s.io/v1") == {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscalerCheckpoint",
        "metadata": {"name": "v-c", "namespace": "ns"},
        "spec": {"vpaObjectName": "v", "containerName": "c"},
        "status": {
            "lastUpdateTime": "2026-01-04T00:00:00Z",
            "version": "v3",
            "cpuHistogram": {
                "referenceTimestamp": "2026-01-01T00:00:00Z",
                "bucketWeights": {"16": 10000, "25": 5000, "36": 2500},
                "totalWeight": 0.7000000000000001,
            },
            "memoryHistogram": {"referenceTimestamp": None},
            "firstSampleStart": "2026-01-01T00:00:00Z",
            "lastSampleStart": "2026-01-03T00:00:00Z",
            "totalSamplesCount": 3,
        },
    }, "recommender:6.3"


def test_what_is_written_reads_back() -> None:
    written = json.dumps(checkpoint_json(CHECKPOINT, "autoscaling.evenkeel.dev/v1")).encode()
    assert decode_checkpoint(written) == CHECKPOINT


def test_empty_members_are_left_out() -> None:
    empty = ContainerCheckpoint("ns", "v", "c", cpu=None, memory=None)
    assert checkpoint_status_json(empty) == {
        "lastUpdateTime": None,
        "version": "v3",
        "cpuHistogram": {"referenceTimestamp": None},
        "memoryHistogram": {"referenceTimestamp": None},
        "firstSampleStart": None,
        "lastSampleStart": None,
    }


@pytest.mark.parametrize(
    ("row", "name", "kept"), [("recommender:13.10", "v-c", ""), ("recommender:13.10", "v-c-1a", "v-c-1a")]
)
def test_an_object_keeps_its_name(row: str, name: str, kept: str) -> None:
    body = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"vpaObjectName": "v", "containerName": "c"}}
    found = decode_checkpoint(json.dumps(body).encode())
    assert (found.name, found.object_name) == (name, kept), row
    assert checkpoint_json(found, f"{ApiGroup.EVENKEEL}/v1")["metadata"] == body["metadata"]


def test_an_object_without_status_has_no_histograms() -> None:
    bare = decode_checkpoint(b'{"metadata": {"name": "v-c", "namespace": "ns"}}')
    assert (bare.cpu, bare.memory, bare.version, bare.vpa_name) == (None, None, "", "")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            {"cpuHistogram": {"bucketWeights": {"x": 1}}},
            r"Checkpoint ns/v-c: field status\.cpuHistogram\.bucketWeights",
        ),
        ({"totalSamplesCount": "many"}, r"field status\.totalSamplesCount"),
        ({"firstSampleStart": "soon"}, r"field status\.firstSampleStart"),
    ],
)
def test_a_bad_checkpoint_is_named_with_the_field(status: dict[str, object], message: str) -> None:
    body = {"metadata": {"name": "v-c", "namespace": "ns"}, "status": status}
    with pytest.raises(InvalidObjectError, match=message):
        decode_checkpoint(json.dumps(body).encode())


def test_unreadable_json_is_an_error_too() -> None:
    with pytest.raises(InvalidObjectError, match="unreadable"):
        decode_checkpoint(b"[")


WINDOWED = replace(CHECKPOINT, windows=(RunningWindow("web-0", 5, 3, T0 + timedelta(days=1), T0),))


@pytest.mark.parametrize(
    ("row", "group"), [("beyond:B-2", "autoscaling.evenkeel.dev/v1"), ("beyond:B-2", "autoscaling.k8s.io/v1")]
)
def test_running_windows_read_back_from_either_place(row: str, group: str) -> None:
    written = json.dumps(checkpoint_json(WINDOWED, group)).encode()
    assert decode_checkpoint(written) == WINDOWED, row


def test_in_upstreams_group_the_status_is_upstreams() -> None:
    body = checkpoint_json(WINDOWED, "autoscaling.k8s.io/v1")
    assert body["status"] == checkpoint_json(CHECKPOINT, "autoscaling.k8s.io/v1")["status"], "beyond:B-2"


@pytest.mark.parametrize(
    ("stored", "paths"),
    [
        (None, ["/status"]),
        (StoredState("7", is_annotated=True), ["/status", "/metadata/annotations/evenkeel.dev~1state"]),
        (StoredState("7", is_annotated=False), ["/metadata/resourceVersion", "/metadata/annotations", "/status"]),
    ],
)
def test_the_patch_keeps_annotations_of_others(stored: StoredState | None, paths: list[str]) -> None:
    patch = checkpoint_patch(WINDOWED, "autoscaling.k8s.io/v1", stored)
    assert [operation["path"] for operation in patch if isinstance(operation, dict)] == paths, "beyond:B-2"
    assert len(checkpoint_patch(WINDOWED, "autoscaling.evenkeel.dev/v1", stored)) == 1
    assert len(checkpoint_patch(CHECKPOINT, "autoscaling.k8s.io/v1", stored)) == 1


@pytest.mark.parametrize("api_version", ["autoscaling.k8s.io/v1", "autoscaling.evenkeel.dev/v1"])
@pytest.mark.parametrize("is_annotated", [True, False])
def test_a_guarded_patch_is_refused_once_somebody_has_written_the_object(
    api_version: str, *, is_annotated: bool
) -> None:
    """Spec: beyond:B-1."""
    stored = StoredState("7", is_annotated=is_annotated)
    for checkpoint in (CHECKPOINT, WINDOWED):
        first, *others = checkpoint_patch(checkpoint, api_version, stored, is_guarded=True)
        assert first == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
        assert others
        assert first not in others
        assert first not in checkpoint_patch(checkpoint, api_version, None, is_guarded=True)


SEEN = replace(CHECKPOINT, strategy=StrategyRecord("peak", {"peaks": [1.5, None], "of": {"main": True}}))


def test_what_a_strategy_has_seen_is_a_field_of_the_own_group() -> None:
    """Spec: beyond:B-10."""
    whole = checkpoint_json(SEEN, "autoscaling.evenkeel.dev/v1")
    assert decode_checkpoint(json.dumps(whole).encode()) == SEEN
    (patch,) = checkpoint_patch(SEEN, "autoscaling.evenkeel.dev/v1", None)
    assert isinstance(patch, dict)
    assert patch["value"] == whole["status"]


def test_upstreams_group_has_no_such_field() -> None:
    """Spec: beyond:B-10."""
    assert checkpoint_json(SEEN, "autoscaling.k8s.io/v1") == checkpoint_json(CHECKPOINT, "autoscaling.k8s.io/v1")


@pytest.mark.parametrize("odd", [{}, {"name": "peak"}, {"state": {}}])
def test_half_a_record_keeps_no_histogram_from_being_read(odd: dict[str, object]) -> None:
    whole = checkpoint_json(CHECKPOINT, "autoscaling.evenkeel.dev/v1")
    status = whole["status"]
    assert isinstance(status, dict)
    found = decode_checkpoint(json.dumps({**whole, "status": {**status, "strategy": odd}}).encode())
    assert found.cpu == CHECKPOINT.cpu
