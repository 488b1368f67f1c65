"""Which container policy applies, with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from autoscaling.names import first_named
from autoscaling.resources import CONTROLLED
from autoscaling.vpa import DEFAULT_CONTAINER, ContainerPolicy, ControlledValues, ScalingMode, Vpa

_CONTAINER_NAME: Final[Callable[[ContainerPolicy], str]] = attrgetter("container_name")


def container_policy(vpa: Vpa, container: str) -> ContainerPolicy | None:
    """Return the policy for a container: the first of that name, else the last one named ``*``, else None.

    A policy counts whole: nothing is filled in from ``*`` (spec: limits:S2, recommender:3.2).
    """
    policies = vpa.container_policies or ()
    exact = first_named(policies, container, _CONTAINER_NAME)
    if exact is not None or first_named(policies, DEFAULT_CONTAINER, _CONTAINER_NAME) is None:
        return exact
    return next(p for p in reversed(policies) if p.container_name == DEFAULT_CONTAINER)


def scaling_mode(policy: ContainerPolicy | None) -> ScalingMode:
    """Return whether the container is scaled; Auto where nothing is said."""
    return (policy.mode if policy else None) or ScalingMode.AUTO


def controlled_values(policy: ContainerPolicy | None) -> ControlledValues:
    """Return whether limits follow; RequestsAndLimits where nothing is said."""
    return (policy.controlled_values if policy else None) or ControlledValues.REQUESTS_AND_LIMITS


def controlled_resources(policy: ContainerPolicy | None) -> tuple[str, ...]:
    """Return the recommended resources: the policy's list without unknown names, else cpu and memory."""
    listed = policy.controlled_resources if policy else None
    return CONTROLLED if listed is None else tuple(name for name in CONTROLLED if name in listed)
