"""A VPA as it was submitted: every value that validation looks at, right or wrong.

The snapshot in ``autoscaling.vpa`` holds enums and so only what is right; here a mode is any text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from admission.json_node import JsonNode
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList
from autoscaling.runtime.api_group import ApiGroup


@dataclass(frozen=True, slots=True)
class SubmittedCpuBoost:
    """``startupBoost.cpu``; an absent ``type`` is empty."""

    type: str = ""
    factor: int | None = None
    quantity: Quantity | None = None


@dataclass(frozen=True, slots=True)
class SubmittedBoost:
    """``startupBoost``; ``cpu`` is None in an empty object."""

    cpu: SubmittedCpuBoost | None = None


@dataclass(frozen=True, slots=True)
class SubmittedUpdatePolicy:
    """``spec.updatePolicy``; None stands for an absent field."""

    mode: str | None = None
    min_replicas: int | None = None
    evict_after_oom_seconds: int | None = None
    deferred_timeout_seconds: int | None = None
    progress_timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class SubmittedPolicy:
    """One entry of ``spec.resourcePolicy.containerPolicies``; None stands for an absent field.

    Args:
        oom_bump_up_ratio: No unit.
        oom_min_bump_up: In bytes.
    """

    container_name: str = ""
    mode: str | None = None
    min_allowed: ResourceList = field(default_factory=dict)
    max_allowed: ResourceList = field(default_factory=dict)
    controlled_values: str | None = None
    controlled_resources: tuple[str, ...] | None = None
    oom_bump_up_ratio: Quantity | None = None
    oom_min_bump_up: Quantity | None = None
    memory_aggregation_interval_seconds: int | None = None
    memory_aggregation_interval_count: int | None = None
    startup_boost: SubmittedBoost | None = None

    @property
    def has_own_settings(self) -> bool:
        """Whether a field is used that needs the gate for settings of single VPAs."""
        settings: tuple[object, ...] = (
            self.oom_bump_up_ratio,
            self.oom_min_bump_up,
            self.memory_aggregation_interval_seconds,
            self.memory_aggregation_interval_count,
        )
        return any(value is not None for value in settings)


@dataclass(frozen=True, slots=True)
class SubmittedVpa:
    """The spec of a VPA as submitted; without anything it stands for an object that did not exist before.

    Args:
        has_spec: Whether there is any; without one no default has a place.
    """

    update_policy: SubmittedUpdatePolicy | None = None
    policies: tuple[SubmittedPolicy, ...] = ()
    startup_boost: SubmittedBoost | None = None
    recommender_count: int = 0
    strategy: str | None = None
    has_spec: bool = False


def submitted_vpa(tree: object) -> SubmittedVpa:
    """Read a VPA from its JSON tree.

    Args:
        tree: What a JSON decoder made of the object.

    Raises:
        UnreadableFieldError: A field is not of its type (spec: admission:5, an error at path ``.``).
    """
    top = JsonNode.of(tree)
    spec = top.child("spec")
    update, is_upstream = spec.child("updatePolicy"), _is_upstream(top)
    _read_the_rest(spec)
    return SubmittedVpa(
        update_policy=SubmittedUpdatePolicy(
            mode=update.text("updateMode"),
            min_replicas=update.integer("minReplicas"),
            evict_after_oom_seconds=update.integer("evictAfterOOMSeconds"),
            deferred_timeout_seconds=None if is_upstream else update.integer("inPlaceDeferredTimeoutSeconds"),
            progress_timeout_seconds=None if is_upstream else update.integer("inPlaceProgressTimeoutSeconds"),
        )
        if spec.has("updatePolicy")
        else None,
        policies=tuple(_policy(node) for node in spec.child("resourcePolicy").children("containerPolicies")),
        startup_boost=_boost(spec),
        recommender_count=len(spec.children("recommenders")),
        strategy=None if is_upstream else spec.child("recommender").text("strategy"),
        has_spec=top.has("spec"),
    )


def _is_upstream(top: JsonNode) -> bool:
    """Say whether an object is of upstream's group, which has fewer fields."""
    return (top.text("apiVersion") or "").partition("/")[0] == ApiGroup.UPSTREAM


def _read_the_rest(spec: JsonNode) -> None:
    """Read what validation does not ask for: an object with a wrong type anywhere in its spec cannot be read at all."""
    target = spec.child("targetRef")
    for name in ("apiVersion", "kind", "name"):
        target.text(name)
    for requirement in spec.child("updatePolicy").children("evictionRequirements"):
        requirement.texts("resources")
        requirement.text("changeRequirement")
    for recommender in spec.children("recommenders"):
        recommender.text("name")


def _policy(node: JsonNode) -> SubmittedPolicy:
    """Read one container policy."""
    return SubmittedPolicy(
        container_name=node.text("containerName") or "",
        mode=node.text("mode"),
        min_allowed=node.quantities("minAllowed"),
        max_allowed=node.quantities("maxAllowed"),
        controlled_values=node.text("controlledValues"),
        controlled_resources=node.texts("controlledResources"),
        oom_bump_up_ratio=node.quantity("oomBumpUpRatio"),
        oom_min_bump_up=node.quantity("oomMinBumpUp"),
        memory_aggregation_interval_seconds=node.integer("memoryAggregationIntervalSeconds"),
        memory_aggregation_interval_count=node.integer("memoryAggregationIntervalCount", bits=64),
        startup_boost=_boost(node),
    )


def _boost(parent: JsonNode) -> SubmittedBoost | None:
    """Read ``startupBoost`` of the spec or of a container policy."""
    if not parent.has("startupBoost"):
        return None
    boost = parent.child("startupBoost")
    if not boost.has("cpu"):
        return SubmittedBoost()
    cpu = boost.child("cpu")
    cpu.integer("durationSeconds")
    return SubmittedBoost(SubmittedCpuBoost(cpu.text("type") or "", cpu.integer("factor"), cpu.quantity("quantity")))
