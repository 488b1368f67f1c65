"""Usage of now from Prometheus: what is new since the last round, without a gap and without an overlap.

Spec: beyond B-44.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.cluster_model import ClusterModel
from recommender.history.pieces import MILLISECOND, Span
from recommender.history.points import Points, Screened
from recommender.history.series import ContainerKey
from recommender.instants import NEVER, SECOND, nanoseconds
from recommender.usage_table import UsageTable

Integers = NDArray[np.int64]

MOST_SAMPLES: Final = 1440
"""Samples of one container that a gap is filled with at most; in a longer gap each stands for more time."""

SHORTEST_RATE: Final = timedelta(minutes=2)
"""Time that a rate of CPU is told from at least: two points of a series that is measured every minute."""

NOTHING_USED: Final = UsageTable([], [], [], np.empty(0, np.int64), [], np.empty(0, np.int64), np.empty(0, np.int64))
_NO_SAMPLE: Final = -1
_SHORTEST: Final = SECOND


@dataclass(frozen=True, slots=True)
class Tiles:
    """Windows of equal length that cover the time between two rounds.

    Args:
        span: Their ends.
    """

    span: Span

    @property
    def window(self) -> str:
        """Their length, as Prometheus writes it."""
        return f"{self.span.step // MILLISECOND}ms"

    @property
    def rate_window(self) -> str:
        """Time that a rate of CPU is told from."""
        return f"{max(self.span.step, nanoseconds(SHORTEST_RATE)) // MILLISECOND}ms"


def tiles(until: int, now: int, interval: timedelta) -> Tiles | None:
    """Cover the time since the last round.

    Args:
        until: Up to when usage has been counted, nanoseconds since the epoch.
        now: The present.
        interval: Time that a sample is to stand for.

    Returns:
        None where next to no time has passed.
    """
    end = now - now % MILLISECOND
    gap = end - until
    if gap < _SHORTEST:
        return None
    count = min(MOST_SAMPLES, max(1, round(gap / nanoseconds(interval))))
    step = gap // count // MILLISECOND * MILLISECOND
    return Tiles(Span(end - (count - 1) * step, step, count))


def counted_until(model: ClusterModel, now: int, furthest: timedelta) -> int:
    """Return up to when what a model has been loaded with has counted usage.

    Args:
        model: With its checkpoints or history.
        now: The present, nanoseconds since the epoch.
        furthest: How far back usage is asked for at most.

    Returns:
        The latest sample of all, or one minute ago where there is none.
    """
    aggregates = model.aggregates
    latest = int(aggregates.last_sample[: aggregates.rows.end].max(initial=NEVER))
    return now - 60 * SECOND if latest == NEVER else max(latest, now - nanoseconds(furthest))


def usage_table(keys: Mapping[ContainerKey, int], points: Screened, span: Span) -> UsageTable:
    """Return the samples of a piece as the metrics API would tell them, the oldest first.

    A resource without a point has a negative amount there, which counts for nothing.
    """
    order = sorted(keys)
    cpu = _grid(points.cpu, keys, span, MILLICORES_PER_CORE)
    memory = _grid(points.memory, keys, span, 1.0)
    pods = [(pod, [keys[key] for key in group]) for pod, group in groupby(order, key=lambda key: key[:2])]
    names = {number: key[2] for key, number in keys.items()}
    rows = [
        (number, pod, [owner for owner in owners if max(cpu[owner, number], memory[owner, number]) != _NO_SAMPLE])
        for number in range(span.count)
        for pod, owners in pods
    ]
    rows = [row for row in rows if row[2]]
    owners = np.array([owner for _, _, some in rows for owner in some], dtype=np.int64)
    places = np.repeat(np.array([number for number, _, _ in rows], dtype=np.int64), [len(some) for _, _, some in rows])
    return UsageTable(
        [pod[0] for _, pod, _ in rows],
        [pod[1] for _, pod, _ in rows],
        [len(some) for _, _, some in rows],
        np.array([span.start + number * span.step for number, _, _ in rows], dtype=np.int64),
        [names[owner] for owner in owners.tolist()],
        cpu[owners, places],
        memory[owners, places],
    )


def seen_alive(points: Screened, span: Span) -> Screened:
    """Leave out CPU of containers without memory at the same instant.

    A rate tells of a longer time than the window it stands for, so it goes on a little after its container.
    """
    alive = np.isin(points.cpu.cells(span), points.memory.cells(span))
    return Screened(points.cpu.select(alive), points.memory)


def _grid(points: Points, keys: Mapping[ContainerKey, int], span: Span, per_unit: float) -> Integers:
    """Return points as amounts, int64[containers, instants], negative where there is none."""
    amounts = np.full((len(keys), span.count), _NO_SAMPLE, dtype=np.int64)
    places = (points.instants - span.start + span.step // 2) // span.step
    amounts[points.owners, places] = truncated(points.values * per_unit)
    return amounts
