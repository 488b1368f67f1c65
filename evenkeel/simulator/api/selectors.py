"""Label and field selectors: parsed once, then asked per object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypedDict

import msgspec

from evenkeel.simulator.api.fields import JsonObject, as_object, child, decode, rows, text, texts, value_at
from evenkeel.simulator.api.status import StatusError, bad_request
from evenkeel.simulator.api.store import Stored


class Operator(Enum):
    """How a requirement compares."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    NOT_EXISTS = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; all of a selector's must hold."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Say whether labels meet this condition; a missing label meets every negative one."""
        value = str(labels[self.key]) if self.key in labels else None
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.NOT_EXISTS:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return value is not None and _compares(value, self.operator, self.values[0])


def _compares(value: str, operator: Operator, bound: str) -> bool:
    """Compare two labels as whole numbers; anything else never matches."""
    try:
        left, right = int(value), int(bound)
    except ValueError:
        return False
    return left > right if operator is Operator.GREATER else left < right


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; an empty one matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Say whether labels meet every requirement."""
        for requirement in self.requirements:  # noqa: SIM110 - asked of every object, and a generator costs more
            if not requirement.matches(labels):
                return False
        return True


_KEY = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_TERM = re.compile(
    rf"\s*(?:(?P<not>!)\s*(?P<absent>{_KEY})"
    rf"|(?P<key>{_KEY})\s*(?:(?P<set>\b(?:in|notin)\b)\s*\((?P<members>[^)]*)\)"
    r"|(?P<op>==|=|!=|>|<)\s*(?P<value>[-A-Za-z0-9_.]*))?)\s*(?:,|$)",
)
_EQUALITY = {"=": Operator.IN, "==": Operator.IN, "!=": Operator.NOT_IN, ">": Operator.GREATER, "<": Operator.LESS}


def parse_label_selector(selector: str) -> LabelSelector:
    """Read a selector as written in a query, such as ``app=web,tier in (a,b),!legacy``.

    Raises:
        StatusError: It cannot be read (400).
    """
    found: list[Requirement] = []
    position = 0
    while position < len(selector.rstrip()):
        term = _TERM.match(selector, position)
        if term is None or term.end() == position:
            raise bad_request(f"label selector {selector!r} cannot be read from character {position} on")
        found.append(_requirement(term))
        position = term.end()
    return LabelSelector(tuple(found))


def _requirement(term: re.Match[str]) -> Requirement:
    """Return the requirement of one matched term."""
    if term["not"]:
        return Requirement(term["absent"], Operator.NOT_EXISTS)
    if term["set"]:
        members = tuple(member.strip() for member in term["members"].split(","))
        return Requirement(term["key"], Operator(term["set"]), members)
    if term["op"]:
        return Requirement(term["key"], _EQUALITY[term["op"]], (term["value"],))
    return Requirement(term["key"], Operator.EXISTS)


_EXPRESSIONS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
}


def selector_of(selector: JsonObject) -> LabelSelector:
    """Read a selector as objects hold it, with matchLabels and matchExpressions.

    Raises:
        StatusError: An operator is unknown (400).
    """
    found = [Requirement(k, Operator.IN, (str(v),)) for k, v in child(selector, "matchLabels").items()]
    for expression in rows(selector, "matchExpressions"):
        operator = _EXPRESSIONS.get(text(expression, "operator"))
        if operator is None:
            raise bad_request(f"{text(expression, 'operator')!r} is not a label selector operator")
        found.append(Requirement(text(expression, "key"), operator, tuple(texts(expression, "values"))))
    return LabelSelector(tuple(found))


def selector_text(selector: object) -> str:
    """Return a workload's selector, of either form, as queries spell it."""
    whole: JsonObject = selector if isinstance(selector, dict) else {}
    simple = child(whole, "matchLabels") if "matchLabels" in whole or "matchExpressions" in whole else whole
    terms = [f"{key}={value}" for key, value in sorted(simple.items())]
    for expression in rows(whole, "matchExpressions"):
        key, values = text(expression, "key"), expression.get("values")
        listed = ",".join(sorted(str(value) for value in values)) if isinstance(values, list) else ""
        shapes = {
            "Exists": key,
            "DoesNotExist": f"!{key}",
            "In": f"{key} in ({listed})",
            "NotIn": f"{key} notin ({listed})",
        }
        terms.append(shapes.get(text(expression, "operator"), key))
    return ",".join(terms)


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on one field."""

    path: tuple[str, ...]
    value: str
    equal: bool

    def matches(self, body: JsonObject) -> bool:
        """Say whether an object's field has, or has not, that value; a missing field counts as empty."""
        return (_field_text(value_at(body, *self.path)) == self.value) is self.equal


def _field_text(value: object) -> str:
    """Return a field's value as selectors spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


_EVERY_KIND = ("metadata.name", "metadata.namespace")
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source.component", "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
}  # fmt: skip
_RENAMED = {"source": "source.component", "regarding": "involvedObject"}
_SPLIT_TERMS = re.compile(r"(?<!\\),")
_SPLIT_VALUE = re.compile(r"(?P<field>[^=!]+)(?P<op>==|!=|=)(?P<value>.*)")


def parse_field_selector(selector: str, plural: str) -> tuple[FieldRequirement, ...]:
    """Read a field selector such as ``spec.nodeName=n1,status.phase!=Failed``.

    Raises:
        StatusError: It cannot be read, or names a field that this kind cannot be selected by (400).
    """
    found: list[FieldRequirement] = []
    for term in filter(None, _SPLIT_TERMS.split(selector)):
        parts = _SPLIT_VALUE.fullmatch(term.strip())
        if parts is None:
            raise bad_request(f"field selector {term!r} is not of the form field=value or field!=value")
        found.append(_field_requirement(parts, plural))
    return tuple(found)


def _field_requirement(parts: re.Match[str], plural: str) -> FieldRequirement:
    """Return the requirement of one matched term."""
    name = parts["field"].strip()
    head, _, rest = name.partition(".")
    name = ".".join(filter(None, (_RENAMED.get(head, head), rest)))
    if name not in _EVERY_KIND and name not in _FIELDS.get(plural, ()):
        raise _not_selectable(name, plural)
    value = re.sub(r"\\([\\,=])", r"\1", parts["value"])
    return FieldRequirement(tuple(name.split(".")), value, parts["op"] != "!=")


def _not_selectable(name: str, plural: str) -> StatusError:
    """Refuse a field that a kind cannot be selected by."""
    known = ", ".join((*_EVERY_KIND, *_FIELDS.get(plural, ())))
    return bad_request(f"{plural} cannot be selected by field {name!r}; use one of: {known}")


class _Metadata(TypedDict, total=False):
    name: object
    namespace: object
    labels: object


class _Spec(TypedDict, total=False):
    nodeName: object
    restartPolicy: object
    schedulerName: object
    serviceAccountName: object
    hostNetwork: object
    unschedulable: object


class _Status(TypedDict, total=False):
    phase: object
    podIP: object
    nominatedNodeName: object
    successful: object
    replicas: object


class _InvolvedObject(TypedDict, total=False):
    kind: object
    namespace: object
    name: object
    uid: object
    apiVersion: object
    resourceVersion: object
    fieldPath: object


class _Source(TypedDict, total=False):
    component: object


class _Selectable(TypedDict, total=False):
    """Everything that any selector looks at: reading only this from an object's text takes a quarter of the time."""

    metadata: _Metadata
    spec: _Spec
    status: _Status
    involvedObject: _InvolvedObject
    source: _Source
    reason: object
    reportingComponent: object
    type: object


_SELECTABLE = msgspec.json.Decoder(_Selectable)


def selectable_part(raw: bytes) -> JsonObject:
    """Return what selectors look at from the JSON text of an object; more where its fields are of unusual types."""
    try:
        return as_object(_SELECTABLE.decode(raw))
    except msgspec.ValidationError:
        return as_object(decode(raw))


@dataclass(frozen=True, slots=True)
class Selection:
    """The test that two selectors of a query make of objects."""

    labels: LabelSelector
    fields: tuple[FieldRequirement, ...]

    def __call__(self, body: JsonObject) -> bool:
        """Say whether an object passes, by its body."""
        for requirement in self.fields:
            if not requirement.matches(body):
                return False
        return self.labels.matches(child(body, "metadata", "labels"))

    def finds(self, stored: Stored) -> bool:
        """Say whether a stored object passes."""
        body = stored.body_at_hand
        return self(selectable_part(stored.raw()) if body is None else body)


def predicate(labels: str, fields: str, plural: str) -> Selection | None:
    """Return the test that two selectors of a query make; None when everything passes.

    Raises:
        StatusError: One of them cannot be read (400).
    """
    selection = Selection(parse_label_selector(labels), parse_field_selector(fields, plural))
    return selection if selection.labels.requirements or selection.fields else None
