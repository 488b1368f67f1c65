"""OpenAPI documents, as kubectl reads them."""

from __future__ import annotations

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.definitions import kinds_of
from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, text
from evenkeel.simulator.api.kinds import KindRegistry
from evenkeel.simulator.api.openapi import openapi_v3
from tests.evenkeel.simulator.api.wire import definition

WIDGETS = kinds_of(definition({"type": "object", "properties": {"spec": {"type": "object", "description": "What."}}}))
REGISTRY = KindRegistry((*builtin_kinds(), *WIDGETS))


def document(root: str) -> JsonObject:
    found = openapi_v3(REGISTRY, root.split("/") if root else [], "v1")
    assert found is not None
    return found


def test_the_index_names_every_group_and_version() -> None:
    index = child(document(""), "paths")
    assert set(index) >= {"api/v1", "apis/apps/v1", "apis/example.dev/v1", "apis/metrics.k8s.io/v1beta1"}
    assert child(index, "api/v1") == {"serverRelativeURL": "/openapi/v3/api/v1"}
    assert openapi_v3(REGISTRY, ["apis", "none", "v1"], "v1") is None


def test_operations_name_their_kind_and_what_writes_take() -> None:
    paths = child(document("apis/apps/v1"), "paths")
    one = child(paths, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    patch = child(one, "patch")
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert [text(row, "name") for row in rows(patch, "parameters")] == [
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    collection = child(paths, "/apis/apps/v1/namespaces/{namespace}/deployments")
    assert (child(collection, "get")["x-kubernetes-action"], set(collection)) == ("list", {"get", "post"})
    assert "/api/v1/nodes/{name}" in child(document("api/v1"), "paths")


def test_every_reference_leads_somewhere() -> None:
    for root in child(document(""), "paths"):
        schemas = child(document(root), "components", "schemas")
        for name, schema in schemas.items():
            for target in references(as_object(schema)):
                assert target in schemas, (root, name)


def references(value: object) -> list[str]:
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    inner = as_object(value)
    own = [str(inner["$ref"]).rpartition("/")[2]] if isinstance(inner.get("$ref"), str) else []
    return own + [found for item in inner.values() for found in references(item)]


def test_built_in_and_custom_kinds_can_be_explained() -> None:
    schemas = child(document("api/v1"), "components", "schemas")
    pod = child(schemas, "v1.Pod")
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    assert child(pod, "properties", "spec")["allOf"] == [{"$ref": "#/components/schemas/v1.PodSpec"}]
    assert text(child(schemas, "v1.Container"), "properties", "image", "description")
    custom = child(document("apis/example.dev/v1"), "components", "schemas")
    widget = child(custom, "example.dev.v1.Widget")
    assert text(widget, "properties", "spec", "description") == "What."
    assert child(widget, "properties", "metadata")["allOf"] == [{"$ref": "#/components/schemas/v1.ObjectMeta"}]
    assert "v1.ObjectMeta" in custom
    metrics = child(document("apis/metrics.k8s.io/v1beta1"), "components", "schemas")
    assert child(metrics, "metrics.k8s.io.v1beta1.PodMetrics")["type"] == "object"
