"""Where pods may be scheduled: node selector and required node affinity against labels, tolerations against taints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.node import Node, Taint
from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration

_NAME_FIELD: Final = "metadata.name"

_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Demands:
    """What pods ask of the nodes that they are scheduled to, told apart by value.

    Args:
        labels: Name and value of each label of the node selector.
        node_terms: Required node affinity, of which one term must hold; None where there is none.
        tolerations: Taints that they bear.
    """

    labels: frozenset[tuple[str, str]] = frozenset()
    node_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    @classmethod
    def of(cls, placement: Placement) -> Demands:
        """Return what a placement asks for."""
        return cls(frozenset(placement.node_selector.items()), placement.node_terms, placement.tolerations)

    @property
    def placement(self) -> Placement:
        """A placement that asks for this and for nothing else."""
        return Placement(dict(self.labels), self.node_terms, self.tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether one toleration bears one taint."""
    if toleration.effect not in {"", taint.effect}:
        return False
    if toleration.operator == "Exists":
        return toleration.key in {"", taint.key}
    return toleration.key == taint.key and toleration.value == taint.value


def may_run_on(node: Node, placement: Placement) -> bool:
    """Say whether a pod may be scheduled to a node, whatever room that has (beyond:B-25).

    A cordoned node counts as one with the taint that stands for that, which pods of DaemonSets tolerate.
    """
    if any(node.labels.get(key) != value for key, value in placement.node_selector.items()):
        return False
    if placement.node_terms is not None and not any(_meets(node, term) for term in placement.node_terms):
        return False
    taints = [taint for taint in node.taints if taint.effect in {"NoSchedule", "NoExecute"}]
    if node.is_unschedulable:
        taints.append(_UNSCHEDULABLE)
    return all(any(tolerates(toleration, taint) for toleration in placement.tolerations) for taint in taints)


def _meets(node: Node, term: NodeTerm) -> bool:
    """Say whether a node meets all of a term; a term without expressions is met by none."""
    if not term.labels and not term.fields:
        return False
    fields = {_NAME_FIELD: node.name}
    return all(_holds(requirement, node.labels) for requirement in term.labels) and all(
        _holds(requirement, fields) for requirement in term.fields
    )


def _holds(requirement: NodeRequirement, labels: Mapping[str, str]) -> bool:
    """Say whether one expression holds; of an operator that is not known it does not."""
    value = labels.get(requirement.key)
    rules: dict[str, Callable[[], bool]] = {
        "In": lambda: value in requirement.values,
        "NotIn": lambda: value not in requirement.values,
        "Exists": lambda: value is not None,
        "DoesNotExist": lambda: value is None,
        "Gt": lambda: _difference(value, requirement) > 0,
        "Lt": lambda: _difference(value, requirement) < 0,
    }
    rule = rules.get(requirement.operator)
    return rule is not None and rule()


def _difference(value: str | None, requirement: NodeRequirement) -> int:
    """Return by how much a label exceeds the number it is compared with, 0 where either is no whole number."""
    try:
        return int(value or "") - int(requirement.values[0])
    except (ValueError, IndexError):
        return 0
