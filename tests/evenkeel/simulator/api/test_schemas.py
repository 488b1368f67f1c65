"""Structural schemas: pruning, defaults, validation."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.schemas import StructuralSchema

QUANTITY: JsonObject = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
    "x-kubernetes-int-or-string": True,
}
SPEC: JsonObject = {
    "type": "object",
    "required": ["mode"],
    "properties": {
        "mode": {"type": "string", "enum": ["Off", "Auto"]},
        "replicas": {"type": "integer", "format": "int32", "minimum": 1},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "amount": QUANTITY,
        "either": {"x-kubernetes-int-or-string": True},
        "since": {"type": "string", "format": "date-time", "nullable": True},
        "limits": {"type": "object", "additionalProperties": QUANTITY},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 3}, "x-kubernetes-list-type": "set"},
        "rules": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 5}},
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
        "color": {"type": "string", "default": "red"},
        "big": {"type": "integer", "format": "int64"},
    },
}
SCHEMA = StructuralSchema({"type": "object", "properties": {"spec": SPEC, "status": {"type": "object"}}})


def test_unknown_fields_are_dropped_and_named() -> None:
    body: JsonObject = {
        "metadata": {"name": "w", "odd": 1},
        "spec": {
            "mode": "Off",
            "x": 1,
            "rules": [{"name": "a", "y": 1}],
            "limits": {"cpu": 1},
            "free": {"any": {"thing": 1}},
            "template": {"kind": "Pod", "metadata": {"z": 1}, "spec": {"gone": 1}, "other": 1},
        },
        "status": {"q": 1},
        "top": 1,
    }
    dropped = SCHEMA.prune(body)
    assert sorted(dropped) == [
        "spec.rules[0].y",
        "spec.template.other",
        "spec.template.spec.gone",
        "spec.x",
        "status.q",
        "top",
    ]
    assert body == {
        "metadata": {"name": "w", "odd": 1},
        "spec": {
            "mode": "Off",
            "rules": [{"name": "a"}],
            "limits": {"cpu": 1},
            "free": {"any": {"thing": 1}},
            "template": {"kind": "Pod", "metadata": {"z": 1}, "spec": {}},
        },
        "status": {},
    }


def test_defaults_fill_in_and_nulls_that_are_not_allowed_are_dropped() -> None:
    body: JsonObject = {"spec": {"color": None, "mode": None, "since": None, "rules": [{"name": "a"}]}}
    SCHEMA.set_defaults(body)
    assert body == {"spec": {"color": "red", "since": None, "rules": [{"name": "a", "weight": 5}]}}


def test_defaults_reach_into_maps() -> None:
    inner = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}
    schema = StructuralSchema(
        {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": inner}}}
    )
    body: JsonObject = {"m": {"a": {}}}
    schema.set_defaults(body)
    assert body == {"m": {"a": {"n": 1}}}


TYPE, VALUE, CHOICE = "FieldValueTypeInvalid", "FieldValueInvalid", "FieldValueNotSupported"


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({}, []),
        ({"mode": "Loud"}, [(CHOICE, "spec.mode")]),
        ({"replicas": 0}, [(VALUE, "spec.replicas")]),
        ({"replicas": 1}, []),
        ({"replicas": "1"}, [(TYPE, "spec.replicas")]),
        ({"replicas": 1.5}, [(TYPE, "spec.replicas")]),
        ({"replicas": True}, [(TYPE, "spec.replicas")]),
        ({"replicas": 2**31 - 1}, []),
        ({"replicas": 2**31}, [(VALUE, "spec.replicas")]),
        ({"big": 2**31}, []),
        ({"ratio": 0}, [(VALUE, "spec.ratio")]),
        ({"ratio": 0.1}, []),
        ({"amount": 1}, []),
        ({"amount": "1500m"}, []),
        ({"amount": "1.5 Gi"}, [(VALUE, "spec.amount")]),
        ({"amount": 1.5}, [(TYPE, "spec.amount")]),
        ({"either": 80}, []),
        ({"either": "80%"}, []),
        ({"either": []}, [(TYPE, "spec.either")]),
        ({"since": "2026-01-01T00:00:00Z"}, []),
        ({"since": None}, []),
        ({"since": "yesterday"}, [(TYPE, "spec.since")]),
        ({"since": "2026-01-01T00:00:00"}, [(TYPE, "spec.since")]),
        ({"limits": {"cpu": "1", "memory": "lots"}}, [(VALUE, "spec.limits.memory")]),
        ({"names": ["a", "bcde"]}, [("FieldValueTooLong", "spec.names[1]")]),
        ({"names": ["a", "a"]}, [("FieldValueDuplicate", "spec.names")]),
        ({"rules": [{"name": "a"}, {"name": "b"}]}, []),
        ({"rules": [{"name": "a"}, {"name": "a"}]}, [("FieldValueDuplicate", "spec.rules[1]")]),
        ({"rules": [{}]}, [("FieldValueRequired", "spec.rules[0].name")]),
        ({"rules": {}}, [(TYPE, "spec.rules")]),
    ],
)
def test_validation(spec: JsonObject, causes: list[tuple[str, str]]) -> None:
    found = SCHEMA.validate({"spec": {"mode": "Off"} | spec, "metadata": {"anything": 1}})
    assert [(cause.type.value, cause.field) for cause in found] == causes


def test_every_missing_field_is_named() -> None:
    schema = StructuralSchema({"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}}})
    assert [cause.field for cause in schema.validate({})] == ["a", "b"]


MANY = "FieldValueTooMany"
LONG: JsonObject = {"type": "array", "maxItems": 2, "items": {"type": "integer"}}
RULED = StructuralSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"n": {"type": "integer", "maximum": 9}, "m": {"type": "integer"}, "l": LONG},
                "x-kubernetes-validations": [{"rule": "!has(self.m) || self.m > 0", "message": "m must be positive"}],
            },
        },
    },
)


@pytest.mark.parametrize(
    ("new", "old", "causes"),
    [
        ({"m": 1}, None, []),
        ({"m": 0}, None, [(VALUE, "spec")]),
        ({"n": 10, "m": 0}, None, [(VALUE, "spec.n"), (VALUE, "<nil>")]),
        ({"n": 10}, {"n": 10}, []),
        ({"n": 11}, {"n": 10}, [(VALUE, "spec.n"), (VALUE, "<nil>")]),
        ({"n": 10, "m": 1}, {"n": 10, "m": 0}, []),
        ({"n": 10, "m": 0}, {"n": 10, "m": 0}, []),
        ({"n": 1, "m": 0}, {"n": 10, "m": 0}, [(VALUE, "spec")]),
        ({"l": [1, 2, 3]}, None, [(MANY, "spec.l"), (VALUE, "<nil>")]),
        ({"l": [1, 2, 3]}, {"l": [1, 2, 3]}, []),
        (
            {"l": [1, 2, "x"]},
            {"l": [1, 2, 3]},
            [(MANY, "spec.l"), (TYPE, "spec.l[2]"), (VALUE, "<nil>")],
        ),
    ],
)
def test_rules_come_last_and_what_was_wrong_before_may_stay(
    new: JsonObject, old: JsonObject | None, causes: list[tuple[str, str]]
) -> None:
    before: JsonObject | None = {"metadata": {}, "spec": old} if old is not None else None
    found = RULED.validate({"metadata": {}, "spec": new}, before)
    assert [(cause.type.value, cause.field) for cause in found] == causes
