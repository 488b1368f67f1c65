"""Conditions and status of a VPA, and whether it has to be written.

Spec: recommender 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoscaling.pod import ConditionStatus
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition

RECOMMENDATION_PROVIDED: Final = "RecommendationProvided"
NO_PODS_MATCHED: Final = "NoPodsMatched"
CONFIG_UNSUPPORTED: Final = "ConfigUnsupported"
CONFIG_DEPRECATED: Final = "ConfigDeprecated"
LOW_CONFIDENCE: Final = "LowConfidence"
FETCHING_HISTORY: Final = "FetchingHistory"
HPA_CONFLICT: Final = "HPAConflict"
CAPPED_BELOW_NEED: Final = "CappedBelowObservedNeed"
CAPPED_TO_NODE: Final = "CappedToNode"
USAGE_FALLBACK: Final = "UsageFallback"
STRATEGY_UNAVAILABLE: Final = "StrategyUnavailable"
OWN_TYPES: Final = frozenset(
    {
        RECOMMENDATION_PROVIDED,
        NO_PODS_MATCHED,
        CONFIG_UNSUPPORTED,
        CONFIG_DEPRECATED,
        LOW_CONFIDENCE,
        FETCHING_HISTORY,
        HPA_CONFLICT,
        CAPPED_BELOW_NEED,
        CAPPED_TO_NODE,
        USAGE_FALLBACK,
        STRATEGY_UNAVAILABLE,
    }
)
"""Types of conditions that no other process writes."""

NO_PODS_REASON: Final = "NoPodsMatched"
NO_PODS_MESSAGE: Final = "The selector of this VPA's target matches no pod"

MISSING_PATIENCE: Final = timedelta(minutes=30)
"""Time without a recommendation after which that is reported, and reported again."""


@dataclass(frozen=True, slots=True)
class VpaStatus:
    """``status`` of a VPA.

    Args:
        conditions: Sorted by type.
        recommendation: None only where none was ever computed.
        observed_generation: Generation of the VPA that this status is about.
    """

    conditions: tuple[VpaCondition, ...]
    recommendation: Recommendation | None
    observed_generation: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What one round found out about a VPA.

    Args:
        recommendation: As computed.
        has_pods: Whether any known pod is selected.
        unsupported: Why the target cannot be used; None where it can.
        judged: Types of further conditions that the round decides on; others are carried along.
        conditions: Those of these types that hold; the others are removed.
    """

    recommendation: Recommendation
    has_pods: bool
    unsupported: str | None = None
    judged: frozenset[str] = frozenset()
    conditions: tuple[VpaCondition, ...] = ()


def is_active(vpa: Vpa, kind: str) -> bool:
    """Say whether a VPA carries a condition with status True."""
    for condition in vpa.conditions:
        if condition.type == kind:
            return condition.status is ConditionStatus.TRUE
    return False


def has_recommendation(vpa: Vpa) -> bool:
    """Say whether a VPA as observed carries a recommendation that its conditions vouch for (recommender 3.2)."""
    recommendation = vpa.recommendation
    provided = is_active(vpa, RECOMMENDATION_PROVIDED)
    return provided and recommendation is not None and bool(recommendation.containers)


def status_after(vpa: Vpa, findings: Findings, now: datetime) -> VpaStatus:
    """Return the status of a VPA after a round.

    Args:
        vpa: The object as observed; conditions of types not named here are carried along.
        findings: What the round found out.
        now: Transition time of conditions that are new or flip.
    """
    is_all_well = findings.has_pods and findings.unsupported is None and not findings.conditions
    if is_all_well and findings.recommendation.containers and tells_no_more(vpa):
        return VpaStatus(vpa.conditions, findings.recommendation, vpa.generation)
    conditions = {condition.type: condition for condition in vpa.conditions}
    reason, message = ("", "") if findings.has_pods else (NO_PODS_REASON, NO_PODS_MESSAGE)
    is_provided = bool(findings.recommendation.containers)
    changed = [
        VpaCondition(RECOMMENDATION_PROVIDED, ConditionStatus.TRUE)
        if is_provided
        else VpaCondition(RECOMMENDATION_PROVIDED, ConditionStatus.FALSE, reason, message)
    ]
    changed += findings.conditions
    cleared = [CONFIG_DEPRECATED, *(findings.judged - {condition.type for condition in findings.conditions})]
    if findings.has_pods:
        cleared.append(NO_PODS_MATCHED)
    else:
        changed.append(VpaCondition(NO_PODS_MATCHED, ConditionStatus.TRUE, reason, message))
    if findings.unsupported is None:
        cleared.append(CONFIG_UNSUPPORTED)
    else:
        changed.append(VpaCondition(CONFIG_UNSUPPORTED, ConditionStatus.TRUE, "", findings.unsupported))
    for kind in cleared:
        conditions.pop(kind, None)
    for condition in changed:
        conditions[condition.type] = _since(condition, conditions.get(condition.type), now)
    in_order = tuple(conditions[kind] for kind in sorted(conditions))
    return VpaStatus(in_order, findings.recommendation, vpa.generation)


def tells_no_more(vpa: Vpa) -> bool:
    """Say whether the conditions of a VPA tell that there is a recommendation, and nothing else.

    So it is with most VPAs in most rounds; where a round has found nothing else either, they stand as they are.
    """
    if len(vpa.conditions) != 1:
        return False
    (only,) = vpa.conditions
    return (
        only.type == RECOMMENDATION_PROVIDED
        and only.status is ConditionStatus.TRUE
        and not (only.reason or only.message)
    )


def with_others_conditions(
    conditions: tuple[VpaCondition, ...], observed: Vpa, latest: Vpa
) -> tuple[VpaCondition, ...]:
    """Return the conditions of a status with those that others have set or removed since it was computed.

    The updater writes conditions of its own, and a status may have waited for its turn for most of a round. What is
    seen only now of our own may be what we wrote last ourselves, which this status comes after.

    Args:
        conditions: As computed; a type of condition in which they differ from what was observed is ours as well.
        observed: The object that they were computed from.
        latest: The object as it is now.
    """
    if latest.conditions == observed.conditions:
        return conditions
    before, after = ({c.type: c for c in each} for each in (observed.conditions, conditions))
    own = OWN_TYPES | {kind for kind in before.keys() | after.keys() if before.get(kind) != after.get(kind)}
    ours = [condition for condition in conditions if condition.type in own]
    theirs = [condition for condition in latest.conditions if condition.type not in own]
    return tuple(sorted((*ours, *theirs), key=lambda condition: condition.type))


def status_while_fetching(vpa: Vpa, now: datetime) -> VpaStatus | None:
    """Return the status of a VPA whose history is about to be loaded: as it is, with the condition that says so.

    Args:
        vpa: The object as observed.
        now: Transition time of the condition.

    Returns:
        None where the condition stands already.

    Spec: beyond:B-8.
    """
    if is_active(vpa, FETCHING_HISTORY):
        return None
    conditions = {condition.type: condition for condition in vpa.conditions}
    message = "History is being loaded; the recommendation stays as it is meanwhile"
    fetching = VpaCondition(FETCHING_HISTORY, ConditionStatus.TRUE, "LoadingHistory", message)
    conditions[FETCHING_HISTORY] = _since(fetching, conditions.get(FETCHING_HISTORY), now)
    in_order = tuple(conditions[kind] for kind in sorted(conditions))
    return VpaStatus(in_order, vpa.recommendation, vpa.observed_generation)


def _since(condition: VpaCondition, old: VpaCondition | None, now: datetime) -> VpaCondition:
    """Return a condition with its transition time: the old one unless the status flips."""
    since = now if old is None or old.status is not condition.status else old.last_transition_time
    return VpaCondition(condition.type, condition.status, condition.reason, condition.message, since)


def differs(status: VpaStatus, vpa: Vpa) -> bool:
    """Say whether a status means something else than the one a VPA was observed with.

    Quantities count by value, an empty vector as an absent one; an empty recommendation is not an absent one.
    """
    return (
        status.observed_generation != vpa.observed_generation
        or status.conditions != vpa.conditions
        or not is_same_recommendation(status.recommendation, vpa.recommendation)
    )


def is_same_recommendation(ours: Recommendation | None, theirs: Recommendation | None) -> bool:
    """Say whether two recommendations mean the same, see ``differs``."""
    if ours is None or theirs is None:
        return ours is theirs
    return len(ours.containers) == len(theirs.containers) and all(
        _same_entry(a, b) for a, b in zip(ours.containers, theirs.containers, strict=True)
    )


def _same_entry(ours: ContainerRecommendation, theirs: ContainerRecommendation) -> bool:
    return (
        ours.container_name == theirs.container_name
        and _same_vector(ours.target, theirs.target)
        and _same_vector(ours.lower_bound, theirs.lower_bound)
        and _same_vector(ours.upper_bound, theirs.upper_bound)
        and _same_vector(ours.uncapped_target, theirs.uncapped_target)
    )


def _same_vector(ours: ResourceList | None, theirs: ResourceList | None) -> bool:
    return (ours or {}) == (theirs or {})
