"""CPU and memory amounts of a container: what it requests, its limits, and how they are looked up.

A resource list maps a resource name to a quantity. Lists are never changed in place; a missing name counts as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaling.quantity import ZERO, Quantity

CPU = "cpu"
MEMORY = "memory"
CONTROLLED = (CPU, MEMORY)
"""The resources that are recommended, in the order in which they are always walked."""

ResourceList = Mapping[str, Quantity]
"""Resource name to quantity; read only."""


def amount(resources: ResourceList | None, name: str) -> Quantity:
    """Return the quantity of one resource, zero where the list or the name is missing."""
    return resources.get(name, ZERO) if resources else ZERO


def resource_texts(resources: ResourceList) -> dict[str, str]:
    """Return a resource list as JSON has it."""
    return {name: str(value) for name, value in resources.items()}


def in_order(resources: ResourceList) -> tuple[tuple[str, Quantity], ...]:
    """Return a list's entries: cpu, memory, then the others by name."""
    names = [name for name in CONTROLLED if name in resources]
    names += sorted(set(resources) - set(CONTROLLED))
    return tuple((name, resources[name]) for name in names)


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """Requests and limits of one container.

    Args:
        requests: None where the object has no such map, which a JSON patch must know; an empty map is present.
        limits: Likewise.
    """

    requests: ResourceList | None = None
    limits: ResourceList | None = None

    def request(self, name: str) -> Quantity:
        """Return the request for one resource, zero where there is none."""
        return amount(self.requests, name)

    def limit(self, name: str) -> Quantity:
        """Return the limit for one resource, zero where there is none."""
        return amount(self.limits, name)


NO_RESOURCES = ContainerResources()
"""Neither requests nor limits."""
