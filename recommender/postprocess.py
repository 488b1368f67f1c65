"""Amounts to the quantities of a recommendation: rounding, whole cores, caps.

Rounding and whole cores come before the caps, so a capped value is not rounded.

Spec: recommender 4.3, 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.capping import policy_bounds
from autoscaling.policy import container_policy
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa
from recommender.amounts import as_quantity
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND, Estimates
from recommender.grouping import Groups
from recommender.hpa_conflict import held
from recommender.settings import RenderingSettings

Integers = NDArray[np.int64]

WHOLE_CORES_PREFIX: Final = "vpa-post-processor.kubernetes.io/"
WHOLE_CORES_SUFFIX: Final = "_integerCPU"
_MILLICORES_PER_CORE: Final = 1000
_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def rounded_up(amounts: Integers, step: int) -> Integers:
    """Round amounts up to multiples of a step; a step of 0 or less leaves them.

    Args:
        amounts: int64[...].
        step: In the unit of ``amounts``.
    """
    if step <= 0 or step == 1:
        return amounts
    return np.ceil(amounts / step).astype(np.int64) * step


def rounded_estimates(groups: Groups, estimates: Estimates, settings: RenderingSettings) -> Estimates:
    """Round all amounts as the settings and the annotations of the VPAs ask for."""
    cpu = rounded_up(estimates.cpu, settings.round_cpu_millicores)
    memory = rounded_up(estimates.memory, settings.round_memory_bytes)
    whole = [place for place, is_whole in enumerate(_whole_cores(groups)) if is_whole] if settings.integer_cpu else []
    if whole:
        cpu = cpu.copy()
        cpu[:, whole] = rounded_up(cpu[:, whole], _MILLICORES_PER_CORE)
    return Estimates(cpu, memory)


def _whole_cores(groups: Groups) -> Iterable[bool]:
    """Yield of each group whether an annotation of its VPA asks for whole cores."""
    bounds = groups.bounds.tolist()
    for tracked, (begin, end) in zip(groups.vpas, pairwise(bounds), strict=True):
        for name in groups.names[begin:end]:
            key = f"{WHOLE_CORES_PREFIX}{name}{WHOLE_CORES_SUFFIX}"
            yield tracked.vpa.annotations.get(key) == "true"


def recommendations(groups: Groups, estimates: Estimates, settings: RenderingSettings) -> list[Recommendation]:
    """Return the recommendation of each VPA, held where it meets an HPA, capped by its policies and the global maximum.

    Args:
        groups: Groups of the VPAs.
        estimates: Their rounded amounts.
        settings: Humanised memory and the global maximum.

    Returns:
        One recommendation for each of ``groups.vpas``, its containers sorted by name and without those switched off.
    """
    places = (TARGET, LOWER_BOUND, UPPER_BOUND)
    vectors = zip(*(_vectors(groups, estimates, place, settings) for place in places), strict=True)
    entries = [
        ContainerRecommendation(name, target, lower, upper, target) if is_scaled else None
        for name, is_scaled, (target, lower, upper) in zip(
            groups.names, groups.is_scaled.tolist(), vectors, strict=True
        )
    ]
    ends = pairwise(groups.bounds.tolist())
    return [
        Recommendation(
            tuple(
                _capped(tracked.vpa, held(tracked.vpa, entry, tracked.scaling) if tracked.scaling else entry, settings)
                for entry in entries[begin:end]
                if entry is not None
            )
        )
        for tracked, (begin, end) in zip(groups.vpas, ends, strict=True)
    ]


def _vectors(groups: Groups, estimates: Estimates, place: int, settings: RenderingSettings) -> list[ResourceList]:
    """Return one vector of every group: the controlled ones of its amounts as quantities."""
    cpu = _rendered(estimates.cpu[place], _as_cpu)
    memory = _rendered(estimates.memory[place], _humanised_or_zero if settings.humanize_memory else _as_memory)
    columns = zip(cpu, memory, groups.controls_cpu.tolist(), groups.controls_memory.tolist(), strict=True)
    return [
        {CPU: c, MEMORY: m}
        if with_cpu and with_memory
        else {CPU: c}
        if with_cpu
        else {MEMORY: m}
        if with_memory
        else {}
        for c, m, with_cpu, with_memory in columns
    ]


def _rendered(amounts: Integers, render: Callable[[int], Quantity]) -> list[Quantity]:
    """Return amounts as quantities; they share few values, of which each is rendered once."""
    listed = amounts.tolist()
    rendered = {amount: render(amount) for amount in set(listed)}
    return [rendered[amount] for amount in listed]


def _as_cpu(amount: int) -> Quantity:
    return as_quantity(amount, CPU)


def _as_memory(amount: int) -> Quantity:
    return as_quantity(amount, MEMORY)


def _humanised_or_zero(amount: int) -> Quantity:
    return humanised(amount) if amount else as_quantity(0, MEMORY)


def _capped(vpa: Vpa, entry: ContainerRecommendation, settings: RenderingSettings) -> ContainerRecommendation:
    """Bound target, lower and upper bound; the uncapped target stays."""
    if not vpa.container_policies and not settings.maximum:
        return entry
    caps = policy_bounds(container_policy(vpa, entry.container_name), settings.maximum)
    if not caps.minimum and not caps.maximum:
        return entry
    return replace(
        entry,
        target=caps.apply(entry.target)[0],
        lower_bound=caps.apply(entry.lower_bound or {})[0],
        upper_bound=caps.apply(entry.upper_bound or {})[0],
    )


def humanised(memory_bytes: int) -> Quantity:
    """Return memory with two decimals of the largest binary unit that it reaches, read back as a quantity."""
    for suffix, size in _UNITS:
        if memory_bytes >= size:
            return Quantity.parse(f"{memory_bytes / size:.2f}{suffix}")
    return Quantity.parse(str(memory_bytes))
