"""Which writes a webhook or a policy is about."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.admission_matching import (
    condition_faults,
    conditions_hold,
    expression_faults,
    is_exempt,
    is_selected,
    namespace_of,
    rule_matches,
    values_of,
)
from evenkeel.simulator.api.admission_request import Operation, Review
from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.calls import Call, Request, Target, User
from evenkeel.simulator.api.expressions import ExpressionError
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.server import ApiServer

KINDS = {kind.kind: kind for kind in builtin_kinds()}
RULE: JsonObject = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}


def review(kind: str = "Pod", subresource: str = "", **labels: str) -> Review:
    target = Target(KINDS[kind], "default" if KINDS[kind].namespaced else "", "a", subresource)
    obj: JsonObject = {"metadata": {"name": "a", "labels": dict(labels)}}
    return Review(Call(Request("PATCH", "/", {}, {}), target, "patch", User("joe")), Operation.UPDATE, obj, obj)


@pytest.mark.parametrize(
    ("change", "subresource", "matches"),
    [
        ({}, "", True),
        ({"operations": ["CREATE"]}, "", False),
        ({"operations": ["*"]}, "", True),
        ({"apiGroups": ["apps"]}, "", False),
        ({"apiGroups": ["*"]}, "", True),
        ({"apiVersions": ["v2"]}, "", False),
        ({}, "resize", False),
        ({"resources": ["pods/resize"]}, "resize", True),
        ({"resources": ["pods/*"]}, "resize", True),
        ({"resources": ["pods/*"]}, "", True),
        ({"resources": ["*"]}, "resize", False),
        ({"resources": ["*/*"]}, "resize", True),
        ({"resources": ["nodes"]}, "", False),
        ({"scope": "Namespaced"}, "", True),
        ({"scope": "Cluster"}, "", False),
        ({"resourceNames": ["a"]}, "", True),
        ({"resourceNames": ["b"]}, "", False),
    ],
)
def test_rules(change: JsonObject, subresource: str, matches: bool) -> None:
    assert rule_matches(RULE | change, review(subresource=subresource)) is matches


def test_selectors() -> None:
    server = ApiServer()
    server.store.merge(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"env": "prod"}}}
    )

    def selected(kind: str = "Pod", **selectors: JsonObject) -> bool:
        return is_selected(server.store, dict(selectors), review(kind, app="web"))

    assert selected()
    assert selected(objectSelector={"matchLabels": {"app": "web"}})
    assert not selected(objectSelector={"matchLabels": {"app": "db"}})
    assert selected(namespaceSelector={"matchLabels": {"env": "prod"}})
    assert not selected(namespaceSelector={"matchLabels": {"env": "test"}})
    assert selected("Node", namespaceSelector={"matchLabels": {"env": "test"}})
    assert selected("Namespace", namespaceSelector={"matchLabels": {"app": "web"}})
    assert not selected("Namespace", namespaceSelector={"matchLabels": {"app": "db"}})
    found = namespace_of(server.store, review())
    assert found is not None
    assert namespace_of(server.store, review("Node")) is None


def test_admission_itself_is_exempt() -> None:
    assert is_exempt(review("MutatingWebhookConfiguration"))
    assert is_exempt(review("ValidatingAdmissionPolicy"))
    assert not is_exempt(review())


@pytest.mark.parametrize(
    ("expressions", "holds"),
    [
        ([], True),
        (["object.metadata.name == 'a'"], True),
        (["true", "object.metadata.name == 'b'"], False),
        (["object.absent == 1", "false"], False),
        (["request.name == 'a' && request.namespace == 'default' && request.operation == 'UPDATE'"], True),
    ],
)
def test_conditions(expressions: list[str], holds: bool) -> None:
    owner: JsonObject = {"matchConditions": [{"name": "c", "expression": text} for text in expressions]}
    assert conditions_hold(owner, values_of(review(), "id")) is holds


def test_conditions_that_cannot_be_decided() -> None:
    owner: JsonObject = {"matchConditions": [{"expression": "object.absent == 1"}, {"expression": "true"}]}
    with pytest.raises(ExpressionError, match="absent"):
        conditions_hold(owner, values_of(review(), "id"))


def test_faults() -> None:
    owner: JsonObject = {"matchConditions": [{"name": "c", "expression": "true"}, {"expression": "object.("}]}
    found = [(cause.type.value, cause.field) for cause in condition_faults(owner, "webhooks[0].")]
    assert found == [
        ("FieldValueRequired", "webhooks[0].matchConditions[1].name"),
        ("FieldValueInvalid", "webhooks[0].matchConditions[1].expression"),
    ]
    assert list(expression_faults("object.x", "f", {"object": "dyn"}, ())) == []
    (cause,) = expression_faults("object.x", "f", {"object": "dyn"})
    assert "must be of type bool, and is of type dyn" in cause.message
