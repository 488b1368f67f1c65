"""What is wrong with schemas of custom kinds; causes are those of a real server of version 1.35.4."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.schema_faults import schema_faults

REQUIRED, INVALID = "FieldValueRequired", "FieldValueInvalid"
TEXT: JsonObject = {"type": "string"}
KEYED: JsonObject = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"rule": "self.a =="}, "cannot be read"),
        ({"rule": "1 + 1"}, "must be true or false"),
        ({"rule": "true", "messageExpression": "1"}, "must be a text"),
        ({"rule": "self == oldSelf", "optionalOldSelf": True}, "optionalOldSelf"),
        ({"rule": "self.b == 'x'"}, "no field 'b'"),
        ({"rule": "self.a == 'x' && has(self.b) && has(oldSelf.c)"}, "no field 'b', 'c'"),
        ({"rule": "true", "messageExpression": "'is ' + self.b"}, "no field 'b'"),
    ],
)
def test_rules(rule: JsonObject, why: str) -> None:
    good = {"rule": "self.a == 'x'", "messageExpression": "'is ' + self.a"}
    schema: JsonObject = {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [good, rule]}
    (cause,) = schema_faults(schema, "schema")
    assert (cause.type.value, cause.field) == (INVALID, "schema.x-kubernetes-validations[1].rule")
    assert why in cause.message


def test_rules_of_a_whole_object_can_read_its_name() -> None:
    rules = [{"rule": "self.metadata.name == 'a' && self.kind != ''"}, {"rule": "has(self.metadata.labels)"}]
    schema: JsonObject = {
        "type": "object",
        "properties": {"metadata": {"type": "object"}},
        "x-kubernetes-validations": rules,
    }
    (cause,) = schema_faults(schema, "spec.validation.openAPIV3Schema")
    assert cause.field == "spec.validation.openAPIV3Schema.x-kubernetes-validations[1].rule"
    assert "'labels'" in cause.message


def test_faults_of_a_schema() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "untyped": {"properties": {"a": TEXT}},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "either": {"x-kubernetes-int-or-string": True},
            "map": {"type": "object", "additionalProperties": {"nullable": True}},
            "keyed": {**KEYED, "items": {"type": "object", "properties": {"name": TEXT}}},
            "defaulted": {**KEYED, "items": {"type": "object", "properties": {"name": {**TEXT, "default": "x"}}}},
        },
    }
    assert [(cause.type.value, cause.field) for cause in schema_faults(schema, "s")] == [
        (REQUIRED, "s.properties[untyped].type"),
        (REQUIRED, "s.properties[map].additionalProperties.type"),
        (REQUIRED, "s.properties[keyed].items.properties[name].default"),
    ]
