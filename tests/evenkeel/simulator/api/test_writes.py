"""Create, update and patch over HTTP."""

from __future__ import annotations

import json

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text, value_at
from tests.evenkeel.simulator.api.wire import (
    JSON_PATCH,
    MERGE_PATCH,
    PODS,
    STRATEGIC_PATCH,
    cluster,
    config_map,
    definition,
    pod,
    widget,
)

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def deployment(name: str = "web") -> JsonObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": []}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


async def test_a_created_object_gets_its_identity_from_the_server() -> None:
    async with cluster() as wire:
        sent = config_map("a", color="red")
        metadata = child(sent, "metadata")
        metadata.update(uid="mine", creationTimestamp="1999-01-01T00:00:00Z", generation=7, deletionTimestamp="x")
        answer = await wire.post(MAPS, sent)
        assert answer.code == 201
        assert (answer.body["kind"], answer.body["apiVersion"]) == ("ConfigMap", "v1")
        assert text(answer.body, "metadata", "uid") not in {"", "mine"}
        assert text(answer.body, "metadata", "creationTimestamp") == "2026-01-01T00:00:00Z"
        assert "deletionTimestamp" not in child(answer.body, "metadata")
        assert (await wire.get(f"{MAPS}/a")).body == answer.body


async def test_names_can_be_generated() -> None:
    async with cluster() as wire:
        sent = config_map("")
        sent["metadata"] = {"generateName": "map-"}
        first, second = await wire.post(MAPS, sent), await wire.post(MAPS, sent)
        names = {text(answer.body, "metadata", "name") for answer in (first, second)}
        assert (first.code, second.code, len(names)) == (201, 201, 2)
        assert all(name.startswith("map-") and len(name) == 9 for name in names)


@pytest.mark.parametrize(
    ("what", "change", "code", "reason"),
    [
        ("name taken", {"metadata": {"name": "taken"}}, 409, "AlreadyExists"),
        ("no name", {"metadata": {}}, 422, "Invalid"),
        ("bad name", {"metadata": {"name": "Big_Name"}}, 422, "Invalid"),
        ("other namespace", {"metadata": {"name": "a", "namespace": "kube-system"}}, 400, "BadRequest"),
        ("with a revision", {"metadata": {"name": "a", "resourceVersion": "1"}}, 400, "BadRequest"),
        ("other kind", {"kind": "Secret", "metadata": {"name": "a"}}, 400, "BadRequest"),
        ("other version", {"apiVersion": "v2", "metadata": {"name": "a"}}, 400, "BadRequest"),
    ],
)
async def test_refused_creations(what: str, change: JsonObject, code: int, reason: str) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("taken"))
        answer = await wire.post(MAPS, config_map("x") | change)
        assert (answer.code, text(answer.body, "reason"), answer.body["code"]) == (code, reason, code), what
        assert answer.body["kind"] == "Status"


async def test_creation_needs_a_namespace_that_exists_and_stays() -> None:
    async with cluster() as wire:
        answer = await wire.post("/api/v1/namespaces/nowhere/configmaps", config_map("a", "nowhere"))
        assert (answer.code, answer.body["message"]) == (404, 'namespaces "nowhere" not found')
        namespace = {"metadata": {"name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        wire.server.store.create({"apiVersion": "v1", "kind": "Namespace", **namespace})
        answer = await wire.post("/api/v1/namespaces/going/configmaps", config_map("a", "going"))
        assert (answer.code, answer.causes) == (403, [("NamespaceTerminating", "metadata.namespace")])


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("application/yaml", b"metadata: {name: y}\ndata: {since: 2026-01-01}", 201),
        ("", b'{"metadata": {"name": "y"}, "data": {"since": "2026-01-01"}}', 201),
        ("application/json; charset=utf-8", b'{"metadata": {"name": "y"}, "data": {"since": "2026-01-01"}}', 201),
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/yaml", b"a: [", 400),
        (PROTOBUF, b"k8s\0", 415),
    ],
)
async def test_bodies_by_content_type(content_type: str, body: bytes, code: int) -> None:
    async with cluster() as wire:
        answer = await wire.call("POST", MAPS, body, content_type)
        assert answer.code == code
        if code == 201:
            assert value_at(answer.body, "data", "since") == "2026-01-01"
        else:
            assert answer.body["kind"] == "Status"
        if code == 415:
            assert (answer.body["reason"], PROTOBUF in text(answer.body, "message")) == ("UnsupportedMediaType", True)


async def test_an_update_with_a_stale_revision_conflicts_and_without_one_overwrites() -> None:
    async with cluster() as wire:
        first = (await wire.post(MAPS, config_map("a", n="1"))).body
        second = await wire.call("PUT", f"{MAPS}/a", first | {"data": {"n": "2"}})
        assert second.code == 200
        stale = await wire.call("PUT", f"{MAPS}/a", first | {"data": {"n": "3"}})
        assert (stale.code, stale.body["reason"]) == (409, "Conflict")
        blind = await wire.call("PUT", f"{MAPS}/a", config_map("a", n="4"))
        assert (blind.code, value_at(blind.body, "data", "n")) == (200, "4")
        assert text(blind.body, "metadata", "uid") == text(first, "metadata", "uid")


async def test_updates_that_name_the_wrong_object() -> None:
    async with cluster() as wire:
        created = (await wire.post(MAPS, config_map("a"))).body
        assert (await wire.call("PUT", f"{MAPS}/b", config_map("b"))).code == 404
        assert (await wire.call("PUT", f"{MAPS}/b", config_map("a"))).code == 400
        created["metadata"] = {"name": "a", "uid": "another"}
        assert (await wire.call("PUT", f"{MAPS}/a", created)).code == 409


async def test_a_write_that_changes_nothing_keeps_the_revision() -> None:
    async with cluster() as wire:
        created = (await wire.post(MAPS, config_map("a", n="1"))).body
        assert (await wire.call("PUT", f"{MAPS}/a", created)).body == created
        assert (await wire.patch(f"{MAPS}/a", {"data": {"n": "1"}})).body == created


async def test_generation_counts_spec_changes_only() -> None:
    async with cluster() as wire:
        created = (await wire.post(DEPLOYMENTS, deployment())).body
        assert child(created, "metadata")["generation"] == 1
        steps: list[tuple[str, JsonObject, int]] = [
            ("", {"metadata": {"labels": {"x": "y"}}}, 1),
            ("", {"spec": {"replicas": 3}}, 2),
            ("/status", {"status": {"replicas": 3}}, 2),
            ("", {"spec": {"replicas": 3}}, 2),
            ("", {"metadata": {"generation": 9}}, 2),
            ("", {"spec": {"paused": True}}, 3),
        ]
        for part, patch, generation in steps:
            answer = await wire.patch(f"{DEPLOYMENTS}/web{part}", patch)
            assert (answer.code, child(answer.body, "metadata")["generation"]) == (200, generation), patch


async def test_status_is_written_through_its_subresource_only() -> None:
    async with cluster() as wire:
        created = await wire.post(DEPLOYMENTS, deployment() | {"status": {"replicas": 9}})
        assert "status" not in created.body
        through_main = await wire.patch(f"{DEPLOYMENTS}/web", {"status": {"replicas": 9}})
        assert (through_main.code, through_main.body) == (200, created.body)
        sent = {"status": {"replicas": 2}, "spec": {"replicas": 7}, "metadata": {"labels": {"x": "y"}}}
        through_status = await wire.patch(f"{DEPLOYMENTS}/web/status", sent)
        assert value_at(through_status.body, "status", "replicas") == 2
        assert value_at(through_status.body, "spec", "replicas") == 1
        assert "labels" not in child(through_status.body, "metadata")
        assert (await wire.get(f"{DEPLOYMENTS}/web/status")).body == through_status.body


async def test_an_object_without_status_subresource_is_written_whole() -> None:
    async with cluster() as wire:
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
        created = (await wire.post(LEASES, lease)).body
        assert "generation" not in child(created, "metadata")
        taken = await wire.call("PUT", f"{LEASES}/l", created | {"spec": {"holderIdentity": "b"}})
        lost = await wire.call("PUT", f"{LEASES}/l", created | {"spec": {"holderIdentity": "c"}})
        assert (taken.code, lost.code) == (200, 409)


@pytest.mark.parametrize(
    ("content_type", "patch", "code"),
    [
        (MERGE_PATCH, {"data": {"a": None, "b": "2"}}, 200),
        (STRATEGIC_PATCH, {"data": {"a": None, "b": "2"}}, 200),
        (JSON_PATCH, [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}], 200),
        (JSON_PATCH, [{"op": "test", "path": "/data/a", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "test", "path": "/data/none", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "replace", "path": "/data/none", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "add", "path": "/none/a/b", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "paint", "path": "/data/a"}], 400),
        (JSON_PATCH, {"data": {}}, 400),
        (MERGE_PATCH, [], 400),
        (MERGE_PATCH, {"metadata": {"name": "other"}}, 400),
        (MERGE_PATCH, {"metadata": {"resourceVersion": "1"}}, 409),
        (MERGE_PATCH, {"metadata": {"uid": "other"}}, 409),
        ("application/json", {"data": {}}, 415),
        (APPLY, {"data": {}}, 422),
        (PROTOBUF, {"data": {}}, 415),
    ],
)
async def test_patches_of_a_built_in_kind(content_type: str, patch: object, code: int) -> None:
    async with cluster() as wire:
        created = wire.server.store.create(config_map("a", a="1", keep="3"))
        answer = await wire.patch(f"{MAPS}/a", patch, content_type)
        assert answer.code == code
        if code == 200:
            assert answer.body["data"] == {"keep": "3", "b": "2"}
        else:
            assert answer.body["kind"] == "Status"
            assert wire.server.store.read("v1", "ConfigMap", "a", "default") == created


async def test_custom_kinds_know_no_strategic_merge() -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
        wire.server.store.create(widget())
        path = "/apis/example.dev/v1/namespaces/default/widgets/w"
        assert (await wire.patch(path, {"spec": {}}, STRATEGIC_PATCH)).code == 415
        assert (await wire.patch(path, {"spec": {}}, MERGE_PATCH)).code == 200


async def test_a_patch_of_what_does_not_exist_is_not_found() -> None:
    async with cluster() as wire:
        answer = await wire.patch(f"{PODS}/a", [{"op": "add", "path": "/metadata/labels", "value": {}}], JSON_PATCH)
        assert (answer.code, answer.body["message"]) == (404, 'pods "a" not found')


async def test_a_dry_run_answers_and_stores_nothing() -> None:
    async with cluster() as wire:
        created = await wire.post(f"{PODS}?dryRun=All", pod())
        assert (created.code, (await wire.get(f"{PODS}/a")).code) == (201, 404)
        stored = (await wire.post(PODS, pod())).body
        assert (await wire.post(f"{PODS}?dryRun=All", pod())).code == 409
        resized = await wire.patch(
            f"{PODS}/a/resize?dryRun=All",
            {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "150m"}}}]}},
            STRATEGIC_PATCH,
        )
        assert (resized.code, child(resized.body, "metadata")["generation"]) == (200, 2)
        assert (await wire.call("DELETE", f"{PODS}/a?dryRun=All")).code == 200
        assert (await wire.get(f"{PODS}/a")).body == stored


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/pods"),
        ("POST", f"{PODS}/a"),
        ("PUT", PODS),
        ("PATCH", PODS),
        ("POST", f"{PODS}/a/resize"),
        ("DELETE", f"{PODS}/a/resize"),
        ("GET", f"{PODS}/a/eviction"),
        ("PUT", f"{PODS}/a/binding"),
        ("POST", "/apis/metrics.k8s.io/v1beta1/nodes"),
    ],
)
async def test_verbs_that_a_resource_does_not_offer(method: str, path: str) -> None:
    async with cluster() as wire:
        wire.server.store.create(pod())
        answer = await wire.call(
            method, path, {"metadata": {"name": "a"}}, MERGE_PATCH if method == "PATCH" else "application/json"
        )
        assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nothing",
        "/apis/none/v1/things",
        f"{PODS}/a/nothing",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/a",
        "/else",
    ],
)
async def test_paths_at_which_nothing_is_served(path: str) -> None:
    async with cluster() as wire:
        answer = await wire.get(path)
        assert (answer.code, answer.body["reason"]) == (404, "NotFound")


async def test_clients_that_take_no_json_are_told_so() -> None:
    async with cluster() as wire:
        answer = await wire.call("GET", PODS, headers={"Accept": PROTOBUF})
        assert (answer.code, answer.body["reason"]) == (406, "NotAcceptable")
        for accept in (f"{PROTOBUF}, application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "*/*"):
            assert (await wire.call("GET", PODS, headers={"Accept": accept})).code == 200


async def test_workloads_default_their_replicas_and_keep_their_selector() -> None:
    async with cluster() as wire:
        created = (await wire.post(DEPLOYMENTS, deployment())).body
        assert value_at(created, "spec", "replicas") == 1
        changed = await wire.patch(f"{DEPLOYMENTS}/web", {"spec": {"selector": {"matchLabels": {"app": "other"}}}})
        assert (changed.code, changed.causes) == (422, [("FieldValueInvalid", "spec.selector")])
        other = deployment("api")
        child(other, "spec", "selector")["matchLabels"] = {"app": "web"}
        mismatch = await wire.post(DEPLOYMENTS, other)
        assert mismatch.causes == [("FieldValueInvalid", "spec.template.metadata.labels")]
        child(other, "spec").pop("selector")
        assert (await wire.post(DEPLOYMENTS, other)).causes == [("FieldValueRequired", "spec.selector")]
        controller = {"metadata": {"name": "rc"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
        created = (await wire.post("/api/v1/namespaces/default/replicationcontrollers", controller)).body
        assert value_at(created, "spec", "selector") == {"a": "b"}


async def test_a_seeded_object_has_its_defaults_so_that_writes_change_only_what_they_name() -> None:
    async with cluster() as wire:
        seeded = wire.server.store.create(pod() | {"status": {"phase": "Running"}})
        assert value_at(seeded, "spec", "restartPolicy") == "Always"
        answer = await wire.patch(
            f"{PODS}/a", [{"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}}], JSON_PATCH
        )
        assert (answer.code, child(answer.body, "metadata")["generation"]) == (200, 1)
        assert (answer.body["spec"], answer.body["status"]) == (seeded["spec"], seeded["status"])


async def test_both_event_groups_show_the_same_events() -> None:
    async with cluster() as wire:
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        event = {
            "metadata": {"name": "e"},
            "regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
            "reason": "Evicted",
            "note": "because",
            "reportingController": "updater",
            "type": "Normal",
        }
        created = await wire.post(path, event)
        assert (created.code, created.body["apiVersion"], created.body["note"]) == (201, "events.k8s.io/v1", "because")
        core = await wire.get(
            "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da,source%3Dupdater"
        )
        assert core.items == ["e"]
        shown = (await wire.get("/api/v1/namespaces/default/events/e")).body
        assert (shown["message"], value_at(shown, "involvedObject", "name"), shown["apiVersion"]) == (
            "because",
            "a",
            "v1",
        )
        patched = await wire.patch(f"{path}/e", {"note": "still"})
        assert patched.body["note"] == "still"
        assert "message" not in json.dumps(patched.body)
