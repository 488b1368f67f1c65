"""Which writes a webhook or a policy is about: rules, selectors and match conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenkeel.simulator.api.admission_request import Review, request_of
from evenkeel.simulator.api.builtin import MUTATING_WEBHOOKS, NAMESPACES
from evenkeel.simulator.api.expressions import BOOLEAN, DYNAMIC, ExpressionError, read_expression
from evenkeel.simulator.api.fields import JsonObject, child, labels_of, rows, text, texts
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import Cause, CauseType

NAMES: Mapping[str, str] = {"object": DYNAMIC, "oldObject": DYNAMIC, "request": DYNAMIC}
"""What match conditions can speak of."""


def is_exempt(review: Review) -> bool:
    """Say whether a write is about admission itself, which neither webhooks nor policies can get hold of."""
    return review.call.target.kind.group == MUTATING_WEBHOOKS.group


def rule_matches(rule: JsonObject, review: Review) -> bool:
    """Say whether a rule of a webhook or policy covers a write."""
    target = review.call.target
    kind = target.kind
    if not _names(texts(rule, "operations"), review.operation.value):
        return False
    if not _names(texts(rule, "apiGroups"), kind.group) or not _names(texts(rule, "apiVersions"), kind.version):
        return False
    if text(rule, "scope") not in {"", "*", "Namespaced" if kind.namespaced else "Cluster"}:
        return False
    names = texts(rule, "resourceNames")
    if names and target.name not in names:
        return False
    return any(_resource_matches(pattern, kind.plural, target.subresource) for pattern in texts(rule, "resources"))


def _names(values: list[str], wanted: str) -> bool:
    """Say whether a rule's list names a value, or everything."""
    return wanted in values or "*" in values


def _resource_matches(pattern: str, plural: str, subresource: str) -> bool:
    """Say whether a resource pattern such as ``pods/resize`` or ``*/*`` covers a resource."""
    main, _, part = pattern.partition("/")
    return main in {"*", plural} and (part in {"*", subresource} if part else not subresource)


def is_selected(objects: ObjectStore, selectors: JsonObject, review: Review) -> bool:
    """Say whether the object and namespace selectors of a webhook or policy let a write through."""
    wanted = selector_of(child(selectors, "objectSelector"))
    if not any(wanted.matches(labels_of(side)) for side in (review.object, review.old) if side is not None):
        return False
    target = review.call.target
    if target.kind.resource == NAMESPACES:
        labels = labels_of(review.object or review.old or {})
    elif target.kind.namespaced:
        labels = labels_of(namespace_of(objects, review) or {})
    else:
        return True
    return selector_of(child(selectors, "namespaceSelector")).matches(labels)


def namespace_of(objects: ObjectStore, review: Review) -> JsonObject | None:
    """Return the namespace that a write happens in, None for cluster-wide kinds."""
    if not review.call.target.kind.namespaced:
        return None
    found = objects.versions.read(NAMESPACES, ("", review.call.target.namespace))
    return found.body if found else None


def values_of(review: Review, uid: str) -> dict[str, object]:
    """Return what the names of match conditions stand for."""
    return {"object": review.object, "oldObject": review.old, "request": request_of(review, uid)}


def conditions_hold(owner: JsonObject, values: Mapping[str, object], types: Mapping[str, str] = NAMES) -> bool:
    """Say whether every match condition of a webhook or policy holds.

    Raises:
        ExpressionError: None fails, and one cannot be decided.
    """
    undecided: ExpressionError | None = None
    for condition in rows(owner, "matchConditions"):
        try:
            if not read_expression(text(condition, "expression"), types).holds(values):
                return False
        except ExpressionError as error:
            undecided = undecided or error
    if undecided is not None:
        raise undecided
    return True


def condition_faults(owner: JsonObject, path: str, types: Mapping[str, str] = NAMES) -> Iterator[Cause]:
    """Yield what is wrong with the match conditions of a webhook or policy."""
    for index, condition in enumerate(rows(owner, "matchConditions")):
        where = f"{path}matchConditions[{index}]"
        if not text(condition, "name"):
            yield Cause(CauseType.REQUIRED, f"{where}.name", "Required value")
        yield from expression_faults(text(condition, "expression"), f"{where}.expression", types)


def expression_faults(
    written: str, path: str, types: Mapping[str, str], wanted: tuple[str, ...] = (BOOLEAN,)
) -> Iterator[Cause]:
    """Yield what is wrong with an expression that must be of one of some types."""
    if not written.strip():
        yield Cause(CauseType.REQUIRED, path, "Required value")
        return
    try:
        expression = read_expression(written, types)
    except ExpressionError as error:
        yield Cause(CauseType.INVALID, path, f'Invalid value: "{written}": {error}')
        return
    if wanted and expression.type not in wanted:
        message = f'Invalid value: "{written}": must be of type {wanted[0]}, and is of type {expression.type}'
        yield Cause(CauseType.INVALID, path, message)
