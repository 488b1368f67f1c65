"""Short ways to write pods, VPAs and resource lists in tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Container, Owner, Pod, PodPhase
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources, ResourceList
from autoscaling.vpa import (
    ContainerPolicy,
    ContainerRecommendation,
    Recommendation,
    TargetRef,
    UpdateMode,
    UpdatePolicy,
    Vpa,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def amounts(text: str) -> ResourceList:
    """Read ``cpu/memory``; ``-`` leaves one out, and a single ``-`` leaves both out."""
    cpu, _, memory = text.partition("/")
    pairs = ((CPU, cpu), (MEMORY, memory))
    return {name: Quantity.parse(value) for name, value in pairs if value not in {"", "-"}}


def printed(resources: ResourceList) -> dict[str, str]:
    """Return a resource list as text, to compare notation as well as amount."""
    return {name: str(value) for name, value in resources.items()}


def container(name: str, requests: str = "-", limits: str = "-") -> Container:
    """Return a container with resources written as ``cpu/memory``."""
    return Container(name, ContainerResources(amounts(requests) or None, amounts(limits) or None))


def pod(*containers: Container, name: str = "p", namespace: str = "default") -> Pod:
    """Return a running pod of ReplicaSet ``rs`` that started at T0."""
    return Pod(
        namespace=namespace,
        name=name,
        uid=f"uid-{name}",
        generation=1,
        observed_generation=1,
        labels={"app": "a"},
        owners=(Owner("apps/v1", "ReplicaSet", "rs", controller=True),),
        node_name="node1",
        phase=PodPhase.RUNNING,
        start_time=T0,
        containers=containers,
    )


def with_init_containers(base: Pod, *inits: Container) -> Pod:
    """Return a pod with these init containers, each knowing its place, before it is decided what counts."""
    placed = tuple(replace(init, init_position=position) for position, init in enumerate(inits))
    return replace(base, init_containers=placed)


def sidecar(name: str, requests: str = "-", limits: str = "-") -> Container:
    """Return a native sidecar with resources written as ``cpu/memory``."""
    return replace(container(name, requests, limits), is_sidecar=True)


def vpa(
    *recommendations: ContainerRecommendation,
    policies: Sequence[ContainerPolicy] | None = None,
    mode: UpdateMode | None = UpdateMode.IN_PLACE_OR_RECREATE,
) -> Vpa:
    """Return a VPA for Deployment ``d`` with these recommendations; without any it has none."""
    return Vpa(
        namespace="default",
        name="v",
        created=T0,
        target_ref=TargetRef("Deployment", "d", "apps/v1"),
        update_policy=UpdatePolicy(mode=mode),
        container_policies=None if policies is None else tuple(policies),
        recommendation=Recommendation(tuple(recommendations)) if recommendations else None,
    )


def recommended(name: str, target: str, lower: str | None = None, upper: str | None = None) -> ContainerRecommendation:
    """Return a recommendation written as ``cpu/memory``; bounds are the target where not given."""
    return ContainerRecommendation(
        name,
        amounts(target),
        lower_bound=amounts(target if lower is None else lower),
        upper_bound=amounts(target if upper is None else upper),
        uncapped_target=amounts(target),
    )


def limit_range(
    kind: LimitType,
    *,
    maximum: str | None = None,
    minimum: str | None = None,
    default: str | None = None,
) -> LimitRangeItem:
    """Return a LimitRange item with maps written as ``cpu/memory``."""
    maps = [None if text is None else amounts(text) for text in (maximum, minimum, default)]
    return replace(LimitRangeItem(kind), maximum=maps[0], minimum=maps[1], default=maps[2])
