"""Accept or refuse a VPA object, and fill in its default (spec: admission:5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from admission.field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from admission.patch_operation import PatchOperation
from admission.submitted_vpa import (
    SubmittedBoost,
    SubmittedCpuBoost,
    SubmittedPolicy,
    SubmittedUpdatePolicy,
    SubmittedVpa,
)
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY, in_order
from autoscaling.vpa import (
    LONGEST_STRATEGY,
    BoostType,
    ControlledValues,
    ScalingMode,
    UpdateMode,
    is_strategy_name,
)

_CURRENT_MODES = tuple(sorted(mode.value for mode in UpdateMode if mode is not UpdateMode.AUTO))
_ALL_MODES = frozenset(mode.value for mode in UpdateMode)
_SCALING_MODES = tuple(mode.value for mode in ScalingMode)
_BOOST_TYPES = tuple(kind.value for kind in BoostType)
_AUTO_ISSUE = "https://github.com/kubernetes/autoscaler/issues/8424"


@dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates that validation asks for; all are off by default."""

    cpu_startup_boost: bool = False
    in_place: bool = False
    per_vpa_config: bool = False


@dataclass(frozen=True, slots=True)
class Validation:
    """Outcome for one object.

    Args:
        errors: Everything that is wrong, in the order of the rules; empty for an object that is accepted.
        warnings: For whoever submitted the object, also when it is refused.
    """

    errors: tuple[FieldError, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What may be used: by a gate, or because the object had it before."""

    startup_boost: bool
    in_place: bool
    per_vpa_config: bool
    resources: frozenset[str]


def validate(vpa: SubmittedVpa, old: SubmittedVpa, gates: Gates) -> Validation:
    """Check a VPA against every rule.

    Args:
        vpa: The object as submitted.
        old: The object before an update; an empty one on creation. What it used of gated fields stays usable.
        gates: The feature gates in force.

    Spec: admission:5; warnings admission:4.3. A missing targetRef is the schema's business, as it is upstream.
    """
    allowed = _allowed(old, gates)
    return Validation(tuple(_spec_errors(vpa, allowed)), tuple(_warnings(vpa, allowed)))


def default_patch(vpa: SubmittedVpa) -> tuple[PatchOperation, ...]:
    """Return the patch that fills in the update policy where there is none, the only default (spec: admission:5)."""
    if vpa.update_policy is not None:
        return ()
    return (PatchOperation("/spec/updatePolicy", {"updateMode": UpdateMode.RECREATE.value}),)


def _allowed(old: SubmittedVpa, gates: Gates) -> _Allowed:
    """Combine the gates with what the old object used."""
    had_boost = (old.startup_boost is not None and old.startup_boost.cpu is not None) or any(
        policy.startup_boost is not None for policy in old.policies
    )
    update = old.update_policy
    had_settings = (update is not None and update.evict_after_oom_seconds is not None) or any(
        policy.has_own_settings for policy in old.policies
    )
    return _Allowed(
        startup_boost=gates.cpu_startup_boost or had_boost,
        in_place=gates.in_place or (update is not None and update.mode == UpdateMode.IN_PLACE.value),
        per_vpa_config=gates.per_vpa_config or had_settings,
        resources=frozenset(name for policy in old.policies for name in policy.controlled_resources or ()),
    )


def _warnings(vpa: SubmittedVpa, allowed: _Allowed) -> Iterator[str]:
    """Yield the deprecated mode first, then each resource that only an existing object may name."""
    if vpa.update_policy is not None and vpa.update_policy.mode == UpdateMode.AUTO.value:
        yield (
            f'spec.updatePolicy: update mode "Auto" is deprecated; choose one of [{" ".join(_CURRENT_MODES)}] '
            f"(see {_AUTO_ISSUE})"
        )
    for path, policy in _policies(vpa):
        for index, name in enumerate(policy.controlled_resources or ()):
            if name not in CONTROLLED and name in allowed.resources:
                yield (
                    f'{path}.controlledResources[{index}]: "{name}" is not supported and has no effect; it is let '
                    f"through because the object had it before; supported are {CPU}, {MEMORY}"
                )


def _policies(vpa: SubmittedVpa) -> Iterator[tuple[str, SubmittedPolicy]]:
    """Yield each container policy with its path."""
    for index, policy in enumerate(vpa.policies):
        yield f"spec.resourcePolicy.containerPolicies[{index}]", policy


def _spec_errors(vpa: SubmittedVpa, allowed: _Allowed) -> Iterator[FieldError]:
    """Yield the errors of the whole spec in the order of its fields."""
    if vpa.update_policy is not None:
        yield from _update_policy_errors(vpa.update_policy, allowed)
    for path, policy in _policies(vpa):
        yield from _policy_errors(path, policy, allowed)
    yield from _boost_errors("spec.startupBoost", vpa.startup_boost, allowed)
    if vpa.recommender_count > 1:
        yield too_many("spec.recommenders", vpa.recommender_count, 1)
    if vpa.strategy is not None and not is_strategy_name(vpa.strategy):
        detail = f"a strategy has a name of at most {LONGEST_STRATEGY} lower-case letters, digits and inner hyphens"
        yield invalid("spec.recommender.strategy", vpa.strategy, detail)


def _update_policy_errors(policy: SubmittedUpdatePolicy, allowed: _Allowed) -> Iterator[FieldError]:
    """Yield the errors of ``spec.updatePolicy``."""
    path = "spec.updatePolicy"
    if policy.mode is None:
        yield required(f"{path}.updateMode", "an update policy needs a mode, such as InPlaceOrRecreate")
    elif policy.mode not in _ALL_MODES:
        yield not_supported(f"{path}.updateMode", policy.mode, _CURRENT_MODES)
    elif policy.mode == UpdateMode.IN_PLACE.value and not allowed.in_place:
        yield forbidden(
            f"{path}.updateMode",
            "mode InPlace needs --feature-gates=InPlace=true on the admission controller and the updater",
        )
    if policy.min_replicas is not None and policy.min_replicas <= 0:
        yield invalid(f"{path}.minReplicas", policy.min_replicas, "it has to be at least 1")
    yield from _gated_minimum(f"{path}.evictAfterOOMSeconds", policy.evict_after_oom_seconds, allowed, least=1)
    timeouts = {
        "inPlaceDeferredTimeoutSeconds": policy.deferred_timeout_seconds,
        "inPlaceProgressTimeoutSeconds": policy.progress_timeout_seconds,
    }
    for name, seconds in timeouts.items():
        if seconds is not None and seconds < 1:
            yield invalid(f"{path}.{name}", seconds, "it has to be at least 1")


def _policy_errors(path: str, policy: SubmittedPolicy, allowed: _Allowed) -> Iterator[FieldError]:
    """Yield the errors of one container policy."""
    if not policy.container_name:
        yield required(f"{path}.containerName", "name a container, or * for all that have no policy of their own")
    if policy.mode is not None and policy.mode not in _SCALING_MODES:
        yield not_supported(f"{path}.mode", policy.mode, _SCALING_MODES)
    yield from _bound_errors(path, policy)
    is_off = policy.mode == ScalingMode.OFF.value
    if is_off and policy.controlled_values == ControlledValues.REQUESTS_AND_LIMITS.value:
        yield forbidden(
            f"{path}.controlledValues",
            "a container with mode Off is not scaled, so limits cannot be asked for; drop this field or the mode",
        )
    for index, name in enumerate(policy.controlled_resources or ()):
        if name not in CONTROLLED and name not in allowed.resources:
            yield not_supported(f"{path}.controlledResources[{index}]", name, CONTROLLED)
    yield from _own_setting_errors(path, policy, allowed)
    yield from _boost_errors(f"{path}.startupBoost", policy.startup_boost, allowed)


def _bound_errors(path: str, policy: SubmittedPolicy) -> Iterator[FieldError]:
    """Yield the errors of ``minAllowed`` and ``maxAllowed``."""
    for name, lowest in in_order(policy.min_allowed):
        yield from _resolution_errors(f"{path}.minAllowed[{name}]", name, lowest)
        highest = policy.max_allowed.get(name)
        if highest is not None and highest < lowest:
            yield invalid(f"{path}.maxAllowed[{name}]", highest, f"it is below the {lowest} of minAllowed")
    for name, highest in in_order(policy.max_allowed):
        yield from _resolution_errors(f"{path}.maxAllowed[{name}]", name, highest)


def _resolution_errors(path: str, resource: str, amount: Quantity) -> Iterator[FieldError]:
    """Yield an error where an amount is finer than the resource is counted."""
    if resource == CPU and not amount.is_whole_milli():
        yield invalid(path, amount, "cpu is counted in whole millicores")
    if resource == MEMORY and not amount.is_whole_units():
        yield invalid(path, amount, "memory is counted in whole bytes")


def _own_setting_errors(path: str, policy: SubmittedPolicy, allowed: _Allowed) -> Iterator[FieldError]:
    """Yield the errors of the settings that are otherwise flags of the recommender."""
    ratio = policy.oom_bump_up_ratio
    if ratio is not None and not allowed.per_vpa_config:
        yield _needs_gate(f"{path}.oomBumpUpRatio")
    elif ratio is not None and ratio.milli_value() < 1000:
        yield invalid(f"{path}.oomBumpUpRatio", ratio, "it has to be at least 1")
    bump = policy.oom_min_bump_up
    yield from _gated_minimum(f"{path}.oomMinBumpUp", None if bump is None else bump.value(), allowed, least=0)
    seconds, count = policy.memory_aggregation_interval_seconds, policy.memory_aggregation_interval_count
    yield from _gated_minimum(f"{path}.memoryAggregationIntervalSeconds", seconds, allowed, least=1)
    yield from _gated_minimum(f"{path}.memoryAggregationIntervalCount", count, allowed, least=1)


def _gated_minimum(path: str, value: int | None, allowed: _Allowed, *, least: int) -> Iterator[FieldError]:
    """Yield the error of a setting that needs the gate for single VPAs and has a smallest value."""
    if value is None:
        return
    if not allowed.per_vpa_config:
        yield _needs_gate(path)
    elif value < least:
        yield invalid(path, value, f"it has to be at least {least}")


def _needs_gate(path: str) -> FieldError:
    """Report a setting of a single VPA without its gate."""
    return forbidden(path, "settings of single autoscalers need --feature-gates=PerVPAConfig=true")


def _boost_errors(path: str, boost: SubmittedBoost | None, allowed: _Allowed) -> Iterator[FieldError]:
    """Yield the errors of a ``startupBoost``."""
    if boost is None:
        return
    if not allowed.startup_boost:
        yield forbidden(
            path,
            "a start-up boost needs --feature-gates=CPUStartupBoost=true on the admission controller and the updater",
        )
    elif boost.cpu is not None:
        yield from _cpu_boost_errors(f"{path}.cpu", boost.cpu)


def _cpu_boost_errors(path: str, boost: SubmittedCpuBoost) -> Iterator[FieldError]:
    """Yield the errors of a ``startupBoost.cpu``."""
    if boost.type == BoostType.FACTOR.value:
        if boost.factor is None:
            yield required(f"{path}.factor", "a boost of type Factor needs one")
        elif boost.factor < 1:
            yield invalid(f"{path}.factor", boost.factor, "it has to be at least 1")
    elif boost.type == BoostType.QUANTITY.value:
        if boost.quantity is None:
            yield required(f"{path}.quantity", "a boost of type Quantity needs one")
        else:
            yield from _resolution_errors(f"{path}.quantity", CPU, boost.quantity)
    elif boost.type:
        yield not_supported(f"{path}.type", boost.type, _BOOST_TYPES)
    else:
        yield required(f"{path}.type", f"say {' or '.join(_BOOST_TYPES)}")
