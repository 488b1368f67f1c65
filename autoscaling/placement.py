"""What a pod's spec says of where it may run and of what it costs besides its containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaling.resources import ResourceList


@dataclass(frozen=True, slots=True)
class Toleration:
    """One entry of ``spec.tolerations``; an empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class NodeRequirement:
    """One expression of a node selector term; ``operator`` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a required node affinity: all of its expressions, on labels and on fields, must hold."""

    labels: tuple[NodeRequirement, ...] = ()
    fields: tuple[NodeRequirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod may run.

    Args:
        node_selector: Labels that a node must have.
        node_terms: Required node affinity, of which one term must hold; None where there is none.
        tolerations: Taints that it bears.
        overhead: ``spec.overhead``.
        priority: ``spec.priority``.
        priority_class: ``spec.priorityClassName``.
        is_tied: Whether something that is not reckoned with here, such as a volume, a host port, required pod
            (anti-)affinity or topology spread, may tie it to certain nodes.
        has_pod_resources: Whether ``spec.resources`` is set, so that its containers cannot be resized alone.
        requests: ``spec.resources.requests``, which count in place of the containers' sums.
        limits: ``spec.resources.limits``, likewise.
        has_deadline: Whether ``spec.activeDeadlineSeconds`` is set, which the quota scope Terminating asks for.
    """

    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    overhead: ResourceList = field(default_factory=dict)
    priority: int = 0
    priority_class: str = ""
    is_tied: bool = False
    has_pod_resources: bool = False
    requests: ResourceList = field(default_factory=dict)
    has_deadline: bool = False
    limits: ResourceList = field(default_factory=dict)
