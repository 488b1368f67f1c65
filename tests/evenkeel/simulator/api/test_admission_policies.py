"""ValidatingAdmissionPolicies; codes and reasons are those of a real server of version 1.35.4."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.access import ADMIN
from evenkeel.simulator.api.admission_policies import variable_types
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, as_object, copy_of, ensure, rows, text
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, Answer, Wire, cluster, config_map, pod

pytestmark = pytest.mark.anyio
GROUP = "/apis/admissionregistration.k8s.io/v1"
API_VERSION = "admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]
MANIFEST = Path(__file__).parents[4] / "manifests" / "rbac" / "updater-pod-policy.yaml"
UPDATER = User("system:serviceaccount:evenkeel-system:evenkeel-updater")
JSON_PATCH = "application/json-patch+json"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def install(wire: Wire, spec: JsonObject, *actions: str, **binding: object) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": RULES}, **spec}}
    answer = await wire.post(f"{GROUP}/validatingadmissionpolicies", body)
    assert answer.code == 201, answer.body
    bound = {"policyName": "p", "validationActions": list(actions or ("Deny",)), **binding}
    answer = await wire.post(f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    assert answer.code == 201, answer.body


def checks(*expressions: str, **more: object) -> JsonObject:
    return {"validations": [{"expression": expression, **more} for expression in expressions]}


@pytest.mark.parametrize(
    ("spec", "code", "reason", "words"),
    [
        (checks("object.data.a == '1'"), 201, "", ""),
        (checks("object.data.a == '2'"), 422, "Invalid", "failed expression: object.data.a == '2'"),
        (checks("false", message="no"), 422, "Invalid", "no"),
        (checks("false", message="no", reason="Forbidden"), 403, "Forbidden", "no"),
        (checks("false", reason="RequestEntityTooLarge"), 413, "RequestEntityTooLarge", "failed"),
        (checks("false", messageExpression="'a is ' + string(object.data.a)"), 422, "Invalid", "a is 1"),
        (checks("false", messageExpression="string(object.absent)", message="plain"), 422, "Invalid", "plain"),
        (checks("object.absent == 1"), 422, "Invalid", "absent"),
        ({**checks("object.absent == 1"), "failurePolicy": "Ignore"}, 201, "", ""),
        (checks("true", "false", message="second"), 422, "Invalid", "second"),
        (
            {**checks("variables.n < 1"), "variables": [{"name": "n", "expression": "size(object.data)"}]},
            422,
            "Invalid",
            "variables.n < 1",
        ),
        (
            {**checks("variables.n == 1"), "variables": [{"name": "n", "expression": "object.absent"}]},
            422,
            "Invalid",
            "absent",
        ),
        (
            {
                **checks("variables.m == 2"),
                "variables": [
                    {"name": "n", "expression": "size(object.data)"},
                    {"name": "m", "expression": "variables.n + 1"},
                ],
            },
            201,
            "",
            "",
        ),
        ({**checks("false"), "matchConditions": [{"name": "c", "expression": "object.data.a == '9'"}]}, 201, "", ""),
        (
            {**checks("true"), "matchConditions": [{"name": "c", "expression": "object.absent == 1"}]},
            422,
            "Invalid",
            "absent",
        ),
        (checks("namespaceObject.metadata.name == 'default' && oldObject == null"), 201, "", ""),
        (checks("request.userInfo.username == 'kubernetes-admin' && request.name == 'c'"), 201, "", ""),
        (checks("quantity(object.data.a).isLessThan(quantity('500m'))", message="big"), 422, "Invalid", "big"),
    ],
)
async def test_validations(spec: JsonObject, code: int, reason: str, words: str) -> None:
    async with cluster() as wire:
        await install(wire, spec)
        answer = await wire.post(MAPS, config_map("c", a="1"))
        assert (answer.code, answer.body.get("reason", "")) == (code, reason), answer.body
        if code != 201:
            assert text(answer.body, "message").startswith('configmaps "c" is forbidden: policy "p", bound by "b"')
            (cause,) = rows(answer.body, "details", "causes")
            assert (words in text(cause, "message"), set(cause)) == (True, {"message"})


@pytest.mark.parametrize(
    ("actions", "code", "warned"),
    [(("Deny",), 422, False), (("Warn",), 201, True), (("Audit",), 201, False), (("Deny", "Audit"), 422, False)],
)
async def test_actions(actions: tuple[str, ...], code: int, warned: bool) -> None:
    async with cluster() as wire:
        await install(wire, checks("false", message="mind you"), *actions)
        answer = await wire.post(MAPS, config_map("c"))
        assert (answer.code, "mind you" in answer.headers.get("warning", "")) == (code, warned)


@pytest.mark.parametrize(
    ("constraints", "binding", "code"),
    [
        ({"objectSelector": {"matchLabels": {"x": "y"}}}, {}, 201),
        ({"namespaceSelector": {"matchLabels": {"x": "y"}}}, {}, 201),
        ({"excludeResourceRules": RULES}, {}, 201),
        ({}, {"matchResources": {"objectSelector": {"matchLabels": {"x": "y"}}}}, 201),
        ({}, {"matchResources": {"resourceRules": [{**RULES[0], "resources": ["pods"]}]}}, 201),
        ({}, {"matchResources": {"resourceRules": RULES}}, 422),
        ({}, {"policyName": "other"}, 201),
        ({}, {}, 422),
    ],
)
async def test_what_a_policy_is_about(constraints: JsonObject, binding: JsonObject, code: int) -> None:
    async with cluster() as wire:
        spec: JsonObject = {"matchConstraints": {"resourceRules": RULES, **constraints}, **checks("false")}
        await install(wire, spec, **binding)
        assert (await wire.post(MAPS, config_map("c"))).code == code


async def test_deletions_and_changes_are_asked_about_too() -> None:
    async with cluster() as wire:
        rule = {**RULES[0], "operations": ["UPDATE", "DELETE"]}
        spec: JsonObject = {
            "matchConstraints": {"resourceRules": [rule]},
            **checks("object == null || object.data == oldObject.data", message="fixed"),
            "matchConditions": [{"name": "c", "expression": "oldObject.metadata.name != 'free'"}],
        }
        await install(wire, spec)
        await wire.post(MAPS, config_map("c", a="1"))
        assert (await wire.patch(f"{MAPS}/c", {"metadata": {"labels": {"x": "y"}}})).code == 200
        assert (await wire.patch(f"{MAPS}/c", {"data": {"a": "2"}})).code == 422
        assert (await wire.call("DELETE", f"{MAPS}/c")).code == 200


def test_types_of_variables() -> None:
    policy: JsonObject = {
        "spec": {
            "variables": [
                {"name": "n", "expression": "1"},
                {"name": "b", "expression": "variables.n > 0"},
                {"name": "d", "expression": "object.x"},
            ]
        }
    }
    found = variable_types(policy)
    assert [found[f"variables.{name}"] for name in "nbd"] == ["int", "bool", "dyn"]


def policed() -> ApiServer:
    """Return a server with the policy that is shipped for the updater, and a pod that somebody is to change."""
    server = ApiServer(tokens={"updater": UPDATER, "admin": ADMIN})
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        server.store.create(as_object(document))
    body = pod()
    ensure(body, "metadata", "annotations").update(
        {"mine": "1", "vpaCpuStartupBoost/app": "x", "evenkeel.dev/old": "1", "vpaInPlaceUpdated": "false"}
    )
    server.store.create(body)
    return server


def annotation(name: str, value: object) -> JsonObject:
    return {"metadata": {"annotations": {name: value}}}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        (annotation("vpaInPlaceUpdated", "true"), 200),
        (annotation("vpaInPlaceUpdated", "yes"), 422),
        (annotation("evenkeel.dev/any", "1"), 200),
        (annotation("evenkeel.dev/old", None), 200),
        (annotation("vpaCpuStartupBoost/app", None), 200),
        (annotation("vpaCpuStartupBoost/app", "y"), 422),
        (annotation("mine", "2"), 422),
        (annotation("mine", None), 422),
        (annotation("new", "1"), 422),
        ({"metadata": {"labels": {"x": "y"}}}, 422),
        ({"metadata": {"finalizers": ["example.dev/keep"]}}, 422),
        ({"spec": {"activeDeadlineSeconds": 5}}, 422),
        ({"spec": {"containers": [{"name": "app", "image": "other"}]}}, 422),
    ],
)
async def test_the_updater_s_own_policy_leaves_it_its_annotations_only(patch: JsonObject, code: int) -> None:
    async with cluster(policed(), token="updater") as wire:
        answer = await wire.patch(f"{PODS}/a", patch, STRATEGIC_PATCH)
        assert answer.code == code, answer.body
    async with cluster(policed(), token="admin") as wire:
        assert (await wire.patch(f"{PODS}/a", patch, STRATEGIC_PATCH)).code == 200


async def resized(wire: Wire) -> Answer:
    operation = {"op": "replace", "path": "/spec/containers/0/resources/requests/cpu", "value": "150m"}
    return await wire.patch(f"{PODS}/a/resize", [operation], JSON_PATCH)


async def test_the_updater_s_own_policy_lets_it_resize() -> None:
    async with cluster(policed(), token="updater") as wire:
        assert (await resized(wire)).code == 200


async def test_a_pod_without_annotations_may_get_the_updater_s() -> None:
    server = policed()
    bare = copy_of(server.store.read("v1", "Pod", "a", "default"))
    ensure(bare, "metadata").pop("annotations")
    server.store.update(bare)
    async with cluster(server, token="updater") as wire:
        patch = annotation("vpaInPlaceUpdated", "true")
        assert (await wire.patch(f"{PODS}/a", patch, STRATEGIC_PATCH)).code == 200
