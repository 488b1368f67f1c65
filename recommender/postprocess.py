"""Amounts to the quantities of a recommendation: rounding, whole cores, caps.

Rounding and whole cores come before the caps, so a capped value is not rounded.

Spec: recommender 4.3, 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.capping import policy_bounds
from autoscaling.policy import container_policy
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND, Estimates
from recommender.grouping import Groups
from recommender.hpa_conflict import held
from recommender.label_sets import TrackedVpa
from recommender.policy_bounds import NO_BOUNDS
from recommender.recommendation_table import RecommendationTable
from recommender.settings import RenderingSettings

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

WHOLE_CORES_PREFIX: Final = "vpa-post-processor.kubernetes.io/"
WHOLE_CORES_SUFFIX: Final = "_integerCPU"
_MILLICORES_PER_CORE: Final = 1000
_AS_ESTIMATED: Final = [TARGET, LOWER_BOUND, UPPER_BOUND, TARGET]


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


def recommendations(
    groups: Groups, estimates: Estimates, settings: RenderingSettings, is_listed: Flags | None = None
) -> RecommendationTable:
    """Return the recommendation of each VPA, held where it meets an HPA, capped by its policies and the global maximum.

    Args:
        groups: Groups of the VPAs.
        estimates: Their rounded amounts.
        settings: Humanised memory and the global maximum.
        is_listed: bool[groups], which have an entry; None for all that are not switched off.
    """
    limits = groups.limits.with_maximum(settings.maximum, len(groups))
    # A memory that is humanised is no whole amount any more, so it is bounded as the quantity that it is.
    bounding = NO_BOUNDS if settings.humanize_memory else limits
    table = RecommendationTable(
        groups,
        np.concatenate((bounding.apply(estimates.cpu, CPU), estimates.cpu[[TARGET]])),
        np.concatenate((bounding.apply(estimates.memory, MEMORY), estimates.memory[[TARGET]])),
        groups.is_scaled if is_listed is None else is_listed,
        bounding.typed,
        settings.humanize_memory,
    )
    is_bounded_by_one = bool(limits.typed.quantities) and settings.humanize_memory
    odd = [place for place, tracked in enumerate(groups.vpas) if is_bounded_by_one or tracked.scaling]
    if not odd:
        return table
    estimated = replace(table, cpu=estimates.cpu[_AS_ESTIMATED], memory=estimates.memory[_AS_ESTIMATED])
    pairs = zip(odd, estimated.of(np.array(odd, dtype=np.int64)), strict=True)
    return replace(table, adjusted={place: _adjusted(groups.vpas[place], each, settings) for place, each in pairs})


def _adjusted(tracked: TrackedVpa, estimated: Recommendation, settings: RenderingSettings) -> Recommendation:
    """Return what is made of a recommendation as estimated, held and bounded one by one."""
    return Recommendation(
        tuple(
            _capped(tracked.vpa, held(tracked.vpa, entry, tracked.scaling) if tracked.scaling else entry, settings)
            for entry in estimated.containers
        )
    )


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
