"""Server-side apply over HTTP; codes, causes and owners are those of a real server of version 1.35.4."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.access import ADMIN
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.fieldsets import FieldSet, printed
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import (
    PODS,
    STRATEGIC_PATCH,
    Answer,
    Wire,
    burstable,
    cluster,
    config_map,
    definition,
    pod,
    widget,
)

pytestmark = pytest.mark.anyio
APPLY = "application/apply-patch+yaml"
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.dev/v1/namespaces/default/widgets"
RESIZE = f"{PODS}/a/resize"
CONFLICT = "FieldManagerConflict"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def apply(wire: Wire, path: str, body: JsonObject, manager: str = "m1", *, query: str = "") -> Answer:
    return await wire.patch(f"{path}?fieldManager={manager}{query}", body, APPLY)


def owners(answer: Answer) -> dict[str, tuple[str, str, list[str]]]:
    return {
        text(row, "manager"): (
            text(row, "operation"),
            text(row, "subresource"),
            sorted(printed(path) for path in FieldSet(child(row, "fieldsV1"))),
        )
        for row in rows(answer.body, "metadata", "managedFields")
    }


def sized(cpu: str, **more: object) -> JsonObject:
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}


CPU = '.spec.containers[name="app"].resources.requests.cpu'
KEY = ['.spec.containers[name="app"]', '.spec.containers[name="app"].name']


async def test_r60_a_resize_by_apply_is_refused_where_others_own_and_forced_through() -> None:
    """Spec: resize R60, R61; in-place-resize 1.2."""
    async with cluster() as wire:
        await wire.call("POST", f"{PODS}?fieldManager=creator", pod("a", burstable()))
        refused = await apply(wire, RESIZE, sized("150m"), "vpa")
        assert (refused.code, refused.body["reason"], refused.causes) == (409, "Conflict", [(CONFLICT, CPU)])
        shared = await apply(wire, RESIZE, sized("100m"), "vpa")
        assert (shared.code, owners(shared)["vpa"]) == (200, ("Apply", "resize", [*KEY, CPU]))
        assert CPU in owners(shared)["creator"][2]
        forced = await apply(wire, RESIZE, sized("150m"), "vpa", query="&force=true")
        assert (forced.code, child(forced.body, "metadata")["generation"]) == (200, 2)
        assert CPU not in owners(forced)["creator"][2]
        again = await apply(wire, RESIZE, sized("150m"), "vpa")
        assert (again.code, again.body) == (200, forced.body)
        own = await apply(wire, RESIZE, sized("160m"), "vpa")
        assert (own.code, child(own.body, "metadata")["generation"]) == (200, 3)
        (container,) = rows(own.body, "spec", "containers")
        assert container["resources"] == {
            "limits": {"cpu": "200m", "memory": "256Mi"},
            "requests": {"cpu": "160m", "memory": "128Mi"},
        }


async def test_an_apply_through_resize_owns_what_it_names_even_where_the_server_drops_it() -> None:
    """Spec: in-place-resize 1.2."""
    async with cluster() as wire:
        await wire.call("POST", f"{PODS}?fieldManager=creator", pod("a", burstable()))
        answer = await apply(wire, RESIZE, sized("100m", image="other:2"), "vpa", query="&force=true")
        (container,) = rows(answer.body, "spec", "containers")
        assert (answer.code, container["image"]) == (200, "example.dev/app:1")
        assert '.spec.containers[name="app"].image' in owners(answer)["vpa"][2]
        dropped = await apply(wire, RESIZE, sized("100m"), "vpa")
        (container,) = rows(dropped.body, "spec", "containers")
        assert (dropped.code, container["image"]) == (200, "example.dev/app:1")
        bare: JsonObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "app"}]},
        }
        assert owners(await apply(wire, RESIZE, bare, "vpa"))["vpa"] == ("Apply", "resize", KEY)


async def test_a_plain_patch_of_resize_is_noted_too() -> None:
    async with cluster() as wire:
        await wire.call("POST", f"{PODS}?fieldManager=creator", pod("a", burstable()))
        body = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "170m"}}}]}}
        answer = await wire.patch(f"{RESIZE}?fieldManager=strategic", body, STRATEGIC_PATCH)
        assert owners(answer)["strategic"] == ("Update", "resize", [CPU])


@pytest.mark.parametrize(
    ("path", "query", "body", "code", "causes"),
    [
        (MAPS + "/c", "", config_map("c", a="2"), 422, [("FieldValueRequired", "fieldManager")]),
        (MAPS + "/c", "fieldManager=m", {"metadata": {"name": "c"}}, 400, []),
        (MAPS + "/c", "fieldManager=m", config_map("other"), 400, []),
        (MAPS + "/c", "fieldManager=m", {**config_map("c"), "kind": "Secret"}, 400, []),
        (MAPS + "/c", "fieldManager=m", {**config_map("c"), "dat": {}}, 500, []),
        (MAPS + "/c", "fieldManager=m", {**config_map("c"), "data": {"a": 1}}, 500, []),
        (PODS + "/none/resize", "fieldManager=m", {**sized("1"), "metadata": {"name": "none"}}, 404, []),
        (MAPS + "/c", "fieldManager=m&force=true", config_map("c", a="2"), 200, []),
        (MAPS + "/c", "fieldManager=m&dryRun=All&force=true", config_map("c", a="2"), 200, []),
        ("/api/v1/namespaces/none/configmaps/c", "fieldManager=m", config_map("c", "none"), 404, []),
    ],
)
async def test_answers(path: str, query: str, body: JsonObject, code: int, causes: list[tuple[str, str]]) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("c", a="1"))
        answer = await wire.patch(f"{path}?{query}", body, APPLY)
        assert (answer.code, answer.causes) == (code, causes), answer.body
        stored = wire.server.store.read("v1", "ConfigMap", "c", "default")
        assert stored["data"] == {"a": "2" if code == 200 and "dryRun" not in query else "1"}


async def test_entries_cannot_be_applied() -> None:
    async with cluster() as wire:
        body = config_map("c")
        child(body, "metadata")["managedFields"] = [{"manager": "x"}]
        assert (await apply(wire, f"{MAPS}/c", body)).code == 400


async def test_yaml_is_read_and_nonsense_is_not() -> None:
    async with cluster() as wire:
        text_form = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1', b: 2026-01-01}\n"
        answer = await wire.call("PATCH", f"{MAPS}/c?fieldManager=m", text_form, APPLY)
        assert (answer.code, answer.body["data"]) == (201, {"a": "1", "b": "2026-01-01"})
        assert (await wire.call("PATCH", f"{MAPS}/c?fieldManager=m", b"a: [", APPLY)).code == 400


async def test_what_does_not_exist_is_created_and_what_is_applied_no_longer_goes() -> None:
    async with cluster() as wire:
        created = await apply(
            wire, f"{MAPS}/c", {**config_map("c", a="1"), "metadata": {"name": "c", "labels": {"l": "1"}}}
        )
        assert (created.code, owners(created)) == (201, {"m1": ("Apply", "", [".data.a", ".metadata.labels.l"])})
        await apply(wire, f"{MAPS}/c", config_map("c", b="2"), "m2")
        less = await apply(wire, f"{MAPS}/c", config_map("c", z="1"))
        assert (less.body["data"], child(less.body, "metadata").get("labels", {})) == ({"b": "2", "z": "1"}, {})
        version = child(less.body, "metadata")["resourceVersion"]
        stale = config_map("c", z="2")
        child(stale, "metadata")["resourceVersion"] = "1"
        assert (await apply(wire, f"{MAPS}/c", stale)).code == 409
        child(stale, "metadata")["resourceVersion"] = version
        assert (await apply(wire, f"{MAPS}/c", stale)).code == 200


async def test_creation_by_apply_needs_the_right_to_create() -> None:
    patcher = User("patcher")
    server = ApiServer(tokens={"t": patcher, "admin": ADMIN}, rbac=True)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}
    server.store.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "p"},
            "rules": [rule],
        }
    )
    server.store.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "p"},
            "roleRef": {"kind": "ClusterRole", "name": "p"},
            "subjects": [{"kind": "User", "name": "patcher"}],
        }
    )
    server.store.create(config_map("c", a="1"))
    async with cluster(server, token="t") as wire:
        assert (await apply(wire, f"{MAPS}/c", config_map("c", b="1"))).code == 200
        refused = await apply(wire, f"{MAPS}/new", config_map("new"))
        assert (refused.code, "cannot create" in text(refused.body, "message")) == (403, True)


SPEC: JsonObject = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "maximum": 10},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ref": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"kind": {"type": "string"}, "name": {"type": "string"}},
        },
    },
}
STATUS: JsonObject = {"type": "object", "properties": {"phase": {"type": "string"}}}


async def test_custom_kinds_merge_by_their_schemas() -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object", "properties": {"spec": SPEC, "status": STATUS}}))
        first = {"size": 1, "parts": [{"name": "p", "n": 1}], "tags": ["t"], "ref": {"kind": "K", "name": "n"}}
        await wire.call("POST", f"{WIDGETS}?fieldManager=creator", widget(spec=first))
        added = await apply(wire, f"{WIDGETS}/w", widget(spec={"parts": [{"name": "q", "n": 2}], "tags": ["u"]}))
        assert child(added.body, "spec") == {
            **first,
            "parts": [{"name": "p", "n": 1}, {"name": "q", "n": 2}],
            "tags": ["t", "u"],
        }
        changed = {"size": 2, "parts": [{"name": "p", "n": 2}], "ref": {"kind": "K", "name": "m"}}
        refused = await apply(wire, f"{WIDGETS}/w", widget(spec=changed))
        assert refused.causes == [
            (CONFLICT, '.spec.parts[name="p"].n'),
            (CONFLICT, ".spec.ref"),
            (CONFLICT, ".spec.size"),
        ]
        forced = await apply(wire, f"{WIDGETS}/w", widget(spec=changed), query="&force=true")
        assert child(forced.body, "spec") == {**changed, "tags": ["t"]}
        unknown = await apply(wire, f"{WIDGETS}/w", widget(spec={"nope": 1}), "m3")
        assert (unknown.code, ".spec.nope" in text(unknown.body, "message")) == (500, True)
        bad = await apply(wire, f"{WIDGETS}/w", widget(spec={"size": 11}), query="&force=true")
        assert (bad.code, bad.causes) == (422, [("FieldValueInvalid", "spec.size")])


async def test_status_is_applied_and_owned_through_its_own_subresource() -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object", "properties": {"spec": SPEC, "status": STATUS}}))
        await wire.call("POST", f"{WIDGETS}?fieldManager=creator", widget(spec={"size": 1}))
        body = widget(spec={"size": 9}, status={"phase": "x"})
        through_status = await apply(wire, f"{WIDGETS}/w/status", body, "st")
        assert (child(through_status.body, "spec"), child(through_status.body, "status")) == (
            {"size": 1},
            {"phase": "x"},
        )
        assert owners(through_status)["st"] == ("Apply", "status", [".status.phase"])
        on_main = await apply(wire, f"{WIDGETS}/w", widget(status={"phase": "y"}, spec={"size": 1}), "main")
        assert (on_main.code, child(on_main.body, "status")) == (200, {"phase": "x"})
        assert owners(on_main)["main"] == ("Apply", "", [".spec.size"])


async def test_kubectl_takes_over_what_it_applied_from_its_own_side() -> None:
    async with cluster() as wire:
        note = "kubectl.kubernetes.io/last-applied-configuration"
        last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"},"data":{"a":"1"}}'
        body = config_map("c", a="1", b="2")
        child(body, "metadata")["annotations"] = {note: last}
        await wire.call("POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", body)
        other = await apply(wire, f"{MAPS}/c", config_map("c", a="3"), "somebody")
        assert other.code == 409
        taken = await apply(wire, f"{MAPS}/c", config_map("c", a="3"), "kubectl")
        assert (taken.code, taken.body["data"]) == (200, {"a": "3", "b": "2"})
        kept = text(taken.body, "metadata", "annotations", note)
        assert ('"a":"3"' in kept, "last-applied" in kept) == (True, False)
        assert (await apply(wire, f"{MAPS}/c", config_map("c", b="3"), "kubectl")).code == 409
