"""Amounts to the quantities of a recommendation: rounding, whole cores, caps.

Rounding and whole cores come before the caps, so a capped value is not rounded.

Spec: recommender 4.3, 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
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
from recommender.settings import RenderingSettings

Integers = NDArray[np.int64]

WHOLE_CORES_PREFIX: Final = "vpa-post-processor.kubernetes.io/"
WHOLE_CORES_SUFFIX: Final = "_integerCPU"
_MILLICORES_PER_CORE: Final = 1000
_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


@dataclass(frozen=True, slots=True)
class ContainerAmounts:
    """Amounts of one container.

    Args:
        name: The container.
        cpu: Target, lower and upper bound in millicores; None where CPU is not recommended.
        memory: Likewise in bytes.
    """

    name: str
    cpu: tuple[int, int, int] | None
    memory: tuple[int, int, int] | None


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


def amounts_by_vpa(groups: Groups, estimates: Estimates) -> list[list[ContainerAmounts]]:
    """Return for each VPA the amounts of its containers, sorted by name, without those that are switched off."""
    cpu: list[tuple[int, int, int]] = list(zip(*estimates.cpu.tolist(), strict=True))
    memory: list[tuple[int, int, int]] = list(zip(*estimates.memory.tolist(), strict=True))
    with_cpu, with_memory = groups.controls_cpu.tolist(), groups.controls_memory.tolist()
    entries = [
        ContainerAmounts(name, cpu[place] if with_cpu[place] else None, memory[place] if with_memory[place] else None)
        if is_scaled
        else None
        for place, (name, is_scaled) in enumerate(zip(groups.names, groups.is_scaled.tolist(), strict=True))
    ]
    bounds = groups.bounds.tolist()
    return [[entry for entry in entries[begin:end] if entry is not None] for begin, end in pairwise(bounds)]


def recommendation(vpa: Vpa, amounts: Iterable[ContainerAmounts], settings: RenderingSettings) -> Recommendation:
    """Return the recommendation of one VPA, capped by its policy and the global maximum.

    Args:
        vpa: Tells the policies.
        amounts: Rounded amounts of its containers, sorted by name.
        settings: Humanised memory and the global maximum.
    """
    return Recommendation(tuple(_capped(vpa, _rendered(entry, settings), settings) for entry in amounts))


def _rendered(amounts: ContainerAmounts, settings: RenderingSettings) -> ContainerRecommendation:
    """Return the uncapped recommendation of one container."""
    target = _vector(amounts, TARGET, settings)
    lower, upper = _vector(amounts, LOWER_BOUND, settings), _vector(amounts, UPPER_BOUND, settings)
    return ContainerRecommendation(amounts.name, target, lower, upper, target)


def _vector(amounts: ContainerAmounts, place: int, settings: RenderingSettings) -> ResourceList:
    vector: dict[str, Quantity] = {}
    if amounts.cpu is not None:
        vector[CPU] = as_quantity(amounts.cpu[place], CPU)
    if amounts.memory is not None:
        given = amounts.memory[place]
        vector[MEMORY] = humanised(given) if settings.humanize_memory and given else as_quantity(given, MEMORY)
    return vector


def _capped(vpa: Vpa, entry: ContainerRecommendation, settings: RenderingSettings) -> ContainerRecommendation:
    """Bound target, lower and upper bound; the uncapped target stays."""
    policy = container_policy(vpa, entry.container_name)
    if policy is None and not settings.maximum:
        return entry
    caps = policy_bounds(policy, settings.maximum)
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
