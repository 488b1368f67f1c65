"""What the strategies with states of their own recommend, by their definitions and slowly (spec: quality)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.interface import Usage

HOUR, DAY = 3600.0, 86400.0
WEEK = 7 * DAY
TINY = 1e-9
"""What is taken for rounding of floats, where a rank or a share is compared."""

Use = tuple[float, float]
"""When, and how much."""


@dataclass(frozen=True)
class Sample:
    """One step of a container alone."""

    seconds: float
    duration: float
    cpu: float
    memory: float


def usage(rows: Sequence[int], samples: Sequence[Sample]) -> Usage:
    """Return samples of some rows as a strategy is told of them."""

    def column(values: list[float]) -> NDArray[np.float64]:
        return np.array(values, dtype=np.float64)

    return Usage(
        np.array(rows, dtype=np.int64),
        column([each.seconds for each in samples]),
        column([each.duration for each in samples]),
        column([each.cpu for each in samples]),
        column([each.memory for each in samples]),
    )


def inside(used: Sequence[Use], begin: float, end: float) -> list[float]:
    """Return what was used after one moment, up to another."""
    first, last = (bisect_right(used, moment, key=lambda each: each[0]) for moment in (begin, end))
    return [amount for _, amount in used[first:last]]


def ranked(amounts: Sequence[float], share: float) -> float:
    """Return the amount of rank ⌈share · m⌉."""
    return sorted(amounts)[max(math.ceil(share * len(amounts) - TINY), 1) - 1]


def krr_cpu(used: Sequence[Use], now: float) -> float:
    return max(0.01, ranked(inside(used, now - 2 * WEEK, now), 0.95))


def krr_memory(used: Sequence[Use], now: float) -> float:
    return max(1e8, 1.15 * max(inside(used, now - 2 * WEEK, now)))


def faded_percentile(used: Sequence[tuple[float, float, float]], half_life: float, share: float, first: float) -> float:
    """Return the upper edge of the percentile's bucket of (when, how long, how much)."""
    end = used[-1][0]
    weights: dict[int, float] = {}
    for seconds, duration, amount in used:
        bucket = max(0, math.ceil(math.log(max(amount, first) / first) / math.log(1.02) - TINY))
        weights[bucket] = weights.get(bucket, 0.0) + duration * 2.0 ** ((seconds - end) / half_life)
    total, below = sum(weights.values()), 0.0
    for bucket in sorted(weights):
        below += weights[bucket]
        if below >= (share - TINY) * total:
            return float(first * 1.02**bucket)
    raise AssertionError(weights)


def autopilot(samples: Sequence[tuple[float, float, float]], now: float, rule: tuple[float, float, float]) -> float:
    """Return the target by (half-life, share, floor)."""
    half_life, share, floor = rule
    until = [end for end in range(1, len(samples) + 1) if samples[end - 1][0] > now - HOUR] or [len(samples)]
    found = max(faded_percentile(samples[:end], half_life, share, floor / 1.15) for end in until)
    return max(floor, 1.15 * found)


def weekly_cpu(used: Sequence[Use], now: float) -> float:
    weeks = [amount for week in range(1, 5) for amount in inside(used, now - week * WEEK, now - week * WEEK + HOUR)]
    seen = weeks or inside(used, now - DAY, now - DAY + HOUR) or [amount for _, amount in used]
    recent = inside(used, now - 2 * HOUR, now)
    return max(0.01, 1.15 * max(*seen, ranked(recent, 0.99) if recent else 0.0))


def weekly_memory(used: Sequence[Use], now: float) -> float:
    return max(1e7, 1.1 * max(inside(used, now - WEEK, now)))


def forecast(used: Sequence[Use], now: float) -> float:
    """Return the mean of the coming hour yesterday, or else of the last one."""
    hour = inside(used, now - DAY, now - DAY + HOUR) or inside(used, now - HOUR, now)
    return sum(hour) / len(hour)


def seasonal(used: Sequence[Use], now: float, share: float, floor: float) -> float:
    errors = [(seconds, amount - forecast(used, before)) for (before, _), (seconds, amount) in pairwise(used)]
    recent = inside(errors, now - WEEK, now)
    return max(floor, forecast(used, now) + (max(0.0, ranked(recent, share)) if recent else 0.0))


def expected(name: str, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the targets of CPU and memory after the last of some samples, which end at ascending times.

    Args:
        name: Of the strategy.
        samples: Of one container; of either resource there may be none.
    """
    now = samples[-1].seconds
    cpu = [(each.seconds, each.duration, each.cpu) for each in samples if not math.isnan(each.cpu)]
    memory = [(each.seconds, each.duration, each.memory) for each in samples if not math.isnan(each.memory)]
    cores, size = [(at, amount) for at, _, amount in cpu], [(at, amount) for at, _, amount in memory]
    found = {
        "krr-simple": (lambda: krr_cpu(cores, now), lambda: krr_memory(size, now)),
        "autopilot-like": (
            lambda: autopilot(cpu, now, (12 * HOUR, 0.95, 0.01)),
            lambda: autopilot(memory, now, (48 * HOUR, 0.98, 1e7)),
        ),
        "weekly-peak": (lambda: weekly_cpu(cores, now), lambda: weekly_memory(size, now)),
        "seasonal-naive": (lambda: seasonal(cores, now, 0.95, 0.01), lambda: seasonal(size, now, 0.99, 1e7)),
    }[name]
    return found[0]() if cores else math.nan, found[1]() if size else math.nan
