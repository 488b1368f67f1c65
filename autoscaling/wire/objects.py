"""VPA and LimitRange objects as JSON, converted to and from the snapshots."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from autoscaling.errors import InvalidObjectError, InvalidQuantityError
from autoscaling.limitrange import LimitRange, LimitRangeItem, LimitType
from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus
from autoscaling.resources import resource_texts
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.stated_times import stated_time
from autoscaling.vpa import (
    BoostType,
    ChangeRequirement,
    ContainerPolicy,
    ContainerRecommendation,
    ControlledValues,
    CpuBoost,
    EvictionRequirement,
    Recommendation,
    ScalingMode,
    StartupBoost,
    TargetRef,
    UpdateMode,
    UpdatePolicy,
    Vpa,
    VpaCondition,
)
from autoscaling.wire.scalars import QuantityText, optional_resource_list, quantity, resource_list

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Amounts = dict[str, QuantityText]
T = TypeVar("T")


class Wire(BaseModel):
    """Base of the wire models: camelCase names, unknown fields ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Named(Wire):
    metadata: _Metadata = _Metadata()


class _CpuBoost(Wire):
    type: BoostType | None = None
    factor: int | None = None
    quantity: QuantityText | None = None
    duration_seconds: int | None = None

    def snapshot(self) -> CpuBoost:
        amount = None if self.quantity is None else quantity(self.quantity)
        return CpuBoost(self.type, self.factor, amount, self.duration_seconds)


class _StartupBoost(Wire):
    cpu: _CpuBoost | None = None

    def snapshot(self) -> StartupBoost:
        return StartupBoost(self.cpu.snapshot() if self.cpu else None)


class _TargetRef(Wire):
    api_version: str = ""
    kind: str
    name: str


class _EvictionRequirement(Wire):
    resources: list[str]
    change_requirement: ChangeRequirement


class _Timeouts(Wire):
    deferred_seconds: int | None = Field(None, alias="inPlaceDeferredTimeoutSeconds", ge=1)
    progress_seconds: int | None = Field(None, alias="inPlaceProgressTimeoutSeconds", ge=1)


class _UpdatePolicy(Wire):
    update_mode: UpdateMode | None = None
    min_replicas: int | None = None
    eviction_requirements: list[_EvictionRequirement] | None = None
    evict_after_oom_seconds: int | None = Field(None, alias="evictAfterOOMSeconds")
    in_place_deferred_timeout_seconds: object = None
    in_place_progress_timeout_seconds: object = None

    def snapshot(self, *, is_own: bool) -> UpdatePolicy:
        requirements = (
            EvictionRequirement(tuple(r.resources), r.change_requirement) for r in self.eviction_requirements or ()
        )
        timeouts = _Timeouts.model_validate(self._timeouts() if is_own else {})
        return UpdatePolicy(
            mode=self.update_mode,
            min_replicas=self.min_replicas,
            eviction_requirements=tuple(requirements),
            evict_after_oom_seconds=self.evict_after_oom_seconds,
            deferred_timeout_seconds=timeouts.deferred_seconds,
            progress_timeout_seconds=timeouts.progress_seconds,
        )

    def _timeouts(self) -> dict[str, object]:
        """Return what only the own group has, not looked at yet."""
        return {
            "inPlaceDeferredTimeoutSeconds": self.in_place_deferred_timeout_seconds,
            "inPlaceProgressTimeoutSeconds": self.in_place_progress_timeout_seconds,
        }


class _ContainerPolicy(Wire):
    container_name: str = ""
    mode: ScalingMode | None = None
    min_allowed: Amounts | None = None
    max_allowed: Amounts | None = None
    controlled_resources: list[str] | None = None
    controlled_values: ControlledValues | None = None
    oom_bump_up_ratio: QuantityText | None = None
    oom_min_bump_up: QuantityText | None = None
    memory_aggregation_interval_seconds: int | None = None
    memory_aggregation_interval_count: int | None = None
    startup_boost: _StartupBoost | None = None

    def snapshot(self) -> ContainerPolicy:
        listed = self.controlled_resources
        return ContainerPolicy(
            container_name=self.container_name,
            mode=self.mode,
            min_allowed=resource_list(self.min_allowed),
            max_allowed=resource_list(self.max_allowed),
            controlled_resources=None if listed is None else tuple(listed),
            controlled_values=self.controlled_values,
            oom_bump_up_ratio=None if self.oom_bump_up_ratio is None else quantity(self.oom_bump_up_ratio),
            oom_min_bump_up=None if self.oom_min_bump_up is None else quantity(self.oom_min_bump_up),
            memory_aggregation_interval_seconds=self.memory_aggregation_interval_seconds,
            memory_aggregation_interval_count=self.memory_aggregation_interval_count,
            startup_boost=self.startup_boost.snapshot() if self.startup_boost else None,
        )


class _ResourcePolicy(Wire):
    container_policies: list[_ContainerPolicy] | None = None


class _Recommender(Wire):
    name: str = ""


class _RecommenderSettings(Wire):
    strategy: str | None = None


class _VpaSpec(Wire):
    target_ref: _TargetRef | None = None
    update_policy: _UpdatePolicy | None = None
    resource_policy: _ResourcePolicy | None = None
    recommenders: list[_Recommender] | None = None
    recommender: object = None
    startup_boost: _StartupBoost | None = None


class _ContainerRecommendation(Wire):
    container_name: str = ""
    target: Amounts = {}
    lower_bound: Amounts | None = None
    upper_bound: Amounts | None = None
    uncapped_target: Amounts | None = None

    def snapshot(self) -> ContainerRecommendation:
        return ContainerRecommendation(
            self.container_name,
            resource_list(self.target),
            optional_resource_list(self.lower_bound),
            optional_resource_list(self.upper_bound),
            optional_resource_list(self.uncapped_target),
        )


class _Recommendation(Wire):
    container_recommendations: list[_ContainerRecommendation] | None = None


class _Condition(Wire):
    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class _VpaStatus(Wire):
    recommendation: _Recommendation | None = None
    conditions: list[_Condition] | None = None
    observed_generation: int = 0


class _Vpa(Wire):
    api_version: str = ""
    metadata: _Metadata = _Metadata()
    spec: _VpaSpec = _VpaSpec()
    status: _VpaStatus | None = None


class _LimitRangeItem(Wire):
    type: str = ""
    max: Amounts | None = None
    min: Amounts | None = None
    default: Amounts | None = None
    default_request: Amounts | None = None
    max_limit_request_ratio: Amounts | None = None


class _LimitRangeSpec(Wire):
    limits: list[_LimitRangeItem] | None = None


class _LimitRange(Wire):
    metadata: _Metadata = _Metadata()
    spec: _LimitRangeSpec = _LimitRangeSpec()


def decode_vpa(raw: bytes) -> Vpa:
    """Read one VPA of either API group.

    Raises:
        InvalidObjectError: A field has a wrong type or value.
    """
    return decoded(raw, "VerticalPodAutoscaler", lambda: _vpa_snapshot(_Vpa.model_validate_json(raw)))


def decode_limit_range(raw: bytes) -> LimitRange:
    """Read one LimitRange; items of other types than Container and Pod are left out.

    Raises:
        InvalidObjectError: A field has a wrong type or value.
    """
    return decoded(raw, "LimitRange", lambda: _limit_range_snapshot(_LimitRange.model_validate_json(raw)))


def decoded(raw: bytes, kind: str, convert: Callable[[], T]) -> T:
    """Run a conversion and name the object where it fails."""
    try:
        return convert()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        problem = f"field {where or '(whole object)'}: {first['msg']}"
        if error.error_count() > 1:
            problem += f" (and {error.error_count() - 1} more)"
        raise InvalidObjectError(_name(raw, kind), problem, remedy="correct the object") from error
    except InvalidQuantityError as error:
        raise InvalidObjectError(_name(raw, kind), str(error), remedy="correct the object") from error


def _name(raw: bytes, kind: str) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _Named.model_validate_json(raw).metadata
    except ValidationError:
        return ObjectRef(kind, "", "(unreadable)")
    return ObjectRef(kind, metadata.namespace, metadata.name)


def _vpa_snapshot(vpa: _Vpa) -> Vpa:
    """Convert the wire form to the snapshot."""
    metadata, spec, status = vpa.metadata, vpa.spec, vpa.status or _VpaStatus()
    target, policy, given = spec.target_ref, spec.resource_policy, status.recommendation
    return Vpa(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        generation=metadata.generation,
        created=stated_time(metadata.creation_timestamp),
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        target_ref=TargetRef(target.kind, target.name, target.api_version) if target else None,
        update_policy=spec.update_policy.snapshot(is_own=_is_own(vpa)) if spec.update_policy else None,
        container_policies=tuple(p.snapshot() for p in policy.container_policies or ()) if policy else None,
        recommenders=tuple(r.name for r in spec.recommenders or ()),
        startup_boost=spec.startup_boost.snapshot() if spec.startup_boost else None,
        recommendation=_recommendation_snapshot(given) if given else None,
        conditions=tuple(
            VpaCondition(c.type, c.status, c.reason, c.message, stated_time(c.last_transition_time))
            for c in status.conditions or ()
        ),
        observed_generation=status.observed_generation,
        strategy=_strategy(vpa),
    )


def _strategy(vpa: _Vpa) -> str | None:
    """Return the strategy that is named; upstream's group has no such field, whatever stands in its place."""
    if vpa.spec.recommender is None or not _is_own(vpa):
        return None
    return _RecommenderSettings.model_validate(vpa.spec.recommender).strategy


def _is_own(vpa: _Vpa) -> bool:
    """Say whether an object is of the own group, which has more fields than upstream's."""
    return vpa.api_version.partition("/")[0] != ApiGroup.UPSTREAM


def _recommendation_snapshot(given: _Recommendation) -> Recommendation:
    """Convert a recommendation."""
    return Recommendation(tuple(c.snapshot() for c in given.container_recommendations or ()))


def _limit_range_snapshot(limit_range: _LimitRange) -> LimitRange:
    """Convert a LimitRange."""
    known = {kind.value: kind for kind in LimitType}
    items = (
        LimitRangeItem(
            known[item.type],
            maximum=optional_resource_list(item.max),
            minimum=optional_resource_list(item.min),
            default=optional_resource_list(item.default),
            default_request=optional_resource_list(item.default_request),
            ratio=optional_resource_list(item.max_limit_request_ratio),
        )
        for item in limit_range.spec.limits or ()
        if item.type in known
    )
    return LimitRange(limit_range.metadata.namespace, limit_range.metadata.name, tuple(items))


def recommendation_json(recommendation: Recommendation) -> dict[str, Json]:
    """Return ``status.recommendation``; without containers it is an empty object."""
    if not recommendation.containers:
        return {}
    return {"containerRecommendations": [_container_json(c) for c in recommendation.containers]}


def _container_json(entry: ContainerRecommendation) -> dict[str, Json]:
    """Return one container's recommendation; absent and empty bounds are left out."""
    target = dict[str, Json](resource_texts(entry.target))
    body: dict[str, Json] = {"containerName": entry.container_name, "target": target}
    if entry.lower_bound:
        body["lowerBound"] = dict(resource_texts(entry.lower_bound))
    if entry.upper_bound:
        body["upperBound"] = dict(resource_texts(entry.upper_bound))
    if entry.uncapped_target:
        # Where nothing was capped both are the same amounts, and are written only once.
        is_same = entry.uncapped_target is entry.target
        body["uncappedTarget"] = target if is_same else dict(resource_texts(entry.uncapped_target))
    return body


def timestamp(moment: datetime) -> str:
    """Return a time as Kubernetes writes it: UTC, whole seconds."""
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def vpa_status_json(
    conditions: tuple[VpaCondition, ...],
    recommendation: Recommendation | None,
    observed_generation: int,
) -> dict[str, Json]:
    """Return a whole ``status`` (spec: recommender:5); empty members are left out."""
    body: dict[str, Json] = {}
    if recommendation is not None:
        body["recommendation"] = recommendation_json(recommendation)
    if conditions:
        body["conditions"] = [condition_json(c) for c in conditions]
    if observed_generation:
        body["observedGeneration"] = observed_generation
    return body


def condition_json(condition: VpaCondition) -> dict[str, Json]:
    """Return one condition."""
    body: dict[str, Json] = {"type": condition.type, "status": condition.status.value}
    if condition.last_transition_time is not None:
        body["lastTransitionTime"] = timestamp(condition.last_transition_time)
    if condition.reason:
        body["reason"] = condition.reason
    if condition.message:
        body["message"] = condition.message
    return body
