"""A frozen snapshot of a VerticalPodAutoscaler: policies, update mode and recommendation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Final

from autoscaling.names import first_named
from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList

DEFAULT_CONTAINER = "*"
"""Name of the container policy that stands for all containers without their own."""

DEFAULT_RECOMMENDER = "default"

STRATEGY_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
"""What the name of a strategy looks like (spec: beyond:B-10)."""

LONGEST_STRATEGY: Final = 63
"""Characters of such a name."""


class UpdateMode(Enum):
    """``spec.updatePolicy.updateMode``."""

    OFF = "Off"
    INITIAL = "Initial"
    RECREATE = "Recreate"
    AUTO = "Auto"
    IN_PLACE_OR_RECREATE = "InPlaceOrRecreate"
    IN_PLACE = "InPlace"


class ScalingMode(Enum):
    """Whether a container is scaled at all."""

    AUTO = "Auto"
    OFF = "Off"


class ControlledValues(Enum):
    """Whether limits follow the requests."""

    REQUESTS_AND_LIMITS = "RequestsAndLimits"
    REQUESTS_ONLY = "RequestsOnly"


class ChangeRequirement(Enum):
    """Direction that an eviction must have."""

    TARGET_HIGHER = "TargetHigherThanRequests"
    TARGET_LOWER = "TargetLowerThanRequests"


class BoostType(Enum):
    """How a CPU start-up boost is expressed."""

    FACTOR = "Factor"
    QUANTITY = "Quantity"


@dataclass(frozen=True, slots=True)
class CpuBoost:
    """``startupBoost.cpu``; ``type`` None where the object leaves it empty."""

    type: BoostType | None = None
    factor: int | None = None
    quantity: Quantity | None = None
    duration_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class StartupBoost:
    """``startupBoost``; ``cpu`` None for an empty object."""

    cpu: CpuBoost | None = None


@dataclass(frozen=True, slots=True)
class TargetRef:
    """The workload that a VPA is for."""

    kind: str
    name: str
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class EvictionRequirement:
    """One condition on an eviction: some listed resource must change in this direction."""

    resources: tuple[str, ...]
    change: ChangeRequirement


@dataclass(frozen=True, slots=True)
class UpdatePolicy:
    """``spec.updatePolicy``; None stands for an absent field.

    Args:
        deferred_timeout_seconds: How long a deferred resize is waited for; in the own group only (beyond:B-20).
        progress_timeout_seconds: How long a resize in progress is waited for; in the own group only.
    """

    mode: UpdateMode | None = None
    min_replicas: int | None = None
    eviction_requirements: tuple[EvictionRequirement, ...] = ()
    evict_after_oom_seconds: int | None = None
    deferred_timeout_seconds: int | None = None
    progress_timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerPolicy:
    """One entry of ``spec.resourcePolicy.containerPolicies``; None stands for an absent field."""

    container_name: str
    mode: ScalingMode | None = None
    min_allowed: ResourceList = field(default_factory=dict)
    max_allowed: ResourceList = field(default_factory=dict)
    controlled_resources: tuple[str, ...] | None = None
    controlled_values: ControlledValues | None = None
    oom_bump_up_ratio: Quantity | None = None
    oom_min_bump_up: Quantity | None = None
    memory_aggregation_interval_seconds: int | None = None
    memory_aggregation_interval_count: int | None = None
    startup_boost: StartupBoost | None = None


@dataclass(frozen=True, slots=True)
class ContainerRecommendation:
    """What one container should get; a vector is None where it is absent."""

    container_name: str
    target: ResourceList
    lower_bound: ResourceList | None = None
    upper_bound: ResourceList | None = None
    uncapped_target: ResourceList | None = None


_CONTAINER_NAME: Final[Callable[[ContainerRecommendation], str]] = attrgetter("container_name")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """``status.recommendation``: one entry for each container."""

    containers: tuple[ContainerRecommendation, ...] = ()

    def of(self, container: str) -> ContainerRecommendation | None:
        """Return the first entry of a container, None where there is none."""
        return first_named(self.containers, container, _CONTAINER_NAME)


@dataclass(frozen=True, slots=True)
class VpaCondition:
    """One entry of ``status.conditions``."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Vpa:
    """A VPA object as one process saw it at one moment.

    Args:
        container_policies: None where the object has no ``resourcePolicy`` at all.
        recommenders: Names of the recommenders that serve it; empty for the default one.
        recommendation: None where the status has none.
        strategy: Name of the strategy that recommends; None where none is named.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    created: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    target_ref: TargetRef | None = None
    update_policy: UpdatePolicy | None = None
    container_policies: tuple[ContainerPolicy, ...] | None = None
    recommenders: tuple[str, ...] = ()
    startup_boost: StartupBoost | None = None
    recommendation: Recommendation | None = None
    conditions: tuple[VpaCondition, ...] = ()
    observed_generation: int = 0
    strategy: str | None = None

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef("VerticalPodAutoscaler", self.namespace, self.name)

    @property
    def update_mode(self) -> UpdateMode:
        """The mode in force: Recreate where none is given (updater M-8)."""
        return self.stated_mode or UpdateMode.RECREATE

    @property
    def stated_mode(self) -> UpdateMode | None:
        """The mode as stated, None where nothing is."""
        return self.update_policy.mode if self.update_policy else None

    @property
    def has_startup_boost(self) -> bool:
        """Whether a boost is configured for the pod or for any container (updater M-8)."""
        return self.startup_boost is not None or any(p.startup_boost for p in self.container_policies or ())


def is_strategy_name(name: str) -> bool:
    """Say whether a name could be that of a strategy; only a recommender knows whether there is one."""
    return len(name) <= LONGEST_STRATEGY and re.fullmatch(STRATEGY_PATTERN, name) is not None
