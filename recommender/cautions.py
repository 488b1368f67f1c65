"""Conditions that tell users how far a recommendation can be trusted: what stands in its way, and what it rests on.

Spec: beyond:B-8, beyond:B-10, beyond:B-14, beyond:B-15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour, HpaConflict
from autoscaling.pod import ConditionStatus
from autoscaling.policy import container_policy
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList, amount
from autoscaling.vpa import ContainerRecommendation, Vpa, VpaCondition
from recommender.amounts import MILLICORES_PER_CORE, as_quantity, from_quantity, truncated
from recommender.estimator import TARGET, confidence
from recommender.grouping import Groups, MergedUsage
from recommender.hpa_conflict import hpa_conditions
from recommender.label_sets import TrackedVpa
from recommender.recommendation_table import RecommendationTable
from recommender.settings import EstimatorSettings
from recommender.status import (
    CAPPED_BELOW_NEED,
    CAPPED_TO_NODE,
    FETCHING_HISTORY,
    HPA_CONFLICT,
    LOW_CONFIDENCE,
    STRATEGY_UNAVAILABLE,
    USAGE_FALLBACK,
)

Flags = NDArray[np.bool_]

Cautions = dict[TrackedVpa, tuple[VpaCondition, ...]]
"""Conditions of each VPA that has any."""

_SURE: Final = 1.0
"""Confidence from which on bounds count as narrow: one whole interval of samples."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the recommendations of a round rest on.

    Args:
        groups: Groups of the VPAs as their policies have them.
        seen: The same groups with only those resources controlled that are recommended.
        usage: Of these groups.
        recommendations: Of each VPA.
        maximum: Upper bounds for what a VPA's own maxAllowed does not name.
    """

    groups: Groups
    seen: Groups
    usage: MergedUsage
    recommendations: RecommendationTable
    maximum: ResourceList


def judged_types(behaviour: Behaviour) -> frozenset[str]:
    """Return the types of conditions that a round sets and removes beyond upstream's."""
    judged = {
        HPA_CONFLICT: behaviour.hpa_conflict is not HpaConflict.OFF,
        CAPPED_BELOW_NEED: behaviour.capped_below_need,
        CAPPED_TO_NODE: behaviour.node_fit,
        LOW_CONFIDENCE: behaviour.low_confidence_and_fetching_history_conditions,
        FETCHING_HISTORY: behaviour.low_confidence_and_fetching_history_conditions,
        USAGE_FALLBACK: behaviour.low_confidence_and_fetching_history_conditions,
        STRATEGY_UNAVAILABLE: behaviour.strategies,
    }
    return frozenset(kind for kind, is_judged in judged.items() if is_judged)


def cautions(basis: Basis, settings: EstimatorSettings, behaviour: Behaviour) -> Cautions:
    """Return the conditions of all VPAs, of the types that are judged.

    Args:
        basis: What was recommended, and from what.
        settings: Tells the intervals of confidence.
        behaviour: Which types are judged.
    """
    judged = judged_types(behaviour)
    found: list[Mapping[TrackedVpa, VpaCondition]] = []
    if HPA_CONFLICT in judged:
        found.append(hpa_conditions(basis.groups))
    if CAPPED_BELOW_NEED in judged:
        found.append(capped_below_need(basis))
    if LOW_CONFIDENCE in judged:
        found.append(low_confidence(basis, settings))
    if STRATEGY_UNAVAILABLE in judged:
        found.append(basis.groups.choice.conditions)
    merged: Cautions = {}
    for conditions in found:
        for tracked, condition in conditions.items():
            merged[tracked] = (*merged.get(tracked, ()), condition)
    return merged


def capped_below_need(basis: Basis) -> dict[TrackedVpa, VpaCondition]:
    """Return the condition of each VPA whose upper bounds leave a container less than it was seen to need.

    The need is the percentile of the target without the safety margin; of memory it includes what OOM kills showed.
    A bound that only cuts the margin or the pod's minimum off is none of this.

    Spec: beyond:B-15.
    """
    conditions: dict[TrackedVpa, VpaCondition] = {}
    needs = {
        CPU: truncated(basis.usage.cpu[TARGET] * MILLICORES_PER_CORE),
        MEMORY: truncated(basis.usage.memory[TARGET]),
    }
    limits = basis.seen.limits.with_maximum(basis.maximum, len(basis.seen))
    if not limits.typed.quantities:
        return conditions
    is_lacking = (basis.seen.controls_cpu & (needs[CPU] > limits.upper(CPU))) | (
        basis.seen.controls_memory & (needs[MEMORY] > limits.upper(MEMORY))
    )
    bounds = basis.seen.bounds
    owners = np.unique(np.searchsorted(bounds, np.flatnonzero(is_lacking), side="right") - 1)
    for owner, recommendation in zip(owners.tolist(), basis.recommendations.of(owners), strict=True):
        tracked, (begin, end) = basis.seen.vpas[owner], bounds[owner : owner + 2].tolist()
        lacking: list[str] = []
        for entry in recommendation.containers:
            place = basis.seen.names.index(entry.container_name, begin, end)
            seen = {resource: as_quantity(int(need[place]), resource) for resource, need in needs.items()}
            lacking += _lacking(tracked.vpa, entry, seen, basis.maximum)
        if lacking:
            message = f"{'; '.join(lacking)}. Raise the bound, or give each pod less to do"
            conditions[tracked] = VpaCondition(CAPPED_BELOW_NEED, ConditionStatus.TRUE, "MaxAllowedTooLow", message)
    return conditions


def _lacking(
    vpa: Vpa, entry: ContainerRecommendation, needs: dict[str, Quantity], maximum: ResourceList
) -> Iterator[str]:
    """Yield what a container lacks by its upper bounds; a bound of zero is none."""
    policy = container_policy(vpa, entry.container_name)
    own = policy.max_allowed if policy else {}
    for resource in entry.target:
        bound = amount(own, resource) if resource in own else amount(maximum, resource)
        if bound.is_zero() or from_quantity(needs[resource], resource) <= from_quantity(bound, resource):
            continue
        whose = "maxAllowed" if resource in own else f"--container-recommendation-max-allowed-{resource}"
        yield f"container {entry.container_name} needs {needs[resource]} of {resource}, but {whose} is {bound}"


def low_confidence(basis: Basis, settings: EstimatorSettings) -> dict[TrackedVpa, VpaCondition]:
    """Return the condition of each VPA that has a recommendation from less than an interval of samples.

    Its text does not change as samples come in, so that it is written once.

    Spec: beyond:B-8, beyond:B-5.
    """
    seen, usage = basis.seen, basis.usage
    samples = usage.first_sample, usage.last_sample, usage.sample_count
    unsure = seen.controls_cpu & (confidence(*samples, settings.confidence_interval_cpu) < _SURE)
    unsure |= seen.controls_memory & (confidence(*samples, settings.confidence_interval_memory) < _SURE)
    # The bounds of other strategies narrow as these see fit.
    unsure[seen.choice.places] = False
    interval = max(settings.confidence_interval_cpu, settings.confidence_interval_memory)
    conditions: dict[TrackedVpa, VpaCondition] = {}
    for tracked, names in _named(seen, unsure):
        message = (
            f"There is less than {_hours(interval)} of samples of {' and '.join(names)}, so the bounds are wide; they "
            "narrow as samples come in"
        )
        conditions[tracked] = VpaCondition(LOW_CONFIDENCE, ConditionStatus.TRUE, "LittleHistory", message)
    return conditions


def _named(groups: Groups, flags: Flags) -> Iterator[tuple[TrackedVpa, tuple[str, ...]]]:
    """Yield each VPA with any flagged group, and the containers of these groups."""
    chosen = np.flatnonzero(flags)
    owners = np.searchsorted(groups.bounds, chosen, side="right") - 1
    names: dict[int, list[str]] = {}
    for owner, place in zip(owners.tolist(), chosen.tolist(), strict=True):
        names.setdefault(owner, []).append(groups.names[place])
    for owner, containers in names.items():
        yield groups.vpas[owner], tuple(containers)


def _hours(interval: timedelta) -> str:
    """Return an interval in hours."""
    return f"{interval / timedelta(hours=1):g} h"
