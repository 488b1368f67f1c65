"""Admission webhooks: real HTTPS servers that the API server asks."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import timedelta

import pytest
from aiohttp import web

from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.fields import JsonObject, as_object, child, labels_of, text, value_at
from evenkeel.simulator.clock import ManualClock
from tests.evenkeel.simulator.api.hooks import (
    GROUP,
    RULE,
    Raw,
    Reply,
    deny,
    hook,
    labelling,
    register,
    webhook,
)
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, cluster, config_map, definition, pod, widget

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_webhook_is_asked_with_all_that_it_needs() -> None:
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server))
        await wire.post(PODS, pod())
        request = server.asked[0]
        assert request["kind"] == {"group": "", "version": "v1", "kind": "Pod"}
        assert request["resource"] == {"group": "", "version": "v1", "resource": "pods"}
        assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "a", "default")
        assert child(request, "userInfo")["username"] == "kubernetes-admin"
        assert (request["oldObject"], request["dryRun"]) == (None, False)
        assert value_at(request, "object", "kind") == "Pod"
        assert value_at(request, "object", "spec", "restartPolicy") == "Always"
        assert server.paths == ["/ask?timeout=10s"]
        await wire.patch(f"{PODS}/a?dryRun=All", {"metadata": {"labels": {"x": "y"}}})
        update = server.asked[1]
        assert (update["operation"], update["dryRun"]) == ("UPDATE", True)
        assert labels_of(child(update, "object")) == {"app": "a", "x": "y"}
        assert labels_of(child(update, "oldObject")) == {"app": "a"}


async def test_mutations_add_up_in_order_and_are_defaulted() -> None:
    limits = {"cpu": "1", "memory": "1Gi"}
    patch = [{"op": "add", "path": "/spec/containers/0/resources", "value": {"limits": limits}}]
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    async with cluster() as wire, hook(labelling("first", "1")) as one, hook(labelling("second", "2")) as two:
        async with hook(lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}) as three:
            await register(wire, webhook(two), name="b")
            await register(wire, webhook(one), name="a")
            await register(wire, webhook(three), name="c")
            created = await wire.post(PODS, pod())
        assert created.code == 201
        assert labels_of(created.body) == {"app": "a", "first": "1", "second": "2"}
        assert labels_of(child(two.asked[0], "object")) == {"app": "a", "first": "1"}
        resources = value_at(created.body, "spec", "containers")
        assert resources[0]["resources"] == {"limits": limits, "requests": limits}  # type: ignore[index]
        assert value_at(created.body, "status", "qosClass") == "Guaranteed"


def counting(key: str) -> Reply:
    """Answer with a label that counts how often this webhook was asked about an object."""

    def reply(request: JsonObject) -> JsonObject:
        before = labels_of(child(request, "object")).get(key, "0")
        return labelling(key, str(int(before) + 1))(request)

    return reply


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        ("Never", "Never", {"one": "1", "two": "1"}),
        ("IfNeeded", "Never", {"one": "2", "two": "1"}),
        ("Never", "IfNeeded", {"one": "1", "two": "1"}),
        ("IfNeeded", "IfNeeded", {"one": "2", "two": "2"}),
    ],
)
async def test_webhooks_are_asked_again_when_others_changed_the_object_after_them(
    first: str, second: str, labels: dict[str, str]
) -> None:
    async with cluster() as wire, hook(counting("one")) as one, hook(counting("two")) as two:
        await register(
            wire,
            webhook(one, name="one.example.dev", reinvocationPolicy=first),
            webhook(two, name="two.example.dev", reinvocationPolicy=second),
        )
        created = await wire.post(PODS, pod())
        assert labels_of(created.body) == {"app": "a", **labels}
        assert [len(one.asked), len(two.asked)] == [int(labels["one"]), int(labels["two"])]


async def test_a_webhook_that_leaves_the_object_alone_asks_for_nobody_again() -> None:
    async with cluster() as wire, hook(labelling("x", "y")) as one, hook() as two:
        await register(
            wire,
            webhook(one, name="one.example.dev", reinvocationPolicy="IfNeeded"),
            webhook(two, name="two.example.dev", reinvocationPolicy="IfNeeded"),
        )
        await wire.post(PODS, pod())
        assert [len(one.asked), len(two.asked)] == [1, 1]


@pytest.mark.parametrize(
    ("conditions", "policy", "code", "asked"),
    [
        (["object.metadata.name == 'a'", "request.operation == 'CREATE'"], "Fail", 201, 1),
        (["object.metadata.name == 'b'"], "Fail", 201, 0),
        (["request.userInfo.username == 'nobody'", "object.absent == 1"], "Fail", 201, 0),
        (["object.absent == 1"], "Fail", 403, 0),
        (["object.absent == 1"], "Ignore", 201, 0),
        (["oldObject == null && !has(request.subResource)"], "Fail", 201, 1),
    ],
)
async def test_match_conditions(conditions: list[str], policy: str, code: int, asked: int) -> None:
    async with cluster() as wire, hook() as server:
        listed = [{"name": f"c{index}", "expression": text} for index, text in enumerate(conditions)]
        await register(wire, webhook(server, matchConditions=listed, failurePolicy=policy))
        assert (await wire.post(PODS, pod())).code == code
        assert len(server.asked) == asked


async def test_validating_webhooks_see_the_mutated_object_and_may_refuse_it() -> None:
    async with cluster() as wire, hook(labelling("x", "y")) as mutating, hook(deny) as validating:
        await register(wire, webhook(mutating))
        await register(wire, webhook(validating), kind="Validating")
        refused = await wire.post(MAPS, config_map("a"))
        assert (refused.code, refused.body["reason"]) == (418, "Teapot")
        assert "not today" in text(refused.body, "message")
        assert labels_of(child(validating.asked[0], "object")) == {"x": "y"}
        assert (await wire.get(f"{MAPS}/a")).code == 404


async def test_a_patch_is_repeated_when_the_object_changes_meanwhile_and_an_update_conflicts() -> None:
    async with cluster() as wire:

        def interfere(request: JsonObject) -> JsonObject:
            if request["operation"] == "UPDATE" and len(server.asked) <= 3:
                wire.server.store.merge(config_map("a", step=str(len(server.asked))))
            return {"allowed": True}

        async with hook(interfere) as server:
            await register(wire, webhook(server))
            created = (await wire.post(MAPS, config_map("a"))).body
            patched = await wire.patch(f"{MAPS}/a", {"data": {"mine": "1"}})
            assert (patched.code, patched.body["data"]) == (200, {"step": "3", "mine": "1"})
            assert len(server.asked) == 4
            server.asked.clear()
            revision = {"metadata": {"resourceVersion": value_at(patched.body, "metadata", "resourceVersion")}}
            assert (await wire.patch(f"{MAPS}/a", {"data": {"mine": "2"}} | revision)).code == 409
            server.asked.clear()
            assert (await wire.call("PUT", f"{MAPS}/a", created | revision)).code == 409


async def test_a_refusal_without_status_is_a_403() -> None:
    async with cluster() as wire, hook(lambda _: {"allowed": False}) as server:
        await register(wire, webhook(server))
        refused = await wire.post(MAPS, config_map("a"))
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")


async def test_warnings_reach_the_client() -> None:
    async with cluster() as wire, hook(lambda _: {"allowed": True, "warnings": ['careful, "quoted"']}) as server:
        await register(wire, webhook(server))
        created = await wire.post(MAPS, config_map("a"))
        assert created.headers["warning"] == '299 - "careful, \\"quoted\\""'


@pytest.mark.parametrize(
    ("what", "changes", "asked"),
    [
        ("other resource", {"rules": [RULE | {"resources": ["secrets"]}]}, []),
        ("all resources", {"rules": [RULE | {"resources": ["*"]}]}, ["CREATE", "UPDATE"]),
        ("all with subresources", {"rules": [RULE | {"resources": ["*/*"]}]}, ["CREATE", "UPDATE", "UPDATE"]),
        ("resize", {"rules": [RULE | {"resources": ["pods/resize"]}]}, ["UPDATE"]),
        ("subresources of pods", {"rules": [RULE | {"resources": ["pods/*"]}]}, ["CREATE", "UPDATE", "UPDATE"]),
        ("other group", {"rules": [RULE | {"apiGroups": ["apps"]}]}, []),
        ("other version", {"rules": [RULE | {"apiVersions": ["v2"]}]}, []),
        ("creation", {"rules": [RULE | {"operations": ["CREATE"]}]}, ["CREATE"]),
        ("everything", {"rules": [{key: ["*"] for key in RULE}]}, ["CREATE", "UPDATE", "DELETE"]),
        ("cluster scope", {"rules": [RULE | {"scope": "Cluster"}]}, []),
        ("namespaced scope", {"rules": [RULE | {"scope": "Namespaced"}]}, ["CREATE", "UPDATE"]),
        ("objects with a label", {"objectSelector": {"matchLabels": {"app": "a"}}}, ["CREATE", "UPDATE"]),
        ("objects with another", {"objectSelector": {"matchLabels": {"app": "b"}}}, []),
        ("objects that had it", {"objectSelector": {"matchLabels": {"new": "1"}}}, ["UPDATE"]),
        (
            "this namespace",
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            ["CREATE", "UPDATE"],
        ),
        (
            "other namespaces",
            {
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}
                    ]
                }
            },
            [],
        ),
    ],
)
async def test_rules_and_selectors_decide_who_is_asked(what: str, changes: JsonObject, asked: list[str]) -> None:
    resize = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "150m"}}}]}}
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server, **changes))
        assert (await wire.post(PODS, pod())).code == 201
        assert (await wire.patch(f"{PODS}/a", {"metadata": {"labels": {"new": "1"}}})).code == 200
        if "resize" in json.dumps(changes) or "/*" in json.dumps(changes):
            assert (await wire.patch(f"{PODS}/a/resize", resize, STRATEGIC_PATCH)).code == 200
        assert (await wire.call("DELETE", f"{PODS}/a")).code == 200
        assert server.operations == asked, what


async def test_namespaces_are_selected_by_their_own_labels() -> None:
    rule = RULE | {"resources": ["namespaces", "nodes"]}
    async with cluster() as wire, hook() as server:
        selector = {"matchLabels": {"kubernetes.io/metadata.name": "team"}}
        await register(wire, webhook(server, rules=[rule], namespaceSelector=selector))
        for name in ("team", "other"):
            await wire.post("/api/v1/namespaces", {"metadata": {"name": name}})
        await wire.post("/api/v1/nodes", {"metadata": {"name": "n1"}})
        assert [request["name"] for request in server.asked] == ["team", "n1"]


async def test_custom_kinds_are_admitted_like_others() -> None:
    rule = {"apiGroups": ["example.dev"], "apiVersions": ["*"], "resources": ["widgets"], "operations": ["*"]}
    async with cluster() as wire, hook(labelling("x", "y")) as server:
        wire.server.store.create(definition({"type": "object"}))
        await register(wire, webhook(server, rules=[rule]))
        created = await wire.post("/apis/example.dev/v1/namespaces/default/widgets", widget())
        assert labels_of(created.body) == {"x": "y"}
        await wire.patch("/apis/example.dev/v1/namespaces/default/widgets/w/status", {"status": {}})
        assert server.operations == ["CREATE"]


async def test_webhook_configurations_are_never_sent_to_webhooks() -> None:
    async with cluster() as wire, hook(deny) as server:
        everything = {key: ["*"] for key in RULE}
        await register(wire, webhook(server, rules=[everything]))
        assert (await wire.call("DELETE", f"{GROUP}/mutatingwebhookconfigurations/hooks")).code == 200
        assert server.asked == []


async def broken(_: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


async def garbled(_: web.Request) -> web.StreamResponse:
    return web.Response(text="{")


async def misaddressed(_: web.Request) -> web.StreamResponse:
    return web.json_response({"response": {"uid": "another", "allowed": True}})


@pytest.mark.parametrize("raw", [broken, garbled, misaddressed], ids=["status 500", "no JSON", "another uid"])
@pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
async def test_a_webhook_that_fails_is_handled_by_its_policy(raw: Raw, policy: str, code: int) -> None:
    async with cluster() as wire, hook(raw=raw) as server:
        await register(wire, webhook(server, failurePolicy=policy))
        answer = await wire.post(MAPS, config_map("a"))
        assert (answer.code, len(server.asked)) == (code, 1)
        if code == 500:
            assert answer.body["reason"] == "InternalError"
        else:
            assert "hook.example.dev" in answer.headers["warning"]


@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://127.0.0.1:1/ask"},
        {"url": "https://127.0.0.1:1/ask", "caBundle": base64.b64encode(b"no certificate").decode()},
        {"service": {"namespace": "default", "name": "nowhere"}},
    ],
    ids=["nobody listens", "no CA", "no endpoints"],
)
async def test_a_webhook_that_cannot_be_reached_has_failed(config: JsonObject) -> None:
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server, clientConfig=config))
        assert (await wire.post(MAPS, config_map("a"))).code == 500


async def test_the_certificate_must_come_from_the_ca_bundle() -> None:
    async with cluster() as wire, hook() as server:
        stranger = base64.b64encode(Authority().certificate_pem).decode()
        await register(wire, webhook(server, clientConfig={"url": server.url, "caBundle": stranger}))
        assert (await wire.post(MAPS, config_map("a"))).code == 500
        assert server.asked == []


@pytest.mark.parametrize(("name", "code"), [("hook", 201), ("wrong", 500)])
async def test_services_are_found_by_their_endpoints_and_checked_by_their_name(name: str, code: int) -> None:
    async with cluster() as wire, hook() as server:
        subsets = [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": server.port}]}]
        metadata = {"name": name, "namespace": "default"}
        wire.server.store.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets})
        service = {"name": name, "namespace": "default", "path": "/here"}
        await register(wire, webhook(server, clientConfig={"service": service, "caBundle": server.ca_bundle}))
        assert (await wire.post(MAPS, config_map("a"))).code == code
        assert server.paths == (["/here?timeout=10s"] if code == 201 else [])


@pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
async def test_a_webhook_has_its_time_and_no_more(policy: str, code: int) -> None:
    release = asyncio.Event()
    asked = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        asked.set()
        await release.wait()
        return web.Response()

    async with cluster() as wire, hook(raw=hang) as server:
        clock = wire.server.parts.webhooks.clock = ManualClock()
        await register(wire, webhook(server, failurePolicy=policy, timeoutSeconds=3))
        creating = asyncio.ensure_future(wire.post(MAPS, config_map("a")))
        await asyncio.wait_for(asked.wait(), 10)
        clock.advance(timedelta(seconds=2.9))
        assert not creating.done()
        clock.advance(timedelta(seconds=0.1))
        assert (await asyncio.wait_for(creating, 10)).code == code
        assert server.paths == ["/ask?timeout=3s"]
        release.set()


@pytest.mark.parametrize("patch", ["!", base64.b64encode(b'[{"op":"remove","path":"/none"}]').decode()])
async def test_a_patch_that_does_not_apply_is_an_error_under_either_policy(patch: str) -> None:
    async with cluster() as wire, hook(lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": patch}) as server:
        await register(wire, webhook(server, failurePolicy="Ignore"))
        assert (await wire.post(MAPS, config_map("a"))).code == 500


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "short"}, "name"),
        ({"sideEffects": "Some"}, "sideEffects"),
        ({"admissionReviewVersions": ["v1beta1"]}, "admissionReviewVersions"),
        ({"timeoutSeconds": 31}, "timeoutSeconds"),
        ({"timeoutSeconds": 0}, "timeoutSeconds"),
        ({"failurePolicy": "Hope"}, "failurePolicy"),
        ({"matchPolicy": "Roughly"}, "matchPolicy"),
        ({"reinvocationPolicy": "Always"}, "reinvocationPolicy"),
        ({"matchConditions": [{"name": "c", "expression": "object.("}]}, "matchConditions[0].expression"),
        ({"matchConditions": [{"name": "c", "expression": "1"}]}, "matchConditions[0].expression"),
        ({"matchConditions": [{"name": "c", "expression": ""}]}, "matchConditions[0].expression"),
        ({"matchConditions": [{"expression": "true"}]}, "matchConditions[0].name"),
    ],
)
async def test_refused_configurations(change: JsonObject, field: str) -> None:
    async with cluster() as wire, hook() as server:
        body = {"metadata": {"name": "hooks"}, "webhooks": [webhook(server, **change)]}
        answer = await wire.post(f"{GROUP}/mutatingwebhookconfigurations", body)
        assert (answer.code, [name for _, name in answer.causes]) == (422, [f"webhooks[0].{field}"])


async def test_configurations_are_checked_when_they_change() -> None:
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server))
        path = f"{GROUP}/mutatingwebhookconfigurations/hooks"
        bundle = {"webhooks": [{"name": "hook.example.dev", "clientConfig": {"caBundle": "bmV3"}}]}
        changed = await wire.patch(path, bundle, STRATEGIC_PATCH)
        assert (changed.code, value_at(changed.body, "metadata", "generation")) == (200, 2)
        entry = as_object(changed.body["webhooks"][0])  # type: ignore[index]
        assert child(entry, "clientConfig") == {"url": f"{server.url}/ask", "caBundle": "bmV3"}
        refused = await wire.patch(path, {"webhooks": [webhook(server, timeoutSeconds=99)]})
        assert (refused.code, refused.causes) == (422, [("FieldValueInvalid", "webhooks[0].timeoutSeconds")])


async def test_configurations_are_defaulted() -> None:
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server))
        stored = (await wire.get(f"{GROUP}/mutatingwebhookconfigurations/hooks")).body
        entry = as_object(stored["webhooks"][0])  # type: ignore[index]
        shown = (entry["failurePolicy"], entry["timeoutSeconds"], entry["reinvocationPolicy"], entry["matchPolicy"])
        assert shown == ("Fail", 10, "Never", "Equivalent")
        assert (entry["namespaceSelector"], entry["objectSelector"]) == ({}, {})
