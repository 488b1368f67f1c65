"""Histogram rows to checkpoints and back.

A checkpoint keeps the whole weight in full precision and each bucket's share as a whole number of at most 10000.

Spec: recommender 1.4, 6.3, 6.4; api 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.errors import CheckpointError
from autoscaling.objectref import ObjectRef
from recommender.histogram_bank import HistogramBank
from recommender.instants import instant, moment
from recommender.strategies.interface import JsonObject

Integers = NDArray[np.int64]

VERSION: Final = "v3"
"""Changes with the bucket layout."""

BUCKET_COUNT: Final = 176
"""Buckets of either resource in this version."""

HEAVIEST: Final = 10000.0
_LARGEST_WEIGHT: Final = 2**32 - 1
_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True)
class HistogramCheckpoint:
    """One stored histogram.

    Args:
        reference: Instant at which weights count as they are; None for never.
        bucket_weights: Bucket to relative weight, 1 to 10000, ascending.
        total_weight: Sum of all weights.
    """

    reference: datetime | None = None
    bucket_weights: Mapping[int, int] = field(default_factory=dict)
    total_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class RunningWindow:
    """The memory window of one pod's container that still ran when its checkpoint was written (beyond B-2).

    Args:
        pod: Name of the pod.
        peak: Bytes that stand for the window: its largest use, or the need that an OOM kill showed.
        usage_peak: Bytes of its last peak of use; 0 for none.
        end: When it ends.
        last_sample: When memory was last seen.
    """

    pod: str
    peak: int
    usage_peak: int
    end: datetime | None
    last_sample: datetime | None


@dataclass(frozen=True, slots=True)
class StrategyRecord:
    """What a strategy has kept of one container (beyond B-10).

    Args:
        name: Name of the strategy.
        state: A JSON object in the strategy's own form.
    """

    name: str
    state: JsonObject


@dataclass(frozen=True, slots=True)
class StoredState:
    """What has to be known of a stored checkpoint to annotate it.

    Args:
        resource_version: Of the object.
        is_annotated: Whether it has a map of annotations.
    """

    resource_version: str
    is_annotated: bool


@dataclass(frozen=True, slots=True)
class ContainerCheckpoint:
    """What is stored of one container of one VPA.

    Args:
        namespace: Namespace of the VPA and of the checkpoint object.
        vpa_name: ``spec.vpaObjectName``.
        container_name: ``spec.containerName``.
        cpu: None where the stored object has no such histogram.
        memory: Likewise.
        first_sample: Instant of the first CPU sample; None for never.
        last_sample: Instant of the last CPU sample; None for never.
        sample_count: Number of CPU samples.
        updated: When it was written; None where the stored object does not say.
        version: Layout of the histograms.
        windows: Windows that still ran, whose peaks the histogram lacks.
        strategy: What the VPA's strategy has kept, where it is another than vpa-default.
        stored_as: State of the stored object that this was read from; None for what was not read.
        object_name: Name of the object, where it is not upstream's, which joins the two names by a hyphen.
    """

    namespace: str
    vpa_name: str
    container_name: str
    cpu: HistogramCheckpoint | None
    memory: HistogramCheckpoint | None
    first_sample: datetime | None = None
    last_sample: datetime | None = None
    sample_count: int = 0
    updated: datetime | None = None
    version: str = VERSION
    windows: tuple[RunningWindow, ...] = ()
    strategy: StrategyRecord | None = None
    stored_as: StoredState | None = field(default=None, compare=False)
    object_name: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Name of the checkpoint object."""
        return self.object_name or f"{self.vpa_name}-{self.container_name}"

    @property
    def ref(self) -> ObjectRef:
        """The checkpoint's kind, namespace and name."""
        return ObjectRef("VerticalPodAutoscalerCheckpoint", self.namespace, self.name)


def encode_histograms(bank: HistogramBank, rows: Integers) -> list[HistogramCheckpoint]:
    """Return the stored form of each row.

    Args:
        bank: The histograms.
        rows: int64[n].

    Returns:
        n checkpoints in order; an empty histogram has no bucket weights.
    """
    result: list[HistogramCheckpoint] = []
    for start in range(0, len(rows), _CHUNK):
        result += _encode_chunk(bank, rows[start : start + _CHUNK])
    return result


def _encode_chunk(bank: HistogramBank, rows: Integers) -> list[HistogramCheckpoint]:
    used = bank.used_buckets(rows)
    within = np.where(bank.within_range(rows, used), bank.weights[rows, used], 0.0)
    heaviest = within.max(axis=1, initial=0.0)
    scale = HEAVIEST / np.where(heaviest > 0.0, heaviest, np.inf)
    relative = np.floor(within * scale[:, np.newaxis] + 0.5).astype(np.int64)
    owners, buckets = np.nonzero(relative)
    ends = np.cumsum(np.bincount(owners, minlength=len(rows))).tolist()
    names, weights = (buckets + used.start).tolist(), relative[owners, buckets].tolist()
    references = bank.references[rows].tolist()
    totals = bank.totals[rows].tolist()
    result, begin = [], 0
    for place, end in enumerate(ends):
        shares = dict(zip(names[begin:end], weights[begin:end], strict=True))
        result.append(HistogramCheckpoint(moment(references[place]), shares, totals[place]))
        begin = end
    return result


def check_histogram(stored: HistogramCheckpoint | None) -> HistogramCheckpoint:
    """Return a stored histogram if it can be loaded.

    Raises:
        CheckpointError: It is absent, its total is negative or no number, or a bucket or a weight is out of range.
    """
    if stored is None:
        raise CheckpointError("histogram is absent; delete the checkpoint to start anew")
    if not (stored.total_weight >= 0.0 and math.isfinite(stored.total_weight)):
        raise CheckpointError(f"totalWeight {stored.total_weight} is no weight; delete the checkpoint to start anew")
    for bucket, weight in stored.bucket_weights.items():
        if not 0 <= bucket < BUCKET_COUNT:
            raise CheckpointError(
                f"bucketWeights has bucket {bucket} of 0 to {BUCKET_COUNT - 1}; delete the checkpoint to start anew"
            )
        if not 0 <= weight <= _LARGEST_WEIGHT:
            raise CheckpointError(f"bucketWeights[{bucket}] is {weight}; delete the checkpoint to start anew")
    return stored


def decode_histograms(bank: HistogramBank, rows: Integers, stored: Sequence[HistogramCheckpoint]) -> None:
    """Load checked histograms into empty rows.

    Args:
        bank: The bank to load into.
        rows: int64[n], empty rows, each at most once.
        stored: n histograms that passed ``check_histogram``.
    """
    sizes = [len(histogram.bucket_weights) for histogram in stored]
    owners = np.repeat(np.arange(len(rows)), sizes)
    buckets = np.array([b for histogram in stored for b in histogram.bucket_weights], dtype=np.int64)
    relative = np.array([w for histogram in stored for w in histogram.bucket_weights.values()], dtype=np.float64)
    totals = np.array([histogram.total_weight for histogram in stored], dtype=np.float64)
    sums = np.bincount(owners, weights=relative, minlength=len(rows))
    share = totals / np.where(sums > 0.0, sums, np.inf)
    bank.references[rows] = np.array([instant(histogram.reference) for histogram in stored], dtype=np.int64)
    bank.totals[rows] = np.where(sums > 0.0, totals, 0.0)
    bank.weights[rows[owners], buckets] = relative * share[owners]
    bank.find_range(rows)
