"""Which aggregates are of no use any more.

Spec: recommender 3.4; beyond:B-19.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.cluster_model import INACTIVE, ClusterModel, NamespacedName
from recommender.container_table import NO_AGGREGATE
from recommender.instants import NEVER, elapsed, instant, nanoseconds
from recommender.label_sets import LabelSet, TrackedVpa
from recommender.owner_keys import is_of_runs

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_Place = tuple[LabelSet, str]
"""Label set and container name of an aggregate."""


def is_due(model: ClusterModel, now: datetime) -> bool:
    """Say whether it is time to collect: at once, then when a whole interval has passed."""
    if model.collected_at == NEVER:
        return True
    return instant(now) - model.collected_at >= nanoseconds(model.settings.garbage_interval)


def doubtful_vpas(model: ClusterModel) -> tuple[TrackedVpa, ...]:
    """Return the VPAs of which ``collect`` must know whether their controller exists.

    These select pods that have ended and whose containers have left no CPU sample. Of several VPAs that select a pod
    the first counts.
    """
    empty = _empty_places(model)
    doubtful: dict[TrackedVpa, None] = {}
    for pod in model.pods.values():
        if pod.phase in INACTIVE and pod.label_set.vpas and any((pod.label_set, name) in empty for name in pod.names):
            doubtful[next(iter(pod.label_set.vpas))] = None
    return tuple(doubtful)


def collect(model: ClusterModel, existing: Collection[NamespacedName], now: datetime) -> int:
    """Remove aggregates that are empty and contribute to nothing, or that have expired.

    Args:
        model: Changed.
        existing: VPAs out of ``doubtful_vpas`` whose controller exists.
        now: What ages are counted to.

    Returns:
        How many aggregates were removed.
    """
    places, rows = _places(model)
    gone = is_expired(model.aggregates, rows, _ends(model, places, rows, instant(now)))
    empty = are_empty(model.aggregates, rows)
    if empty.any():
        contributing = _contributing_places(model, existing)
        gone |= empty & ~np.array([place in contributing for place in places], dtype=np.bool_)
    # What an OOM kill has shown outlives the pod that showed it, which may never have had a sample.
    gone &= model.aggregates.oom_need_until[rows] <= instant(now)
    _remove(model, [places[i] for i in np.flatnonzero(gone)], rows[gone])
    model.collected_at = instant(now)
    return int(gone.sum())


def _ends(model: ClusterModel, places: list[_Place], rows: Integers, now: int) -> Integers:
    """Return the instants that ages are counted to, int64[n]: now, but for runs of Jobs that a VPA follows.

    A run may be due once a month only, and what the last one has shown sizes the next one. So there the last use of any
    container counts, and only what the runs have no more expires.
    """
    ends = np.full(len(rows), now, dtype=np.int64)
    if not model.settings.peaks_count_as_use:
        return ends
    last = np.minimum(_last_use(model.aggregates, rows), now)
    runs: dict[LabelSet, list[int]] = {}
    for place, (label_set, _) in enumerate(places):
        if label_set.vpas and is_of_runs(label_set.key):
            runs.setdefault(label_set, []).append(place)
    for of_set in runs.values():
        ends[of_set] = last[of_set].max()
    return ends


def _last_use(aggregates: AggregateTable, rows: Integers) -> Integers:
    """Return when each aggregate saw something that counts for the last time, int64[n], or was made."""
    last = aggregates.last_sample[rows]
    if aggregates.settings.peaks_count_as_use:
        last = np.maximum(last, aggregates.last_peak[rows])
    return np.where(are_empty(aggregates, rows), aggregates.created[rows], last)


def is_expired(aggregates: AggregateTable, rows: Integers, now: int | Integers) -> Flags:
    """Say which aggregates have seen nothing that counts for their whole time, or since their creation.

    Args:
        aggregates: The table.
        rows: int64[n].
        now: Instants that ages are counted to, one for all or int64[n].
    """
    age = elapsed(np.broadcast_to(now, len(rows)), _last_use(aggregates, rows))
    return age >= aggregates.interval[rows] * aggregates.interval_count[rows]


def are_empty(aggregates: AggregateTable, rows: Integers) -> Flags:
    """Say which aggregates have seen nothing that counts: no CPU sample, or where peaks count none of either.

    Args:
        aggregates: The table.
        rows: int64[n].

    Spec: recommender 3.4; beyond:B-19.
    """
    empty: Flags = aggregates.sample_count[rows] == 0
    if aggregates.settings.peaks_count_as_use:
        empty &= aggregates.last_peak[rows] == NEVER
    return empty


def _empty_places(model: ClusterModel) -> set[_Place]:
    places, rows = _places(model)
    return {places[i] for i in np.flatnonzero(are_empty(model.aggregates, rows))}


def _places(model: ClusterModel) -> tuple[list[_Place], Integers]:
    """Return where all aggregates are, and their rows."""
    places = [(label_set, name) for label_set in model.matching for name in label_set.aggregates]
    return places, np.array([label_set.aggregates[name] for label_set, name in places], dtype=np.int64)


def _contributing_places(model: ClusterModel, existing: Collection[NamespacedName]) -> set[_Place]:
    """Return the aggregates of containers in pods that run, or whose controller exists."""
    places: set[_Place] = set()
    for pod in model.pods.values():
        first = next(iter(pod.label_set.vpas), None)
        if pod.phase not in INACTIVE or (first is not None and first.key in existing):
            places.update((pod.label_set, name) for name in pod.names)
    return places


def _remove(model: ClusterModel, places: list[_Place], rows: Integers) -> None:
    """Take aggregates out of their label sets and VPAs; containers get new ones with their next sample."""
    containers = model.containers
    bound = np.isin(containers.aggregate, rows)
    held = np.unique(containers.aggregate[bound & containers.is_held], return_counts=True)
    model.orphans.update(zip(held[0].tolist(), held[1].tolist(), strict=True))
    containers.feed(bound & ~containers.is_held, NO_AGGREGATE)
    touched: dict[tuple[TrackedVpa, str], None] = {}
    for (label_set, name), row in zip(places, rows.tolist(), strict=True):
        del label_set.aggregates[name]
        touched.update(dict.fromkeys((tracked, name) for tracked in label_set.vpas))
        model.aggregates.detach(row)
        if row not in model.orphans:
            model.aggregates.release(row)
        model.matching.drop_if_unused(label_set)
    removed = set(rows.tolist())
    for tracked, name in touched:
        tracked.linked[name] = [row for row in tracked.linked[name] if row not in removed]
        if not tracked.linked[name]:
            del tracked.linked[name]
    model.links_version += len(places)
