"""Percentile, safety margin, confidence, minimum: target, lower and upper bound of every container at once.

Every step ends in a whole amount.

Spec: recommender 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.amounts import MILLICORES_PER_CORE, scaled, truncated
from recommender.floats import power_each
from recommender.grouping import Groups, MergedUsage
from recommender.instants import MINUTE, elapsed, nanoseconds
from recommender.settings import EstimatorSettings

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TARGET: Final = 0
LOWER_BOUND: Final = 1
UPPER_BOUND: Final = 2

_UPPER_MULTIPLIER: Final = 1.0
_UPPER_EXPONENT: Final = 1.0
_LOWER_MULTIPLIER: Final = 0.001
_LOWER_EXPONENT: Final = -2.0
_BYTES_PER_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Estimates:
    """Amounts for groups of containers; the first axis is ``TARGET``, ``LOWER_BOUND``, ``UPPER_BOUND``.

    Args:
        cpu: int64[3, groups], millicores.
        memory: int64[3, groups], bytes.
    """

    cpu: Integers
    memory: Integers


def confidence(first: Integers, last: Integers, count: Integers | Floats, interval: timedelta) -> Floats:
    """Return how much history there is: 1.0 for one interval of one CPU sample a minute.

    Args:
        first: int64[n], instant of the first sample, ``NEVER`` for none.
        last: int64[n], instant of the last sample, ``NEVER`` for none.
        count: int64[n] or float64[n], samples of a minute.
        interval: History that counts as 1.

    Returns:
        float64[n]; 0.0 for none or one sample.
    """
    length = nanoseconds(interval)
    minutes = float(length // MINUTE) + float(length % MINUTE) / MINUTE
    return np.minimum(elapsed(last, first) / length, count / minutes)


def bounds(base: Integers, margin_fraction: float, sure: Floats, minimum: Integers) -> Integers:
    """Return target, lower and upper bound of one resource.

    Args:
        base: int64[3, n], the percentiles as amounts.
        margin_fraction: Share added to each.
        sure: float64[n], confidence: widens the bounds when small.
        minimum: int64[n], least amount, applied last.

    Returns:
        int64[3, n], in the unit of ``base``.
    """
    raised = base + scaled(base, margin_fraction)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = power_each(1.0 + _LOWER_MULTIPLIER / sure, _LOWER_EXPONENT)
        upper = power_each(1.0 + _UPPER_MULTIPLIER / sure, _UPPER_EXPONENT)
    raised[LOWER_BOUND] = scaled(raised[LOWER_BOUND], lower)
    raised[UPPER_BOUND] = scaled(raised[UPPER_BOUND], upper)
    np.maximum(raised, minimum, out=raised)
    return raised


def container_minimum(pod_minimum: float, containers: Integers) -> Integers:
    """Return each container's share of the pod's minimum.

    Args:
        pod_minimum: Millicores or bytes.
        containers: int64[n], containers to share it, at least 1.

    Returns:
        int64[n], in the unit of ``pod_minimum``.
    """
    return scaled(truncated(np.full(len(containers), pod_minimum)), 1.0 / containers)


@dataclass(frozen=True, slots=True)
class Minimums:
    """Least amounts of groups of containers.

    Args:
        cpu: int64[groups], millicores.
        memory: int64[groups], bytes.
    """

    cpu: Integers
    memory: Integers


def minimums(groups: Groups, settings: EstimatorSettings) -> Minimums:
    """Return each group's share of the least amounts of a pod, as its VPA's strategy has them."""
    sharing = np.maximum(groups.scaled_in_vpa, 1)
    least = shares(sharing, settings)
    for adjusted, places in groups.choice.adjusted:
        other = shares(sharing[places], adjusted(settings))
        least.cpu[places], least.memory[places] = other.cpu, other.memory
    return least


def shares(sharing: Integers, settings: EstimatorSettings) -> Minimums:
    """Return each container's share of the least amounts of a pod.

    Args:
        sharing: int64[n], containers that share them, itself included.
        settings: Tells the amounts.
    """
    pod_cpu = float(truncated(np.array([settings.pod_minimum_cpu_millicores * 0.001 * MILLICORES_PER_CORE]))[0])
    return Minimums(
        container_minimum(pod_cpu, sharing),
        container_minimum(settings.pod_minimum_memory_mib * _BYTES_PER_MIB, sharing),
    )


def estimate(groups: Groups, usage: MergedUsage, settings: EstimatorSettings) -> Estimates:
    """Return the amounts of every group; what a policy switches off or leaves uncontrolled is estimated all the same.

    Args:
        groups: The groups.
        usage: Their merged use.
        settings: Margin, confidence and minimum.
    """
    return amounts(usage, minimums(groups, settings), settings)


def amounts(usage: MergedUsage, least: Minimums, settings: EstimatorSettings) -> Estimates:
    """Return the amounts for containers by their use.

    Args:
        usage: Of each container.
        least: Of each container.
        settings: Margin and confidence.
    """
    samples = usage.first_sample, usage.last_sample, usage.sample_count
    return Estimates(
        bounds(
            truncated(usage.cpu * MILLICORES_PER_CORE),
            settings.margin_fraction,
            confidence(*samples, settings.confidence_interval_cpu),
            least.cpu,
        ),
        bounds(
            truncated(usage.memory),
            settings.margin_fraction,
            confidence(*samples, settings.confidence_interval_memory),
            least.memory,
        ),
    )
