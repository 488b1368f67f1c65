"""Schemas of built-in kinds: types from the client's models, merging from the tables."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.builtin import METRICS, builtin_kinds
from evenkeel.simulator.api.builtin_schemas import (
    KEY_DEFAULTS,
    definition_name,
    definitions_of,
    metadata_schema,
    schema_of,
    shown_name,
)
from evenkeel.simulator.api.fields import JsonObject, as_object, child

LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def at(schema: JsonObject, *path: str) -> JsonObject:
    for name in path:
        schema = child(schema, "items") if name == "[]" else child(schema, "properties", name)
        assert schema, path
    return schema


def pod() -> JsonObject:
    schema = schema_of("", "v1", "Pod")
    assert schema is not None
    return schema


def test_every_stored_kind_has_a_schema() -> None:
    for kind in builtin_kinds():
        assert (schema_of(kind.group, kind.version, kind.kind) is None) == (kind.group == METRICS), kind.kind


@pytest.mark.parametrize(
    ("path", "kind", "keys"),
    [
        (("spec", "containers"), "map", ["name"]),
        (("spec", "containers", "[]", "env"), "map", ["name"]),
        (("spec", "containers", "[]", "ports"), "map", ["containerPort", "protocol"]),
        (("spec", "containers", "[]", "args"), None, None),
        (("spec", "topologySpreadConstraints"), "map", ["topologyKey", "whenUnsatisfiable"]),
        (("spec", "tolerations"), None, None),
        (("status", "conditions"), "map", ["type"]),
        (("status", "containerStatuses"), None, None),
        (("metadata", "finalizers"), "set", None),
        (("metadata", "ownerReferences"), "map", ["uid"]),
    ],
)
def test_how_lists_of_pods_merge(path: tuple[str, ...], kind: str | None, keys: list[str] | None) -> None:
    schema = at(pod(), *path)
    assert (schema["type"], schema.get(LIST), schema.get(KEYS)) == ("array", kind, keys)


def test_what_stands_for_missing_keys() -> None:
    ports = at(pod(), "spec", "containers", "[]", "ports")
    assert ports[KEY_DEFAULTS] == {"containerPort": 0, "protocol": "TCP"}
    assert at(pod(), "spec", "containers")[KEY_DEFAULTS] == {"name": ""}


def test_atomic_types_and_maps() -> None:
    assert at(pod(), "spec", "nodeSelector")[MAP] == "atomic"
    assert at(pod(), "metadata", "ownerReferences", "[]")[MAP] == "atomic"
    deployment = schema_of("apps", "v1", "Deployment")
    assert deployment is not None
    assert at(deployment, "spec", "selector")[MAP] == "atomic"
    assert MAP not in at(deployment, "spec", "template", "metadata", "labels")


def test_amounts_are_text_or_numbers() -> None:
    limits = at(pod(), "spec", "containers", "[]", "resources", "limits")
    assert child(limits, "additionalProperties")["x-kubernetes-int-or-string"] is True
    assert at(pod(), "spec", "containers", "[]", "env", "[]", "value") == {"type": "string"}
    probe = at(pod(), "spec", "containers", "[]", "livenessProbe", "httpGet", "port")
    assert probe == {"x-kubernetes-int-or-string": True}


def test_a_type_that_holds_itself_refers_to_itself() -> None:
    definition = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert definition is not None
    schema = at(definition, "spec", "versions", "[]", "schema", "openAPIV3Schema")
    assert child(schema, "properties", "properties", "additionalProperties") is schema


def test_metadata_belong_to_every_kind() -> None:
    assert at(pod(), "metadata") is not None
    assert set(child(metadata_schema(), "properties")) >= {"name", "labels", "managedFields", "generation"}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("V1PodSpec", "v1.PodSpec"),
        ("V2MetricSpec", "v2.MetricSpec"),
        ("V1beta1Subject", "v1beta1.Subject"),
        ("CoreV1Event", "core.v1.Event"),
        ("RbacV1Subject", "rbac.v1.Subject"),
        ("VersionInfo", "VersionInfo"),
    ],
)
def test_names_of_definitions(model: str, name: str) -> None:
    assert shown_name(model) == name


def test_definitions_refer_to_each_other_and_none_is_missing() -> None:
    kinds = [kind for kind in builtin_kinds() if kind.kind in {"Pod", "CronJob"}]
    found = definitions_of(kinds)
    assert {definition_name(kind) for kind in kinds} == {"v1.Pod", "v1.CronJob"}
    assert set(found) >= {"v1.Pod", "v1.CronJob", "v1.ObjectMeta", "v1.Container", "v1.JobSpec"}
    assert found["v1.Pod"]["description"]
    for name, schema in found.items():
        for field in child(schema, "properties").values():
            for target in references(as_object(field)):
                assert target in found, name
    assert set(definitions_of([], metadata=True)) == {"v1.ObjectMeta", "v1.OwnerReference", "v1.ManagedFieldsEntry"}


def references(schema: JsonObject) -> list[str]:
    parts = schema.get("allOf")
    own = [str(as_object(part)["$ref"]).rpartition("/")[2] for part in parts] if isinstance(parts, list) else []
    inner = [child(schema, "items"), child(schema, "additionalProperties")]
    return own + [name for part in inner if part for name in references(part)]
