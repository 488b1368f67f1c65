"""A frozen snapshot of a node: what it has to give, and who may run on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaling.resources import ResourceList


@dataclass(frozen=True, slots=True)
class Taint:
    """One entry of ``spec.taints``; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node as one process saw it at one moment.

    Args:
        allocatable: What its pods may request in total; ``pods`` among it is how many there may be.
        is_unschedulable: ``spec.unschedulable``, set on a cordoned node.
        is_ready: Whether its condition Ready is True.
    """

    name: str
    allocatable: ResourceList = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    is_ready: bool = True
    resource_version: str = ""
