"""CustomResourceDefinitions over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, rows, text, value_at
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import Wire, cluster, definition, widget

pytestmark = pytest.mark.anyio
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.dev/v1/namespaces/default/widgets"
SPEC: JsonObject = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "color": {"type": "string", "default": "red"},
        "replicas": {"type": "integer"},
    },
}
STATUS: JsonObject = {"type": "object", "properties": {"ready": {"type": "integer"}, "replicas": {"type": "integer"}}}
SCHEMA: JsonObject = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC, "status": STATUS}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def define(wire: Wire, *, status: bool = True) -> None:
    answer = await wire.post(DEFINITIONS, definition(SCHEMA, status=status))
    assert answer.code == 201, answer.body


async def test_a_definition_is_established_and_its_kind_served_until_it_goes() -> None:
    async with cluster() as wire:
        assert (await wire.get(WIDGETS)).code == 404
        await define(wire)
        stored = (await wire.get(f"{DEFINITIONS}/widgets.example.dev")).body
        conditions = {text(row, "type"): text(row, "status") for row in rows(stored, "status", "conditions")}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        assert child(stored, "metadata")["generation"] == 1
        listed = (await wire.get("/apis/example.dev/v1")).body
        assert [text(row, "name") for row in rows(listed, "resources")] == ["widgets", "widgets/status"]
        assert rows(listed, "resources")[0]["shortNames"] == ["wg"]
        await wire.post(WIDGETS, widget(spec={"size": 1}))
        assert (await wire.call("DELETE", f"{DEFINITIONS}/widgets.example.dev")).code == 200
        assert (await wire.get(WIDGETS)).code == 404
        await define(wire)
        assert (await wire.get(WIDGETS)).items == []


async def test_custom_objects_are_pruned_defaulted_and_validated() -> None:
    async with cluster() as wire:
        await define(wire)
        created = await wire.post(WIDGETS, widget(spec={"size": 1, "shape": "round"}, extra=1))
        assert (created.code, created.body["spec"], "extra" in created.body) == (
            201,
            {"size": 1, "color": "red"},
            False,
        )
        assert 'unknown field \\"spec.shape\\"' in created.headers["warning"]
        for spec, cause in (
            ({"size": 0}, ("FieldValueInvalid", "spec.size")),
            ({}, ("FieldValueRequired", "spec.size")),
            ({"size": "1"}, ("FieldValueTypeInvalid", "spec.size")),
        ):
            refused = await wire.post(WIDGETS, widget("x", spec=spec))
            assert (refused.code, refused.body["reason"], refused.causes) == (422, "Invalid", [cause])
        changed = await wire.patch(f"{WIDGETS}/w", {"spec": {"size": -1}})
        assert (changed.code, changed.causes) == (422, [("FieldValueInvalid", "spec.size")])
        assert text(changed.body, "details", "kind") == "Widget"


@pytest.mark.parametrize(
    ("mode", "code", "warns"), [("Strict", 400, False), ("Warn", 201, True), ("Ignore", 201, False)]
)
async def test_clients_choose_what_unknown_fields_mean(mode: str, code: int, warns: bool) -> None:
    async with cluster() as wire:
        await define(wire)
        answer = await wire.post(f"{WIDGETS}?fieldValidation={mode}", widget(spec={"size": 1, "shape": "round"}))
        assert (answer.code, "warning" in answer.headers) == (code, warns)


async def test_the_status_subresource_splits_writes_and_generations() -> None:
    async with cluster() as wire:
        await define(wire)
        created = await wire.post(WIDGETS, widget(spec={"size": 1}, status={"ready": 1}))
        assert ("status" in created.body, child(created.body, "metadata")["generation"]) == (False, 1)
        status = await wire.patch(
            f"{WIDGETS}/w/status",
            [{"op": "add", "path": "/status", "value": {"ready": 2, "odd": 1}}],
            "application/json-patch+json",
        )
        assert (status.code, status.body["status"]) == (200, {"ready": 2})
        assert child(status.body, "metadata")["generation"] == 1
        spec = await wire.patch(f"{WIDGETS}/w", {"spec": {"size": 2}, "status": {"ready": 9}})
        assert (spec.body["status"], child(spec.body, "metadata")["generation"]) == ({"ready": 2}, 2)
        assert value_at(spec.body, "spec", "size") == 2


async def test_without_that_subresource_status_is_an_ordinary_part() -> None:
    async with cluster() as wire:
        await define(wire, status=False)
        created = await wire.post(WIDGETS, widget(spec={"size": 1}, status={"ready": 1}))
        assert created.body["status"] == {"ready": 1}
        assert (await wire.patch(f"{WIDGETS}/w/status", {"status": {}})).code == 404
        changed = await wire.patch(f"{WIDGETS}/w", {"status": {"ready": 2}})
        assert changed.body["status"] == {"ready": 2}


async def test_versions_that_are_not_served_are_not_found_and_all_share_their_objects() -> None:
    async with cluster() as wire:
        made = definition(SCHEMA)
        versions = rows(made, "spec", "versions")
        others = [
            versions[0] | {"name": "v2", "storage": False},
            versions[0] | {"name": "v0", "storage": False, "served": False},
        ]
        child(made, "spec")["versions"] = versions + others
        await wire.post(DEFINITIONS, made)
        await wire.post(WIDGETS, widget(spec={"size": 1}))
        assert (await wire.get(WIDGETS.replace("v1", "v0"))).code == 404
        shown = (await wire.get(WIDGETS.replace("v1", "v2") + "/w")).body
        assert shown["apiVersion"] == "example.dev/v2"
        group = (await wire.get("/apis/example.dev")).body
        assert [text(row, "version") for row in rows(group, "versions")] == ["v1", "v2"]


async def test_a_changed_definition_takes_effect_at_once() -> None:
    async with cluster() as wire:
        await define(wire)
        looser = definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        answer = await wire.patch(f"{DEFINITIONS}/widgets.example.dev", {"spec": looser["spec"]})
        assert answer.code == 200
        assert (await wire.post(WIDGETS, widget(any=1))).body["any"] == 1


async def test_custom_kinds_can_have_a_scale() -> None:
    async with cluster() as wire:
        made = definition(SCHEMA)
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        rows(made, "spec", "versions")[0]["subresources"] = {"scale": paths}
        await wire.post(DEFINITIONS, made)
        await wire.post(WIDGETS, widget(spec={"size": 1}))
        answer = await wire.patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}})
        assert (answer.code, answer.body["spec"]) == (200, {"replicas": 4})
        assert value_at((await wire.get(f"{WIDGETS}/w")).body, "spec", "replicas") == 4


@pytest.mark.parametrize(
    ("what", "change", "causes"),
    [
        ("name", {"metadata": {"name": "gadgets.example.dev"}}, [("FieldValueInvalid", "metadata.name")]),
        ("no versions", {"versions": []}, [("FieldValueInvalid", "spec.versions")]),
        ("no scope", {"scope": ""}, [("FieldValueRequired", "spec.scope")]),
        (
            "no schema",
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            [("FieldValueRequired", "spec.versions[0].schema.openAPIV3Schema")],
        ),
    ],
)
async def test_refused_definitions(what: str, change: JsonObject, causes: list[tuple[str, str]]) -> None:
    async with cluster() as wire:
        made = definition(SCHEMA)
        if "metadata" in change:
            made |= change
        else:
            child(made, "spec").update(change)
        answer = await wire.post(DEFINITIONS, made)
        assert (answer.code, answer.causes) == (422, causes), what


def changed(path: str, value: object) -> JsonObject:
    """Return the definition with one part of its only version set."""
    body = definition(copy_of(SCHEMA))
    part: JsonObject = rows(body, "spec", "versions")[0]
    *way, last = path.split("/")
    for name in way:
        part = as_object(part[name])
    part[last] = value
    return body


ROOT = "spec.validation.openAPIV3Schema"
PROPERTIES = "schema/openAPIV3Schema/properties/spec/properties"


@pytest.mark.parametrize(
    ("path", "value", "causes"),
    [
        (
            "schema/openAPIV3Schema/x-kubernetes-validations",
            [{"rule": "self.spec.size =="}],
            [("FieldValueInvalid", f"{ROOT}.x-kubernetes-validations[0].rule")],
        ),
        (
            f"{PROPERTIES}/size/x-kubernetes-validations",
            [{"rule": "self > 0"}, {"rule": "self + 1"}],
            [("FieldValueInvalid", f"{ROOT}.properties[spec].properties[size].x-kubernetes-validations[1].rule")],
        ),
        (
            f"{PROPERTIES}/parts",
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            [("FieldValueRequired", f"{ROOT}.properties[spec].properties[parts].items.properties[name].default")],
        ),
        (
            f"{PROPERTIES}/untyped",
            {"description": "no type"},
            [("FieldValueRequired", f"{ROOT}.properties[spec].properties[untyped].type")],
        ),
        (
            "additionalPrinterColumns",
            [{"name": "A", "type": "string", "jsonPath": ".a["}],
            [("FieldValueInvalid", "spec.versions[0].additionalPrinterColumns[0].jsonPath")],
        ),
    ],
)
async def test_definitions_with_faulty_schemas(path: str, value: object, causes: list[tuple[str, str]]) -> None:
    async with cluster() as wire:
        answer = await wire.post(DEFINITIONS, changed(path, value))
        assert (answer.code, answer.causes) == (422, causes), answer.body


async def test_rules_hold_for_objects() -> None:
    rule = {"rule": "self.size % 2 == 0", "message": "size must be even"}
    async with cluster() as wire:
        await wire.post(DEFINITIONS, changed("schema/openAPIV3Schema/properties/spec/x-kubernetes-validations", [rule]))
        assert (await wire.post(WIDGETS, widget(spec={"size": 2}))).code == 201
        answer = await wire.patch(f"{WIDGETS}/w", {"spec": {"size": 3}})
        assert (answer.code, answer.causes) == (422, [("FieldValueInvalid", "spec")])
        assert "size must be even" in text(answer.body, "message")
        wire.server.store.merge(widget(spec={"size": 5}))
        assert (await wire.patch(f"{WIDGETS}/w", {"metadata": {"labels": {"x": "y"}}})).code == 200
        assert (await wire.patch(f"{WIDGETS}/w", {"spec": {"color": "blue"}})).code == 422


OWN = Path(__file__).parents[4] / "manifests" / "crd" / "verticalpodautoscalers.yaml"
AUTOSCALERS = "/apis/autoscaling.evenkeel.dev/v1/namespaces/default/verticalpodautoscalers"
POLICIES = "spec.resourcePolicy.containerPolicies"
FACTOR: JsonObject = {"type": "Factor", "factor": 2}
QUANTITY: JsonObject = {"type": "Quantity", "quantity": "1"}


def autoscaler(policy: JsonObject | None = None, **spec: object) -> JsonObject:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    policies = {"resourcePolicy": {"containerPolicies": [{"containerName": "*", **policy}]}} if policy else {}
    body = {"apiVersion": "autoscaling.evenkeel.dev/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"}}
    return {**body, "spec": {"targetRef": target, **policies, **spec}}


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        (autoscaler(), []),
        (autoscaler(startupBoost={"cpu": FACTOR}), []),
        (autoscaler(startupBoost={"cpu": QUANTITY}), []),
        (autoscaler(startupBoost={"cpu": {"type": "Factor"}}), [("FieldValueInvalid", "spec.startupBoost.cpu")]),
        (autoscaler(startupBoost={"cpu": {**FACTOR, "quantity": 1}}), [("FieldValueInvalid", "spec.startupBoost.cpu")]),
        (autoscaler(startupBoost={"cpu": {"type": "Quantity"}}), [("FieldValueInvalid", "spec.startupBoost.cpu")]),
        (
            autoscaler({"startupBoost": {"cpu": {**QUANTITY, "factor": 2}}}),
            [("FieldValueInvalid", f"{POLICIES}[0].startupBoost.cpu")],
        ),
        (autoscaler({"minAllowed": {"cpu": "500m"}, "maxAllowed": {"cpu": 1, "memory": "1Gi"}}), []),
        (autoscaler({"minAllowed": {"cpu": "1"}, "maxAllowed": {"cpu": "1000m"}}), []),
        (
            autoscaler({"minAllowed": {"memory": "1Gi"}, "maxAllowed": {"memory": "1G"}}),
            [("FieldValueInvalid", f"{POLICIES}[0]")],
        ),
        (
            autoscaler({"minAllowed": {"cpu": 2}, "maxAllowed": {"cpu": "1500m"}}),
            [("FieldValueInvalid", f"{POLICIES}[0]")],
        ),
    ],
)
async def test_the_rules_of_our_own_kind(body: JsonObject, causes: list[tuple[str, str]]) -> None:
    server = ApiServer()
    server.store.create(as_object(yaml.safe_load(OWN.read_text())))
    async with cluster(server) as wire:
        answer = await wire.post(AUTOSCALERS, body)
        assert (answer.code, answer.causes) == (422 if causes else 201, causes), answer.body
