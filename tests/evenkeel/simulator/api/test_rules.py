"""Validation rules of custom kinds; what a real server of version 1.35.4 answered is the reference."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.expressions import ExpressionError
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.rules import Sides, rules_of

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "integer"}
ITEM: JsonObject = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "n": NUMBER},
    "x-kubernetes-validations": [
        {"rule": "self.n > 0", "message": "n must be positive"},
        {"rule": "self.n >= oldSelf.n", "message": "n only grows"},
    ],
}
KEYED: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": ITEM,
}
SPEC: JsonObject = {
    "type": "object",
    "properties": {
        "a": NUMBER,
        "b": TEXT,
        "m": {"type": "object", "additionalProperties": {**NUMBER, "x-kubernetes-validations": [{"rule": "self < 9"}]}},
        "l": KEYED,
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.a) || self.a < 10", "message": "a too big"},
        {"rule": "!has(self.b) || self.b != 'x'", "messageExpression": "'b is ' + self.b"},
        {"rule": "!has(self.a) || self.a != 5"},
        {"rule": "!has(self.a) || self.a != 6", "message": "six", "reason": "FieldValueForbidden", "fieldPath": ".a"},
        {"rule": "!has(self.a) || self.a != 7 || self.b == 'q'"},
        {"rule": "!has(self.a) || !has(oldSelf.a) || self.a >= oldSelf.a", "message": "a only grows"},
    ],
}
SCHEMA: JsonObject = {"type": "object", "properties": {"spec": SPEC, "plain": TEXT}}


def found(spec: JsonObject, old: JsonObject | None = None) -> list[tuple[str, str, str]]:
    tree = rules_of(SCHEMA)
    assert tree is not None
    sides = Sides({"spec": spec}, {"spec": old}, is_change=old is not None)
    return [(cause.type.value, cause.field, cause.message) for cause in tree.check(sides)]


INVALID, FORBIDDEN = "FieldValueInvalid", "FieldValueForbidden"


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"a": 1, "b": "y", "m": {"k": 1}, "l": [{"name": "x", "n": 1}]}, []),
        (
            {"a": 11, "b": "x"},
            [(INVALID, "spec", "Invalid value: a too big"), (INVALID, "spec", "Invalid value: b is x")],
        ),
        ({"a": 5}, [(INVALID, "spec", "Invalid value: broken rule: !has(self.a) || self.a != 5")]),
        ({"a": 6}, [(FORBIDDEN, "spec.a", "Forbidden: six")]),
        (
            {"l": [{"name": "x", "n": 1}, {"name": "y", "n": 0}]},
            [(INVALID, "spec.l[1]", "Invalid value: n must be positive")],
        ),
        ({"m": {"k": 9}}, [(INVALID, "spec.m.k", "Invalid value: broken rule: self < 9")]),
    ],
)
def test_new_objects(spec: JsonObject, causes: list[tuple[str, str, str]]) -> None:
    assert found(spec) == causes


def test_a_rule_without_a_value_is_broken() -> None:
    ((kind, field, message),) = found({"a": 7})
    assert (kind, field) == (INVALID, "spec")
    assert '"b"' in message
    assert [cause[1] for cause in found({"l": [{"name": "x"}]})] == ["spec.l[0]"]


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ({"a": 3}, {"a": 4}, []),
        ({"a": 3}, {"a": 2}, ["Invalid value: a only grows"]),
        ({}, {"a": 2}, []),
        ({"a": 11}, {"a": 11}, []),
        ({"a": 11}, {"a": 12}, ["Invalid value: a too big"]),
        ({"l": [{"name": "x", "n": 0}]}, {"l": [{"name": "x", "n": 0}], "b": "new"}, []),
        (
            {"l": [{"name": "x", "n": 2}]},
            {"l": [{"name": "w", "n": 1}, {"name": "x", "n": 1}]},
            ["Invalid value: n only grows"],
        ),
        ({"l": [{"name": "x", "n": 2}]}, {"l": [{"name": "y", "n": 1}]}, []),
    ],
)
def test_changed_objects(old: JsonObject, new: JsonObject, messages: list[str]) -> None:
    assert [message for _, _, message in found(new, old)] == messages


def test_times_are_compared_as_times() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "t": {"type": "string", "format": "date-time"},
            "l": {"type": "array", "items": {"type": "string", "format": "date-time"}},
            "plain": TEXT,
        },
        "x-kubernetes-validations": [
            {"rule": "self.t < timestamp('2030-01-01T00:00:00Z') && self.l.all(x, x > self.t)"}
        ],
    }
    tree = rules_of(schema)
    assert tree is not None
    good = {"t": "2026-01-01T00:00:00+01:00", "l": ["2026-01-01T00:00:00Z"], "plain": "2026"}
    assert list(tree.check(Sides(good))) == []
    assert len(list(tree.check(Sides({**good, "t": "2030-01-01T00:00:00Z"})))) == 1
    assert len(list(tree.check(Sides({**good, "l": ["2025-12-31T23:00:00Z"]})))) == 1


def test_a_schema_without_rules_has_no_tree() -> None:
    assert rules_of({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}) is None


def test_a_message_that_cannot_be_made_gives_way() -> None:
    rule: JsonObject = {"rule": "false", "message": "plain", "messageExpression": "string(self.absent)"}
    tree = rules_of({"type": "object", "x-kubernetes-validations": [rule]})
    assert tree is not None
    assert [cause.message for cause in tree.check(Sides({}))] == ["Invalid value: plain"]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"rule": "self.a =="}, "cannot be read"),
        ({"rule": "1 + 1"}, "must be true or false"),
        ({"rule": "true", "messageExpression": "1"}, "must be a text"),
        ({"rule": "self == oldSelf", "optionalOldSelf": True}, "optionalOldSelf"),
    ],
)
def test_rules_that_cannot_be_read(rule: JsonObject, why: str) -> None:
    schema: JsonObject = {"type": "object", "x-kubernetes-validations": [rule]}
    with pytest.raises(ExpressionError, match=why):
        rules_of(schema)
