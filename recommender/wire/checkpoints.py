"""VerticalPodAutoscalerCheckpoint objects as JSON, in the form both engines read and write (spec: api:2)."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, ValidationError

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.wire.objects import Json, Wire, timestamp
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint

_KIND = "VerticalPodAutoscalerCheckpoint"


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""


class _Histogram(Wire):
    reference_timestamp: datetime | None = None
    bucket_weights: dict[int, int] | None = None
    total_weight: float = 0.0

    def snapshot(self) -> HistogramCheckpoint:
        weights = self.bucket_weights or {}
        return HistogramCheckpoint(
            self.reference_timestamp, {bucket: weights[bucket] for bucket in sorted(weights)}, self.total_weight
        )


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
    return ContainerCheckpoint(
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
    )


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _Named.model_validate_json(raw).metadata
    except ValidationError:
        return ObjectRef(_KIND, "", "(unreadable)")
    return ObjectRef(_KIND, metadata.namespace, metadata.name)


def checkpoint_status_json(checkpoint: ContainerCheckpoint) -> dict[str, Json]:
    """Return the whole ``status``; empty members other than times are left out."""
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


def checkpoint_json(checkpoint: ContainerCheckpoint, api_version: str) -> dict[str, Json]:
    """Return a whole new checkpoint object."""
    return {
        "apiVersion": api_version,
        "kind": _KIND,
        "metadata": {"name": checkpoint.name, "namespace": checkpoint.namespace},
        "spec": {"vpaObjectName": checkpoint.vpa_name, "containerName": checkpoint.container_name},
        "status": checkpoint_status_json(checkpoint),
    }


def _histogram_json(histogram: HistogramCheckpoint) -> dict[str, Json]:
    """Return one histogram."""
    body: dict[str, Json] = {"referenceTimestamp": _time(histogram.reference)}
    if histogram.bucket_weights:
        body["bucketWeights"] = {str(bucket): weight for bucket, weight in histogram.bucket_weights.items()}
    if histogram.total_weight:
        body["totalWeight"] = histogram.total_weight
    return body


def _time(moment: datetime | None) -> str | None:
    """Return a time, null for none."""
    return None if moment is None else timestamp(moment)
