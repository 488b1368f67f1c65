"""VerticalPodAutoscalerCheckpoint objects as JSON, in the form both engines read and write (spec: api:2)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import cast

from pydantic import Field, JsonValue, ValidationError

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.wire.objects import Json, Wire, timestamp
from recommender.checkpoint import (
    BUCKET_COUNT,
    ContainerCheckpoint,
    HistogramCheckpoint,
    RunningWindow,
    StoredState,
    StrategyRecord,
)
from recommender.strategies.interface import JsonObject

STATE_ANNOTATION = "evenkeel.dev/state"
"""Holds the running windows of a checkpoint of upstream's group."""

_ESCAPED_ANNOTATION = STATE_ANNOTATION.replace("/", "~1")
_BUCKET_TEXTS = tuple(map(str, range(BUCKET_COUNT)))
_KIND = "VerticalPodAutoscalerCheckpoint"


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Histogram(Wire):
    reference_timestamp: datetime | None = None
    bucket_weights: dict[int, int] | None = None
    total_weight: float = 0.0

    def snapshot(self) -> HistogramCheckpoint:
        weights = self.bucket_weights or {}
        return HistogramCheckpoint(
            self.reference_timestamp, {bucket: weights[bucket] for bucket in sorted(weights)}, self.total_weight
        )


class _Window(Wire):
    pod: str
    peak_bytes: int
    usage_peak_bytes: int = 0
    window_end: datetime
    last_sample: datetime

    def snapshot(self) -> RunningWindow:
        return RunningWindow(self.pod, self.peak_bytes, self.usage_peak_bytes, self.window_end, self.last_sample)


class _Strategy(Wire):
    name: str = ""
    state: dict[str, JsonValue] = Field(default_factory=dict)

    def snapshot(self) -> StrategyRecord:
        return StrategyRecord(self.name, cast("JsonObject", self.state))


class _State(Wire):
    """The value of the annotation, for which the definition of upstream's group has no field."""

    last_update_time: datetime
    running_windows: list[_Window] = Field(default_factory=list)


class _Spec(Wire):
    vpa_object_name: str = ""
    container_name: str = ""


class _Status(Wire):
    cpu_histogram: _Histogram | None = None
    memory_histogram: _Histogram | None = None
    first_sample_start: datetime | None = None
    last_sample_start: datetime | None = None
    total_samples_count: int = 0
    last_update_time: datetime | None = None
    version: str = ""
    running_windows: list[_Window] | None = None
    strategy: _Strategy | None = None


class _Checkpoint(Wire):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = Field(default_factory=_Status)


class _Named(Wire):
    metadata: _Metadata = _Metadata()


def decode_checkpoint(raw: bytes) -> ContainerCheckpoint:
    """Read one checkpoint.

    Raises:
        InvalidObjectError: A field has a wrong type.
    """
    try:
        checkpoint = _Checkpoint.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidObjectError(
            _name(raw), f"field {where or '(whole object)'}: {first['msg']}", remedy="delete it; it is written anew"
        ) from error
    status = checkpoint.status
    found = ContainerCheckpoint(
        namespace=checkpoint.metadata.namespace,
        vpa_name=checkpoint.spec.vpa_object_name,
        container_name=checkpoint.spec.container_name,
        cpu=status.cpu_histogram.snapshot() if status.cpu_histogram else None,
        memory=status.memory_histogram.snapshot() if status.memory_histogram else None,
        first_sample=status.first_sample_start,
        last_sample=status.last_sample_start,
        sample_count=status.total_samples_count,
        updated=status.last_update_time,
        version=status.version,
        windows=_windows(checkpoint),
        strategy=status.strategy.snapshot() if status.strategy else None,
        stored_as=StoredState(checkpoint.metadata.resource_version, checkpoint.metadata.annotations is not None),
    )
    # Almost all are called as they would be in any case, and need no name of their own in memory.
    name = checkpoint.metadata.name
    return found if name == found.name else replace(found, object_name=name)


def _windows(checkpoint: _Checkpoint) -> tuple[RunningWindow, ...]:
    """Return the windows kept in the status or, if nobody has written the status since, in the annotation."""
    status = checkpoint.status
    if status.running_windows is not None:
        return tuple(window.snapshot() for window in status.running_windows)
    text = (checkpoint.metadata.annotations or {}).get(STATE_ANNOTATION)
    if text is None:
        return ()
    try:
        state = _State.model_validate_json(text)
    except ValidationError:
        # Whoever wrote that, the histograms are worth more than the window of a day.
        return ()
    if state.last_update_time != status.last_update_time:
        return ()
    return tuple(window.snapshot() for window in state.running_windows)


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _Named.model_validate_json(raw).metadata
    except ValidationError:
        return ObjectRef(_KIND, "", "(unreadable)")
    return ObjectRef(_KIND, metadata.namespace, metadata.name)


def checkpoint_status_json(checkpoint: ContainerCheckpoint) -> dict[str, Json]:
    """Return the whole ``status`` without running windows; empty members other than times are left out."""
    body: dict[str, Json] = {"lastUpdateTime": _time(checkpoint.updated)}
    if checkpoint.version:
        body["version"] = checkpoint.version
    body["cpuHistogram"] = _histogram_json(checkpoint.cpu or HistogramCheckpoint())
    body["memoryHistogram"] = _histogram_json(checkpoint.memory or HistogramCheckpoint())
    body["firstSampleStart"] = _time(checkpoint.first_sample)
    body["lastSampleStart"] = _time(checkpoint.last_sample)
    if checkpoint.sample_count:
        body["totalSamplesCount"] = checkpoint.sample_count
    return body


def checkpoint_patch(
    checkpoint: ContainerCheckpoint, api_version: str, stored: StoredState | None, *, is_guarded: bool = False
) -> list[Json]:
    """Return the JSON Patch that brings a stored checkpoint up to date.

    Running windows are a field of the own group's status, and an annotation in upstream's group, whose definition
    drops fields that it does not know (spec: beyond:B-2).

    Args:
        checkpoint: What to write.
        api_version: Group and version of the object.
        stored: Its state as last seen; None where it was not seen.
        is_guarded: Whether the patch fails where somebody has written the object since: what comes late, of a leader
            that leads no more, takes no history from what the next one has stored.
    """
    operations: list[Json] = [{"op": "replace", "path": "/status", "value": _status(checkpoint, api_version)}]
    if stored is None:
        return operations
    unchanged: Json = {"op": "test", "path": "/metadata/resourceVersion", "value": stored.resource_version}
    if is_guarded:
        operations.insert(0, unchanged)
    if not checkpoint.windows or _has_fields(api_version):
        return operations
    state = _state_text(checkpoint)
    if stored.is_annotated:
        return [*operations, {"op": "add", "path": f"/metadata/annotations/{_ESCAPED_ANNOTATION}", "value": state}]
    # The map is made only where there is still none, so that it takes no place of one made since.
    return [
        unchanged,
        {"op": "add", "path": "/metadata/annotations", "value": {STATE_ANNOTATION: state}},
        operations[-1],
    ]


def checkpoint_json(checkpoint: ContainerCheckpoint, api_version: str) -> dict[str, Json]:
    """Return a whole new checkpoint object."""
    metadata: dict[str, Json] = {"name": checkpoint.name, "namespace": checkpoint.namespace}
    if checkpoint.windows and not _has_fields(api_version):
        metadata["annotations"] = {STATE_ANNOTATION: _state_text(checkpoint)}
    return {
        "apiVersion": api_version,
        "kind": _KIND,
        "metadata": metadata,
        "spec": {"vpaObjectName": checkpoint.vpa_name, "containerName": checkpoint.container_name},
        "status": _status(checkpoint, api_version),
    }


def _has_fields(api_version: str) -> bool:
    """Say whether the object's definition has fields for running windows and states of strategies."""
    return api_version.partition("/")[0] != ApiGroup.UPSTREAM


def _status(checkpoint: ContainerCheckpoint, api_version: str) -> dict[str, Json]:
    body = checkpoint_status_json(checkpoint)
    if checkpoint.windows and _has_fields(api_version):
        body["runningWindows"] = _windows_json(checkpoint)
    if checkpoint.strategy is not None and _has_fields(api_version):
        body["strategy"] = {"name": checkpoint.strategy.name, "state": dict(checkpoint.strategy.state)}
    return body


def _state_text(checkpoint: ContainerCheckpoint) -> str:
    """Return the annotation's value, which counts only as long as the status has the same time."""
    state = {"lastUpdateTime": _time(checkpoint.updated), "runningWindows": _windows_json(checkpoint)}
    return json.dumps(state, separators=(",", ":"))


def _windows_json(checkpoint: ContainerCheckpoint) -> list[Json]:
    return [
        {
            "pod": window.pod,
            "peakBytes": window.peak,
            "usagePeakBytes": window.usage_peak,
            "windowEnd": _time(window.end),
            "lastSample": _time(window.last_sample),
        }
        for window in checkpoint.windows
    ]


def _histogram_json(histogram: HistogramCheckpoint) -> dict[str, Json]:
    """Return one histogram."""
    body: dict[str, Json] = {"referenceTimestamp": _time(histogram.reference)}
    if histogram.bucket_weights:
        weights = histogram.bucket_weights
        body["bucketWeights"] = dict(zip(map(_BUCKET_TEXTS.__getitem__, weights), weights.values(), strict=True))
    if histogram.total_weight:
        body["totalWeight"] = histogram.total_weight
    return body


@lru_cache(maxsize=4096)
def _time(moment: datetime | None) -> str | None:
    """Return a time, null for none; checkpoints of one round share few."""
    return None if moment is None else timestamp(moment)
