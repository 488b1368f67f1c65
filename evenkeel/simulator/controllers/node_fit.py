"""Whether a node is one that a pod accepts, and that accepts the pod: labels, affinity, taints. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from evenkeel.simulator.api.fields import JsonObject, child, labels_of, number, rows, text, texts
from evenkeel.simulator.api.selectors import Operator, Requirement

UNSCHEDULABLE_TAINT: JsonObject = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""What a cordoned node counts as having, whether or not it shows it."""

NAME_FIELD = "metadata.name"
_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
    "Gt": Operator.GREATER,
    "Lt": Operator.LESS,
}


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


def taints_of(node: JsonObject) -> list[JsonObject]:
    """Return a node's taints, with the one that being cordoned stands for."""
    taints = rows(node, "spec", "taints")
    if child(node, "spec").get("unschedulable") is True and not any(
        _same_taint(t, UNSCHEDULABLE_TAINT) for t in taints
    ):
        return [*taints, UNSCHEDULABLE_TAINT]
    return taints


def untolerated(taints: Sequence[JsonObject], tolerations: Sequence[JsonObject], *effects: Effect) -> list[JsonObject]:
    """Return the taints with one of these effects that none of the tolerations meets."""
    return [
        taint
        for taint in taints
        if text(taint, "effect") in effects and not any(tolerates(toleration, taint) for toleration in tolerations)
    ]


def tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    """Say whether a toleration meets a taint; an empty effect or key stands for every one."""
    if text(toleration, "effect") not in {"", text(taint, "effect")}:
        return False
    if text(toleration, "key") not in {"", text(taint, "key")}:
        return False
    if text(toleration, "operator") == "Exists":
        return True
    return bool(text(toleration, "key")) and text(toleration, "value") == text(taint, "value")


def accepts(pod: JsonObject, node: JsonObject) -> bool:
    """Say whether a node has the labels that a pod's nodeSelector and required node affinity ask for."""
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in child(pod, "spec", "nodeSelector").items()):
        return False
    required = child(pod, "spec", "affinity", "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    if not isinstance(required, dict):
        return True
    return any(_term_matches(term, node, labels) for term in rows(required, "nodeSelectorTerms"))


def preference(pod: JsonObject, node: JsonObject) -> int:
    """Return the sum of the weights of a pod's preferred node affinity that a node meets."""
    labels = labels_of(node)
    terms = rows(pod, "spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    return sum(number(term, "weight") for term in terms if _term_matches(child(term, "preference"), node, labels))


def target_node(pod: JsonObject) -> str:
    """Return the node that a pod's required affinity binds it to by name, as DaemonSets do; empty without one."""
    affinity = child(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in rows(affinity, "nodeSelectorTerms"):
        for row in rows(term, "matchFields"):
            values = texts(row, "values")
            if text(row, "key") == NAME_FIELD and text(row, "operator") == "In" and len(values) == 1:
                return values[0]
    return ""


def _term_matches(term: JsonObject, node: JsonObject, labels: Mapping[str, str]) -> bool:
    """Say whether a node meets all conditions of one term; a term without conditions meets nothing."""
    expressions, fields = rows(term, "matchExpressions"), rows(term, "matchFields")
    if not expressions and not fields:
        return False
    own = {NAME_FIELD: text(node, "metadata", "name")}
    return all(_meets(row, labels) for row in expressions) and all(_meets(row, own) for row in fields)


def _meets(row: JsonObject, values: Mapping[str, str]) -> bool:
    """Say whether one condition holds; an operator that nobody knows never does."""
    operator = _OPERATORS.get(text(row, "operator"))
    if operator is None:
        return False
    return Requirement(text(row, "key"), operator, tuple(texts(row, "values")) or ("",)).matches(values)


def _same_taint(one: JsonObject, other: JsonObject) -> bool:
    """Say whether two taints have the same key and effect."""
    return text(one, "key") == text(other, "key") and text(one, "effect") == text(other, "effect")
