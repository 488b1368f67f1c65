"""The check for structural schemas: what it accepts, and each thing it finds."""

from __future__ import annotations

import pytest

from evenkeel.crd.schema import Schema
from tests.manifests.structural import faults

_TEXT: Schema = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": _TEXT}, "required": ["a"]},
        {"type": "array", "items": _TEXT},
        {"type": "object", "additionalProperties": _TEXT},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "object", "properties": {"a": _TEXT}, "anyOf": [{"required": ["a"]}]},
    ],
)
def test_a_structural_schema_has_no_faults(schema: Schema) -> None:
    assert faults(schema) == []


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, ".: type is None"),
        ({"type": "null"}, ".: type is 'null'"),
        ({"type": "object", "properties": {"a": {"description": "b"}}}, ".a: type is None"),
        ({"type": "array", "items": {}}, "[]: type is None"),
        ({"type": "object", "additionalProperties": {}}, "{}: type is None"),
        ({"type": "array"}, ".: an array needs items"),
        ({"type": "string", "items": _TEXT}, ".: items outside an array"),
        ({"type": "string", "properties": {}}, ".: fields outside an object"),
        ({"type": "string", "x-kubernetes-int-or-string": True}, ".: int-or-string has no type"),
        ({"type": "string", "$ref": "#/a"}, ".: $ref is forbidden"),
        ({"type": "array", "items": _TEXT, "uniqueItems": True}, ".: uniqueItems is forbidden"),
        ({"type": "object", "additionalProperties": False}, ".: additionalProperties: false is forbidden"),
        (
            {"type": "object", "additionalProperties": _TEXT, "properties": {}},
            ".: properties and additionalProperties exclude each other",
        ),
        ({"type": "object", "required": ["a"]}, ".: required but not declared: ['a']"),
        ({"type": "string", "anyOf": [{"type": "string"}]}, ".: type within anyOf"),
        ({"type": "string", "allOf": [{"description": "a"}]}, ".: description within allOf"),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            ".: a map list has keys, and only a map list",
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": _TEXT}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            },
            ".: key a is not required",
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            },
            ".: key a is no scalar",
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]},
            ".: a rule needs its expression and a message",
        ),
    ],
)
def test_each_fault_is_found(schema: Schema, fault: str) -> None:
    assert faults(schema) == [fault]
