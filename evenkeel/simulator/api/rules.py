"""The validation rules of custom kinds' schemas (``x-kubernetes-validations``), read once and held against objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from evenkeel.simulator.api.expressions import (
    BOOLEAN,
    DYNAMIC,
    TEXT,
    Expression,
    ExpressionError,
    moment_value,
    read_expression,
)
from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, text, texts
from evenkeel.simulator.api.status import Cause, CauseType

RULES = "x-kubernetes-validations"
_OLD_SELF = re.compile(r"\boldSelf\b")
_CAUSES = {
    "FieldValueForbidden": (CauseType.FORBIDDEN, "Forbidden"),
    "FieldValueRequired": (CauseType.REQUIRED, "Required value"),
    "FieldValueDuplicate": (CauseType.DUPLICATE, "Duplicate value"),
}
_INVALID = (CauseType.INVALID, "Invalid value")


@dataclass(frozen=True, slots=True)
class Sides:
    """A value, and the one it replaces if there was one.

    Args:
        value: The value.
        old: The earlier value.
        is_change: Whether there is an earlier value.
    """

    value: object
    old: object = None
    is_change: bool = False

    def below(self, pick: Callable[[object], tuple[bool, object]], value: object) -> Sides:
        """Return a part of the value with the part of the earlier one that it replaces, which is picked from there."""
        found, old = pick(self.old) if self.is_change else (False, None)
        return Sides(value, old, found)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Args:
        expression: Must hold.
        message: Said when it does not; empty for the rule itself.
        message_expression: Makes the message instead.
        cause: Type of the refusal's cause, with the words that begin its text.
        field_path: Path of the field at fault, from the value that the rule is about.
        is_transition: Whether it compares with the earlier value.
    """

    expression: Expression
    message: str
    message_expression: Expression | None
    cause: tuple[CauseType, str]
    field_path: str
    is_transition: bool

    def check(self, sides: Sides, path: str) -> Cause | None:
        """Return what is wrong with a value; a value that has not changed is not held against rules anew."""
        if sides.is_change and not self.is_transition and sides.old == sides.value:
            return None
        if self.is_transition and not sides.is_change:
            return None
        names = {"self": sides.value} | ({"oldSelf": sides.old} if self.is_transition else {})
        where = path + self.field_path if path else self.field_path.removeprefix(".")
        kind, word = self.cause
        try:
            if self.expression.holds(names):
                return None
        except ExpressionError as error:
            return Cause(CauseType.INVALID, path, f"Invalid value: the rule cannot be held against this: {error}")
        return Cause(kind, where, f"{word}: {self._said(names)}")

    def _said(self, names: Mapping[str, object]) -> str:
        """Return the message of a broken rule."""
        otherwise = self.message or f"broken rule: {self.expression.text}"
        if self.message_expression is None:
            return otherwise
        try:
            made = self.message_expression.value(names)
        except ExpressionError:
            return otherwise
        return made if isinstance(made, str) and made.strip() else otherwise


@dataclass(frozen=True, slots=True)
class RuleTree:
    """The rules of a schema and of its parts, without the parts that have none.

    Args:
        rules: Rules about the value itself.
        properties: Rules about its named members.
        additional: Rules about its other members.
        items: Rules about its items.
        keys: Keys by which its items are known again.
        moments: The schema, where there are times in the value: expressions compare them as such.
    """

    rules: tuple[Rule, ...] = ()
    properties: Mapping[str, RuleTree] = field(default_factory=dict)
    additional: RuleTree | None = None
    items: RuleTree | None = None
    keys: tuple[str, ...] = ()
    moments: JsonObject | None = None

    def check(self, sides: Sides, path: str = "") -> Iterator[Cause]:
        """Yield what is wrong with a value and its parts."""
        shown = sides if self.moments is None or not self.rules else _with_moments(self.moments, sides)
        for rule in self.rules:
            cause = rule.check(shown, path)
            if cause is not None:
                yield cause
        value = sides.value
        if isinstance(value, dict):
            yield from self._check_members(sides, as_object(value), path)
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                yield from self.items.check(sides.below(self._item_like(item), item), f"{path}[{index}]")

    def _check_members(self, sides: Sides, value: JsonObject, path: str) -> Iterator[Cause]:
        """Yield what is wrong with an object's members."""
        for name, inner in value.items():
            tree = self.properties.get(name, self.additional)
            if tree is not None:
                where = f"{path}.{name}" if path else name
                yield from tree.check(sides.below(_member(name), inner), where)

    def _item_like(self, item: object) -> Callable[[object], tuple[bool, object]]:
        """Return what picks, from an earlier list, the item with the same keys."""

        def pick(old: object) -> tuple[bool, object]:
            if not self.keys or not isinstance(old, list):
                return False, None
            wanted = [as_object(item).get(key) for key in self.keys]
            same = [other for other in old if [as_object(other).get(key) for key in self.keys] == wanted]
            return (True, same[0]) if same else (False, None)

        return pick


def _parts(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the schemas of a value's parts."""
    yield from (as_object(part) for part in child(schema, "properties").values())
    for keyword in ("additionalProperties", "items"):
        if isinstance(schema.get(keyword), dict):
            yield child(schema, keyword)


def _has_moments(schema: JsonObject) -> bool:
    """Say whether there are times in the values of a schema."""
    return schema.get("format") == "date-time" or any(_has_moments(part) for part in _parts(schema))


def _with_moments(schema: JsonObject, sides: Sides) -> Sides:
    """Return a value and the one it replaces with times in them instead of their text."""
    return Sides(_moments(schema, sides.value), _moments(schema, sides.old), sides.is_change)


def _moments(schema: JsonObject, value: object) -> object:
    """Return a value with times instead of their text."""
    if isinstance(value, dict):
        properties, additional = child(schema, "properties"), child(schema, "additionalProperties")
        return {name: _moments(as_object(properties.get(name, additional)), inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_moments(child(schema, "items"), item) for item in value]
    return moment_value(value) if schema.get("format") == "date-time" and isinstance(value, str) else value


def _member(name: str) -> Callable[[object], tuple[bool, object]]:
    """Return what picks a member from an earlier object."""
    return lambda old: (name in as_object(old), as_object(old).get(name))


def rules_of(schema: JsonObject) -> RuleTree | None:
    """Return the rules of a schema and its parts, None when there are none.

    Raises:
        ExpressionError: A rule cannot be read.
    """
    properties = {name: rules_of(as_object(part)) for name, part in child(schema, "properties").items()}
    tree = RuleTree(
        tuple(read_rule(row) for row in rows(schema, RULES)),
        {name: part for name, part in properties.items() if part is not None},
        _inner(schema, "additionalProperties"),
        _inner(schema, "items"),
        tuple(texts(schema, "x-kubernetes-list-map-keys")),
        schema if _has_moments(schema) else None,
    )
    return tree if tree.rules or tree.properties or tree.additional or tree.items else None


def _inner(schema: JsonObject, keyword: str) -> RuleTree | None:
    """Return the rules of the schema that a keyword holds."""
    inner = schema.get(keyword)
    return rules_of(as_object(inner)) if isinstance(inner, dict) else None


def read_rule(row: JsonObject) -> Rule:
    """Read one rule.

    Raises:
        ExpressionError: It cannot be read, or is no rule.
    """
    written, made = text(row, "rule"), text(row, "messageExpression")
    is_transition = bool(_OLD_SELF.search(written))
    if row.get("optionalOldSelf"):
        raise ExpressionError("optionalOldSelf is not offered here; write a rule without it")
    types = {"self": DYNAMIC} | ({"oldSelf": DYNAMIC} if is_transition else {})
    expression = read_expression(written, types)
    if expression.type not in {BOOLEAN, DYNAMIC}:
        raise ExpressionError(f"rule {written!r} must be true or false, and is of type {expression.type}")
    message = read_expression(made, types) if made else None
    if message is not None and message.type not in {TEXT, DYNAMIC}:
        raise ExpressionError(f"messageExpression {made!r} must be a text, and is of type {message.type}")
    cause = _CAUSES.get(text(row, "reason"), _INVALID)
    return Rule(expression, text(row, "message").strip(), message, cause, text(row, "fieldPath"), is_transition)
