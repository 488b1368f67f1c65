"""History of VPAs to checkpoints and back: what is due, what is written, what is loaded.

Spec: recommender 6.3, 6.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from autoscaling.errors import CheckpointError
from autoscaling.objectref import ObjectRef
from recommender.aggregation import MEMORY_PEAK_WEIGHT
from recommender.buckets import MEMORY_BUCKETS
from recommender.checkpoint import (
    VERSION,
    ContainerCheckpoint,
    HistogramCheckpoint,
    check_histogram,
    decode_histograms,
    encode_histograms,
)
from recommender.cluster_model import ClusterModel
from recommender.grouping import merge_members, merged_samples
from recommender.histogram_bank import WeightChanges
from recommender.instants import LATEST, instant, moment
from recommender.label_sets import TrackedVpa
from recommender.running_windows import Running, WindowIndex, kept_windows, take_up_windows
from recommender.status import FETCHING_HISTORY, is_active

Integers = NDArray[np.int64]

_CHUNK = 1024


def checkpoint_order(model: ClusterModel) -> list[TrackedVpa]:
    """Return the VPAs to be written, the one written longest ago first; those still fetching history are left out."""
    vpas = (tracked for tracked in model.vpas.values() if not is_active(tracked.vpa, FETCHING_HISTORY))
    return sorted(vpas, key=lambda tracked: tracked.checkpoint_written)


def checkpoints_of(
    model: ClusterModel,
    vpas: Sequence[TrackedVpa],
    now: datetime,
    *,
    keep_windows: bool = False,
    running: WindowIndex | None = None,
) -> list[tuple[ContainerCheckpoint, ...]]:
    """Return the checkpoints of each VPA, containers that are switched off included.

    The peak of a memory window that still runs is left out, or it would count twice once the window has ended.

    Args:
        model: Reference times of aggregates may move on.
        vpas: The VPAs.
        now: Time of writing.
        keep_windows: Whether the windows that still run are written beside the histograms (beyond B-2).
        running: The windows that run at that time, for those who ask for several lots of VPAs; else they are found.
    """
    index = WindowIndex.of(model, instant(now)) if running is None else running
    lots = [vpas[begin : begin + _CHUNK] for begin in range(0, len(vpas), _CHUNK)]
    return [each for lot in lots for each in _checkpoints_of_lot(model, lot, index, now, keep_windows=keep_windows)]


def _checkpoints_of_lot(
    model: ClusterModel, vpas: Sequence[TrackedVpa], index: WindowIndex, now: datetime, *, keep_windows: bool
) -> list[tuple[ContainerCheckpoint, ...]]:
    groups, aggregates = model.groups().of_vpas(vpas), model.aggregates
    everyone = np.arange(len(groups))
    cpu = merge_members(aggregates.cpu, groups.members, groups.starts, groups.sizes)
    memory = merge_members(aggregates.memory, groups.members, groups.starts, groups.sizes)
    running = index.of_groups(groups)
    memory.apply(_peaks_of(model, running))
    windows = kept_windows(model, running, len(groups)) if keep_windows else [()] * len(groups)
    columns = zip(
        groups.names,
        encode_histograms(cpu, everyone),
        encode_histograms(memory, everyone),
        *(column.tolist() for column in merged_samples(aggregates, groups)),
        windows,
        strict=True,
    )
    owners = np.repeat(np.arange(len(vpas)), np.diff(groups.bounds)).tolist()
    stored = [
        ContainerCheckpoint(
            vpas[owner].vpa.namespace,
            vpas[owner].vpa.name,
            name,
            cpu_histogram,
            memory_histogram,
            moment(first),
            moment(last),
            count,
            now,
            windows=kept,
        )
        for owner, (name, cpu_histogram, memory_histogram, first, last, count, kept) in zip(
            owners, columns, strict=True
        )
    ]
    return [tuple(stored[begin:end]) for begin, end in pairwise(groups.bounds.tolist())]


def _peaks_of(model: ClusterModel, running: Running) -> WeightChanges:
    """Return what takes the peaks of running windows out of merged groups."""
    return WeightChanges(
        running.groups,
        MEMORY_BUCKETS.bucket_of_amounts(model.containers.peak[running.containers]),
        MEMORY_PEAK_WEIGHT,
        model.containers.window_end[running.containers],
        np.ones(len(running.groups), dtype=np.bool_),
    )


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A checkpoint that was left out.

    Args:
        checkpoint: The object.
        error: Why it cannot be loaded.
    """

    checkpoint: ObjectRef
    error: CheckpointError


def load_checkpoints(
    model: ClusterModel, stored: Iterable[ContainerCheckpoint], now: datetime, *, keep_windows: bool = False
) -> tuple[LoadFailure, ...]:
    """Load checkpoints as initial history of their VPAs.

    Args:
        model: Its VPAs take the history.
        stored: The checkpoints; of two of one container the later counts.
        now: Creation time of the loaded aggregates.
        keep_windows: Whether windows that were written beside the histograms go on; the pods must be known by now.

    Returns:
        What could not be loaded; the others are loaded all the same.
    """
    failures: list[LoadFailure] = []
    loaded: dict[int, tuple[HistogramCheckpoint, HistogramCheckpoint]] = {}
    sources: dict[int, ContainerCheckpoint] = {}
    for checkpoint in stored:
        try:
            tracked, cpu, memory = _checked(model, checkpoint)
        except CheckpointError as error:
            failures.append(LoadFailure(checkpoint.ref, error))
            continue
        loaded.pop(tracked.initial.get(checkpoint.container_name, -1), None)
        row = model.set_initial(tracked, checkpoint.container_name, now)
        loaded[row], sources[row] = (cpu, memory), checkpoint
        first = checkpoint.first_sample
        model.aggregates.first_sample[row] = LATEST if first is None else instant(first)
        model.aggregates.last_sample[row] = instant(checkpoint.last_sample)
        model.aggregates.sample_count[row] = checkpoint.sample_count
    rows = np.array(list(loaded), dtype=np.int64)
    decode_histograms(model.aggregates.cpu, rows, [cpu for cpu, _ in loaded.values()])
    decode_histograms(model.aggregates.memory, rows, [memory for _, memory in loaded.values()])
    if keep_windows:
        take_up_windows(model, [(row, sources[row]) for row in loaded])
    return tuple(failures)


def _checked(
    model: ClusterModel, checkpoint: ContainerCheckpoint
) -> tuple[TrackedVpa, HistogramCheckpoint, HistogramCheckpoint]:
    """Return the VPA and the histograms of a checkpoint.

    Raises:
        CheckpointError: Its VPA is unknown, its version is another one, or a histogram cannot be loaded.
    """
    tracked = model.vpas.get((checkpoint.namespace, checkpoint.vpa_name))
    if tracked is None:
        raise CheckpointError(f"no VPA {checkpoint.vpa_name!r} is served in its namespace; delete it if that is gone")
    if checkpoint.version != VERSION:
        raise CheckpointError(f"version {checkpoint.version!r} is not {VERSION!r}; delete it to start anew")
    return tracked, check_histogram(checkpoint.cpu), check_histogram(checkpoint.memory)
