"""Start and end of a CPU start-up boost (spec: admission:8, updater section 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from autoscaling.errors import InvalidObjectError
from autoscaling.pod import READY, ConditionStatus, Container, Pod
from autoscaling.policy import container_policy, controlled_values
from autoscaling.quantity import ZERO, Quantity
from autoscaling.resources import CONTROLLED, CPU, ContainerResources, ResourceList, amount
from autoscaling.scaling import proportional_limit
from autoscaling.stated_times import stated_duration
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import BoostType, ControlledValues, CpuBoost, Vpa

BOOST_ANNOTATION_PREFIX = "vpaCpuStartupBoost/"
"""Beginning of the annotations that keep a container's own resources while it is boosted; its name follows."""

_LONG_AGO = datetime(1000, 1, 1, tzinfo=UTC)
_ONE_MILLICORE = Quantity.of_milli(1)


def boost_of(vpa: Vpa, container: str) -> CpuBoost | None:
    """Return a container's boost: its policy's, whole, else the VPA's; None where there is none.

    Raises:
        InvalidObjectError: The boost that applies says nothing about CPU; upstream crashes there (beyond:B-32).
    """
    policy = container_policy(vpa, container)
    boost = policy.startup_boost if policy is not None and policy.startup_boost is not None else vpa.startup_boost
    if boost is None:
        return None
    if boost.cpu is None:
        raise InvalidObjectError(
            vpa.ref, f"startupBoost of container {container!r} is empty", remedy="set startupBoost.cpu or remove it"
        )
    return boost.cpu


def boosted_target(
    vpa: Vpa, container: Container, target: ContainerTarget, cap: Quantity | None
) -> ContainerTarget | None:
    """Return what a new container gets with its boost, None where it has none (spec: admission:8).

    What counts as the container's own is what its spec says, also where a status was submitted that says otherwise.

    Args:
        target: What it gets without a boost.
        cap: Most that a boost may come to, even below that; None for no cap.

    Raises:
        InvalidObjectError: A boost that applies is empty or cannot be reckoned.
    """
    boost = boost_of(vpa, container.name)
    if boost is None:
        return None
    current = container.resources
    base = amount(target.requests, CPU)
    if base.is_zero():
        base = current.request(CPU)
    values = controlled_values(container_policy(vpa, container.name))
    request, limits = boosted_resources(current, target.limits, boosted_cpu(vpa, base, boost, cap), values)
    return replace(target, requests={**target.requests, CPU: request}, limits=limits)


def boosted_cpu(vpa: Vpa, base: Quantity, boost: CpuBoost, cap: Quantity | None) -> Quantity:
    """Return a CPU request while it is boosted, in whole millicores.

    Args:
        vpa: Named in errors.
        base: The request without a boost.
        boost: A factor on it, or an amount that is added.
        cap: Most that a boost may come to, even below the base; None for no cap.

    Raises:
        InvalidObjectError: The factor is below 1, or what the type asks for is missing.
    """
    match boost.type:
        case BoostType.FACTOR | None:
            if boost.factor is None or boost.factor < 1:
                raise InvalidObjectError(vpa.ref, f"startup boost factor {boost.factor}", remedy="set 1 or more")
            boosted = Quantity.of_milli(base.milli_value() * boost.factor)
        case BoostType.QUANTITY:
            if boost.quantity is None:
                raise InvalidObjectError(
                    vpa.ref, "startup boost without a quantity", remedy="set startupBoost.cpu.quantity"
                )
            boosted = Quantity.of_milli(base.milli_value() + boost.quantity.milli_value())
    return cap if cap is not None and not cap.is_zero() and boosted > cap else boosted


def boosted_resources(
    current: ContainerResources, limits: ResourceList, boosted: Quantity, values: ControlledValues
) -> tuple[Quantity, ResourceList]:
    """Return the CPU request and the new limits of a boosted container (spec: admission:8 step 6).

    Args:
        current: The container's own requests and limits.
        limits: What its limits are set to without the boost.
        boosted: The boosted request.
        values: Whether limits follow.
    """
    if values is ControlledValues.REQUESTS_ONLY:
        limit = current.limit(CPU)
        # An explicit limit of zero counts here, a missing one does not.
        if CPU not in (current.limits or {}) or boosted.milli_value() <= limit.milli_value():
            return boosted, limits
        lower = limit.nano - _ONE_MILLICORE.nano
        return (Quantity(lower, limit.format) if limit > _ONE_MILLICORE else limit), limits
    follows = proportional_limit(CPU, current, boosted, ZERO).limit
    return boosted, limits if follows is None else {**limits, CPU: follows}


def original_resources_text(current: ContainerResources) -> str:
    """Return a container's own CPU and memory as the boost annotation keeps them."""

    def kept(resources: ResourceList | None) -> dict[str, str]:
        """Return cpu and memory of a list as text."""
        return {name: str(amount(resources, name)) for name in CONTROLLED if resources and name in resources}

    body = {"requests": kept(current.requests), "limits": kept(current.limits)}
    return json.dumps(body, separators=(",", ":"))


def boosted_containers(annotations: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the containers of a pod that carry a boost annotation, by name."""
    prefix = BOOST_ANNOTATION_PREFIX
    return tuple(sorted(key[len(prefix) :] for key in annotations or () if key.startswith(prefix)))


def remaining(pod: Pod, vpa: Vpa, container: str, now: datetime) -> timedelta | None:
    """Return how long a container's boost lasts on, negative once it is over; None while the pod is not Ready.

    The duration is read from the VPA as it is now; without one the boost is over as soon as the pod is Ready. A pod
    that does not say since when it is Ready has been for longer than any duration.

    Spec: updater U-2.
    """
    ready = pod.condition(READY)
    if ready is None or ready.status is not ConditionStatus.TRUE:
        return None
    return (ready.last_transition_time or _LONG_AGO) + _duration(vpa, container) - now


def is_over(pod: Pod, vpa: Vpa, container: str, now: datetime) -> bool:
    """Say whether a container's boost has expired: the pod is Ready, and for longer than the duration (updater U-2)."""
    left = remaining(pod, vpa, container, now)
    return left is not None and (not _duration(vpa, container) or left < timedelta(0))


def _duration(vpa: Vpa, container: str) -> timedelta:
    """Return the duration in force: the container policy's, else the VPA's, else none."""
    policy = container_policy(vpa, container)
    for boost in (policy.startup_boost if policy else None, vpa.startup_boost):
        if boost is not None and boost.cpu is not None and boost.cpu.duration_seconds is not None:
            return stated_duration(boost.cpu.duration_seconds)
    return timedelta(0)
