"""What admission policies and bindings must say; causes are those of a real server of version 1.35.4."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows
from evenkeel.simulator.api.policy_strategies import PolicyBindingStrategy, PolicyStrategy

KINDS = {kind.kind: kind for kind in builtin_kinds()}
POLICIES = PolicyStrategy(KINDS["ValidatingAdmissionPolicy"])
BINDINGS = PolicyBindingStrategy(KINDS["ValidatingAdmissionPolicyBinding"])
REQUIRED, INVALID = "FieldValueRequired", "FieldValueInvalid"
UNSUPPORTED, FORBIDDEN = "FieldValueNotSupported", "FieldValueForbidden"
SPEC: JsonObject = {
    "matchConstraints": {"resourceRules": [{"operations": ["*"], "resources": ["pods"]}]},
    "validations": [{"expression": "true"}],
}


def causes(change: JsonObject) -> list[tuple[str, str]]:
    spec = {key: value for key, value in (copy_of(SPEC) | change).items() if value is not None}
    body: JsonObject = {"metadata": {"name": "p"}, "spec": spec}
    POLICIES.set_defaults(body)
    found = [(cause.type.value, cause.field) for cause in POLICIES.validate_create(body)]
    assert [(c.type.value, c.field) for c in POLICIES.validate_update(body, body, "")] == found
    assert POLICIES.validate_update(body, body, "status") == []
    return found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"matchConstraints": None}, [(REQUIRED, "spec.matchConstraints")]),
        ({"matchConstraints": {}}, [(REQUIRED, "spec.matchConstraints.resourceRules")]),
        ({"validations": []}, [(REQUIRED, "spec.validations"), (REQUIRED, "spec.auditAnnotations")]),
        ({"validations": [{"expression": "object.foo +"}]}, [(INVALID, "spec.validations[0].expression")]),
        ({"validations": [{"expression": "1"}]}, [(INVALID, "spec.validations[0].expression")]),
        ({"validations": [{"expression": "object.a"}]}, [(INVALID, "spec.validations[0].expression")]),
        ({"validations": [{"expression": " "}]}, [(REQUIRED, "spec.validations[0].expression")]),
        ({"validations": [{"expression": "variables.z == 1"}]}, [(INVALID, "spec.validations[0].expression")]),
        ({"validations": [{"expression": "params == null"}]}, [(INVALID, "spec.validations[0].expression")]),
        (
            {"validations": [{"expression": "true", "messageExpression": "object.a"}]},
            [(INVALID, "spec.validations[0].messageExpression")],
        ),
        (
            {"validations": [{"expression": "true", "reason": "Unauthorized"}]},
            [(UNSUPPORTED, "spec.validations[0].reason")],
        ),
        ({"variables": [{"name": "v", "expression": "object.("}]}, [(INVALID, "spec.variables[0].expression")]),
        (
            {
                "variables": [{"name": "v", "expression": "true"}, {"name": "w", "expression": "variables.v"}],
                "validations": [{"expression": "variables.w"}],
            },
            [],
        ),
        (
            {"matchConditions": [{"name": "c", "expression": "object.("}]},
            [(INVALID, "spec.matchConditions[0].expression")],
        ),
        ({"failurePolicy": "Hope"}, [(UNSUPPORTED, "spec.failurePolicy")]),
        ({"paramKind": {"kind": "X", "apiVersion": "v1"}}, [(FORBIDDEN, "spec.paramKind")]),
        ({"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]}, [(FORBIDDEN, "spec.auditAnnotations")]),
    ],
)
def test_policies(change: JsonObject, found: list[tuple[str, str]]) -> None:
    assert causes(change) == found


def test_defaults_of_policies() -> None:
    body: JsonObject = {"spec": copy_of(SPEC)}
    POLICIES.set_defaults(body)
    spec = child(body, "spec")
    assert spec["failurePolicy"] == "Fail"
    match = child(spec, "matchConstraints")
    assert (match["matchPolicy"], match["namespaceSelector"], match["objectSelector"]) == ("Equivalent", {}, {})
    assert [rule["scope"] for rule in rows(match, "resourceRules")] == ["*"]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"policyName": "p", "validationActions": ["Deny"]}, []),
        ({"policyName": "p", "validationActions": ["Deny", "Audit"]}, []),
        ({"validationActions": ["Deny"]}, [(REQUIRED, "spec.policyName")]),
        ({"policyName": "p"}, [(REQUIRED, "spec.validationActions")]),
        ({"policyName": "p", "validationActions": ["Foo"]}, [(UNSUPPORTED, "spec.validationActions[0]")]),
        ({"policyName": "p", "validationActions": ["Deny", "Warn"]}, [(INVALID, "spec.validationActions")]),
        ({"policyName": "p", "validationActions": ["Deny"], "paramRef": {"name": "x"}}, [(FORBIDDEN, "spec.paramRef")]),
    ],
)
def test_bindings(spec: JsonObject, found: list[tuple[str, str]]) -> None:
    body: JsonObject = {"metadata": {"name": "b"}, "spec": spec}
    BINDINGS.set_defaults(body)
    assert [(cause.type.value, cause.field) for cause in BINDINGS.validate_create(body)] == found
    assert len(BINDINGS.validate_update(body, body, "")) == len(found)


def test_defaults_of_bindings() -> None:
    body: JsonObject = {"spec": {"matchResources": {"excludeResourceRules": [{"resources": ["pods"]}]}}}
    BINDINGS.set_defaults(body)
    match = child(body, "spec", "matchResources")
    assert (match["matchPolicy"], [rule["scope"] for rule in rows(match, "excludeResourceRules")]) == (
        "Equivalent",
        ["*"],
    )
