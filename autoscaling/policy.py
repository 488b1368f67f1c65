"""Which container policy applies, with its defaults."""

from __future__ import annotations

from autoscaling.resources import CONTROLLED
from autoscaling.vpa import DEFAULT_CONTAINER, ContainerPolicy, ControlledValues, ScalingMode, Vpa


def container_policy(vpa: Vpa, container: str) -> ContainerPolicy | None:
    """Return the policy for a container: the first of that name, else the last one named ``*``, else None.

    A policy counts whole: nothing is filled in from ``*`` (spec: limits:S2, recommender:3.2).
    """
    policies = vpa.container_policies or ()
    exact = next((p for p in policies if p.container_name == container), None)
    return exact or next((p for p in reversed(policies) if p.container_name == DEFAULT_CONTAINER), None)


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
