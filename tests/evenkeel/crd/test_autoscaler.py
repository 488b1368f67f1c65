"""What the schema of a VerticalPodAutoscaler takes and refuses."""

from __future__ import annotations

import pytest

from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import STRATEGY_PATTERN
from evenkeel.crd.autoscaler import autoscaler_schema
from evenkeel.crd.schema import Json, Schema
from tests.evenkeel.crd.offline import refused_fields
from tests.manifests.custom_objects import SPECS, STATUSES, TAKEN, TARGET, Case, autoscaler
from tests.manifests.structural import as_list, as_object, at, nodes

_GROUPS = pytest.mark.parametrize("group", ApiGroup, ids=lambda group: group.name)


def _schema(group: ApiGroup) -> Schema:
    return autoscaler_schema(strict=group is ApiGroup.EVENKEEL)


def _assert_verdict(case: Case, group: ApiGroup, instance: Schema) -> None:
    expected = case.refused(group)
    fields = refused_fields(_schema(group), instance)
    assert fields == (set() if expected == TAKEN or case.server_only else {expected}), case.label


@_GROUPS
@pytest.mark.parametrize("case", SPECS, ids=lambda case: case.label)
def test_spec(case: Case, group: ApiGroup) -> None:
    """Spec: api:1.1, and admission:13.3, as a target is required."""
    _assert_verdict(case, group, autoscaler(group, case.body))


@_GROUPS
@pytest.mark.parametrize("case", STATUSES, ids=lambda case: case.label)
def test_status(case: Case, group: ApiGroup) -> None:
    """Spec: api:1.2."""
    _assert_verdict(case, group, {**autoscaler(group, {"targetRef": TARGET}), "status": case.body})


def _field_names(schema: Schema) -> dict[str, list[str]]:
    return {path: list(as_object(node["properties"])) for path, node in nodes(schema) if "properties" in node}


def test_the_own_group_has_exactly_these_fields_more() -> None:
    """Rows beyond:B-10 and beyond:B-20: what only the own group has."""
    own = _field_names(_schema(ApiGroup.EVENKEEL))
    assert own.pop(".spec.recommender") == ["strategy"]
    own[".spec"].remove("recommender")
    for name in ("inPlaceDeferredTimeoutSeconds", "inPlaceProgressTimeoutSeconds"):
        own[".spec.updatePolicy"].remove(name)
    assert own == _field_names(_schema(ApiGroup.UPSTREAM))


def test_no_field_has_a_default() -> None:
    """Spec: api:1.1."""
    for group in ApiGroup:
        assert [path for path, node in nodes(_schema(group)) if "default" in node] == []


_POLICIES = ".spec.resourcePolicy.containerPolicies"
_LONGER_RULES = {
    ".spec.updatePolicy.minReplicas": {"minimum": 1},
    _POLICIES: {
        "maxItems": 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerName"],
    },
    f"{_POLICIES}[]": {"required": ["containerName"]},
    f"{_POLICIES}[].containerName": {"minLength": 1},
    f"{_POLICIES}[].minAllowed": {"maxProperties": 32},
    f"{_POLICIES}[].minAllowed{{}}": {"maxLength": 64},
    f"{_POLICIES}[].maxAllowed": {"maxProperties": 32},
    f"{_POLICIES}[].maxAllowed{{}}": {"maxLength": 64},
    f"{_POLICIES}[].controlledResources[]": {"enum": ["cpu", "memory"]},
    f"{_POLICIES}[].startupBoost.cpu.factor": {"minimum": 1},
    ".spec.recommenders": {"maxItems": 1},
    ".spec.startupBoost.cpu.factor": {"minimum": 1},
}


def test_the_own_group_adds_exactly_these_rules() -> None:
    """Rows api:7.1, admission:13.10: whatever else differs would make an object valid in one group only by accident."""
    upstream = dict(nodes(_schema(ApiGroup.UPSTREAM)))
    added: dict[str, Schema] = {}
    for path, node in nodes(_schema(ApiGroup.EVENKEEL)):
        if path.startswith(".spec.recommender."):
            assert node["pattern"] == STRATEGY_PATTERN
            continue
        if path == ".spec.recommender":
            continue
        if path.endswith("TimeoutSeconds"):
            assert node["minimum"] == 1
            continue
        own = {key: value for key, value in node.items() if key not in {"properties", "items", "additionalProperties"}}
        base = upstream[path]
        assert all(key in own for key in base if key not in {"properties", "items", "additionalProperties"}), path
        more = {key: value for key, value in own.items() if base.get(key) != value}
        if more:
            added[path] = more
    rules = as_list(added[f"{_POLICIES}[]"].pop("x-kubernetes-validations"))
    assert len(rules) == 1
    assert "minAllowed" in str(at(rules, 0, "rule"))
    assert added == _LONGER_RULES


@pytest.mark.parametrize("path", [(), ("resourcePolicy", "properties", "containerPolicies", "items", "properties")])
def test_boosts_tie_their_amount_to_their_type(path: tuple[str, ...]) -> None:
    """Spec: api:1.1."""
    for group in ApiGroup:
        boost: Json = at(
            _schema(group), "properties", "spec", "properties", *path, "startupBoost", "properties", "cpu"
        )  # fmt: skip
        rules = [at(entry, "rule") for entry in as_list(at(boost, "x-kubernetes-validations"))]
        assert rules == [
            "(self.type == 'Factor') == has(self.factor)",
            "(self.type == 'Quantity') == has(self.quantity)",
        ]


def test_a_target_is_replaced_as_a_whole() -> None:
    """Spec: api:1.1."""
    for group in ApiGroup:
        target = at(_schema(group), "properties", "spec", "properties", "targetRef")
        assert at(target, "x-kubernetes-map-type") == "atomic"
