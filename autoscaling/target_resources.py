"""Processed recommendation to each container's new requests and limits; shared by admission and updater."""

from __future__ import annotations

from dataclasses import dataclass, field

from autoscaling.capping import ProcessedRecommendation
from autoscaling.limitrange import NamespaceLimits
from autoscaling.pod import Container, Pod
from autoscaling.policy import container_policy, controlled_values
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, ContainerResources, ResourceList, amount
from autoscaling.scaling import proportional_limit
from autoscaling.vpa import ControlledValues, UpdateMode, Vpa


@dataclass(frozen=True, slots=True)
class ContainerTarget:
    """What one container is to get; empty lists where nothing is to be set.

    Args:
        notes: Why amounts differ from the recommendation, in the order they came about.
        held_back: What is not set, or not as wanted, for the API server to take the pod (see ``acceptable_targets``).
    """

    requests: ResourceList = field(default_factory=dict)
    limits: ResourceList = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()

    def merged_into(self, resources: ContainerResources) -> ContainerResources:
        """Return a container's resources with this set, as the API server stores them.

        A container requests what it is limited to where it requests nothing (resize 1.2).
        """
        limits = {**(resources.limits or {}), **self.limits}
        return ContainerResources({**limits, **(resources.requests or {}), **self.requests}, limits)


NOTHING = ContainerTarget()


def container_targets(
    pod: Pod,
    vpa: Vpa,
    processed: ProcessedRecommendation | None,
    limits: NamespaceLimits,
) -> tuple[ContainerTarget, ...]:
    """Return the new resources of each of ``pod.containers``, in order (updater X-2, spec: admission:7.1).

    Args:
        processed: What ``capping.process`` made of the VPA's recommendation, None where there is none.
        limits: The namespace's merged LimitRanges; the container default gives a limit to those that state none.
    """
    return tuple(_container_target(pod, vpa, container, processed, limits) for container in pod.containers)


def _container_target(
    pod: Pod,
    vpa: Vpa,
    container: Container,
    processed: ProcessedRecommendation | None,
    limits: NamespaceLimits,
) -> ContainerTarget:
    """Return the new resources of one container."""
    entry = processed.recommendation.of(container.name) if processed else None
    if processed is None or entry is None:
        return NOTHING
    notes = processed.notes.get(container.name, ())
    # In mode Off nothing but a boost is applied, and then limits follow whatever the policy says.
    policy = container_policy(vpa, container.name) if vpa.update_mode is not UpdateMode.OFF else None
    if controlled_values(policy) is ControlledValues.REQUESTS_ONLY:
        return ContainerTarget(entry.target, {}, notes)
    default = limits.container.default if limits.container else None
    new_limits, limit_notes = _limits(pod.actual_resources(container), entry.target, default)
    return ContainerTarget(entry.target, new_limits, notes + limit_notes)


def _limits(
    current: ContainerResources,
    target: ResourceList,
    default: ResourceList | None,
) -> tuple[ResourceList, tuple[str, ...]]:
    """Return limits in proportion; without any limit the notes are dropped as well (spec: limits:S3)."""
    found: dict[str, Quantity] = {}
    notes: list[str] = []
    for name in CONTROLLED:
        result = proportional_limit(name, current, amount(target, name), amount(default, name))
        if result.limit is not None:
            found[name] = result.limit
        if result.note:
            notes.append(result.note)
    return found, tuple(notes) if found else ()
