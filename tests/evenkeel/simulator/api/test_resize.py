"""The resize subresource: rows of the scenarios that the API server answers, and its validation rules."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, value_at
from tests.evenkeel.simulator.api.wire import (
    JSON_PATCH,
    MERGE_PATCH,
    PODS,
    STRATEGIC_PATCH,
    Wire,
    burstable,
    cluster,
    container,
    pod,
)

pytestmark = pytest.mark.anyio
RESIZE = f"{PODS}/a/resize"
FORBIDDEN, INVALID = "FieldValueForbidden", "FieldValueInvalid"
ODD = "[]"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def guaranteed() -> JsonObject:
    amounts: JsonObject = {"cpu": "500m", "memory": "256Mi"}
    return container(requests=dict(amounts), limits=dict(amounts))


def change(name: str = "app", group: str = "containers", **resources: JsonObject) -> JsonObject:
    """A strategic merge patch of one container's resources."""
    return {"spec": {group: [{"name": name, "resources": resources}]}}


def with_spec(**parts: object) -> JsonObject:
    """The Burstable pod with more in its spec."""
    made = pod()
    child(made, "spec").update(parts)
    return made


def sidecar_pod() -> JsonObject:
    sidecar = container("proxy", requests={"cpu": "50m"}) | {"restartPolicy": "Always"}
    return with_spec(initContainers=[sidecar, container("setup", requests={"cpu": "50m"})])


def running_without_resources() -> JsonObject:
    statuses = [{"name": "app", "state": {"running": {}}}]
    return pod() | {"status": {"phase": "Running", "qosClass": "Burstable", "containerStatuses": statuses}}


def mirror() -> JsonObject:
    made = pod()
    child(made, "metadata")["annotations"] = {"kubernetes.io/config.mirror": "x"}
    return made


UNCHANGED, STORED = 1, 2
ROWS: list[tuple[str, JsonObject, JsonObject, int, int, list[tuple[str, str]]]] = [
    # id, pod, strategic merge patch, code, generation afterwards, causes
    ("resize:R01", pod(), change(requests={"cpu": "500m"}, limits={"cpu": "1"}), 200, STORED, []),
    ("resize:R26 resize:V4", pod("a", guaranteed()), change(limits={"cpu": "1"}), 422, UNCHANGED, [(INVALID, "spec")]),
    ("resize:R27", pod("a", guaranteed()), change(limits={"cpu": "1"}, requests={"cpu": "1"}), 200, STORED, []),
    (
        "resize:R28 resize:V4",
        pod(),
        change(requests={"cpu": "200m", "memory": "256Mi"}),
        422,
        UNCHANGED,
        [(INVALID, "spec")],
    ),
    (
        "resize:R29 resize:V4",
        pod("a", container()),
        change(requests={"cpu": "100m"}),
        422,
        UNCHANGED,
        [(INVALID, "spec")],
    ),
    (
        "resize:R30 resize:V9",
        pod(),
        change(limits={"cpu": None}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec.containers[0].resources.limits")],
    ),
    ("resize:R30 request", pod(), change(requests={"memory": None}), 200, STORED, []),
    (
        "resize:V9 request",
        pod("a", container(requests={"cpu": "1", "memory": "1Mi"})),
        change(requests={"memory": None}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec.containers[0].resources.requests")],
    ),
    (
        "resize:R31 resize:V1",
        pod(),
        change(requests={"cpu": "1"}, limits={"cpu": "500m"}),
        422,
        UNCHANGED,
        [(INVALID, "spec.containers[0].resources.requests")],
    ),
    (
        "resize:V1 negative",
        pod(),
        change(requests={"cpu": "-1"}),
        422,
        UNCHANGED,
        [(INVALID, "spec.containers[0].resources.requests[cpu]")],
    ),
    (
        "resize:V1 unknown",
        pod(),
        change(requests={"gpu": "1"}, limits={"gpu": "1"}),
        422,
        UNCHANGED,
        [
            (INVALID, "spec.containers[0].resources.requests[gpu]"),
            (INVALID, "spec.containers[0].resources.limits[gpu]"),
            (FORBIDDEN, "spec"),
        ],
    ),
    (
        "resize:R32 resize:V10",
        pod(),
        change(requests={"ephemeral-storage": "1Gi"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    (
        "resize:R32 resize:V10 extended",
        pod(),
        change(requests={"example.dev/gpu": "1"}, limits={"example.dev/gpu": "1"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    (
        "resize:R33 resize:V10",
        pod(),
        {
            "spec": {
                "containers": [
                    {"name": "app", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
                ]
            }
        },
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    (
        "resize:R34",
        pod(),
        {
            "metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}},
            "spec": {"containers": [{"name": "app", "image": "other"}]},
        },
        200,
        UNCHANGED,
        [],
    ),
    (
        "resize:R36",
        pod("a", container(requests={"cpu": "100m", "memory": "128Mi"})),
        change(limits={"cpu": "500m"}),
        200,
        STORED,
        [],
    ),
    ("resize:R37", sidecar_pod(), change("proxy", "initContainers", requests={"cpu": "60m"}), 200, STORED, []),
    (
        "resize:V11",
        sidecar_pod(),
        change("proxy", "initContainers", requests={"ephemeral-storage": "1"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    (
        "resize:R38 resize:V12",
        sidecar_pod(),
        change("setup", "initContainers", requests={"cpu": "60m"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    (
        "resize:R39 resize:V6",
        with_spec(resources={"requests": {"cpu": "1"}}),
        change(requests={"cpu": "150m"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, ODD)],
    ),
    ("resize:V6 added", pod(), {"spec": {"resources": {"requests": {"cpu": "1"}}}}, 200, UNCHANGED, []),
    ("resize:R40 resize:V2", mirror(), change(requests={"cpu": "150m"}), 422, UNCHANGED, [(FORBIDDEN, ODD)]),
    (
        "resize:V3",
        with_spec(os={"name": "windows"}),
        change(requests={"cpu": "150m"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, ODD)],
    ),
    ("resize:R49", pod(), change(requests={"cpu": "50m"}), 200, STORED, []),
    (
        "resize:R57 resize:V5",
        running_without_resources(),
        change(requests={"cpu": "150m"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
    ("resize:R61", pod(), change(requests={"cpu": "0.1"}, limits={"memory": "0.25Gi"}), 200, UNCHANGED, []),
    ("resize:R63", pod() | {"status": {"phase": "Succeeded"}}, change(requests={"cpu": "150m"}), 200, STORED, []),
    (
        "resize:V7 added",
        pod(),
        {"spec": {"containers": [{"name": "more", "image": "x"}]}},
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec.containers")],
    ),
    (
        "resize:V4 and resize:V9",
        pod("a", guaranteed()),
        change(limits={"cpu": None, "memory": None}, requests={"cpu": "1", "memory": "1Gi"}),
        422,
        UNCHANGED,
        [(INVALID, "spec"), (FORBIDDEN, "spec.containers[0].resources.limits")],
    ),
    ("zero is no removal", pod(), change(limits={"cpu": "0"}, requests={"cpu": "0"}), 200, STORED, []),
    (
        "claims resize:V10",
        pod("a", burstable() | {"resources": {"claims": [{"name": "gpu"}], "requests": {"cpu": "100m"}}}),
        change(requests={"cpu": "150m"}),
        422,
        UNCHANGED,
        [(FORBIDDEN, "spec")],
    ),
]


async def seeded(wire: Wire, obj: JsonObject) -> JsonObject:
    """Create a pod as clients do, and then give it its status."""
    created = await wire.post(PODS, obj)
    assert created.code == 201, created.body
    if "status" in obj:
        return wire.server.store.merge(pod() | {"spec": {}, "status": obj["status"]})
    return created.body


def without_owners(obj: JsonObject) -> JsonObject:
    """Return a pod without what even a request that is dropped leaves on it: who asked for which field."""
    metadata = {k: v for k, v in child(obj, "metadata").items() if k not in {"managedFields", "resourceVersion"}}
    return {**obj, "metadata": metadata}


@pytest.mark.parametrize(("row", "stored", "patch", "code", "generation", "causes"), ROWS, ids=[row[0] for row in ROWS])
async def test_resize_rows(
    row: str,
    stored: JsonObject,
    patch: JsonObject,
    code: int,
    generation: int,
    causes: list[tuple[str, str]],
) -> None:
    async with cluster() as wire:
        before = await seeded(wire, stored)
        answer = await wire.patch(RESIZE, patch, STRATEGIC_PATCH)
        after = wire.server.store.read("v1", "Pod", "a", "default")
        assert (answer.code, answer.causes) == (code, causes), row
        assert child(after, "metadata")["generation"] == generation, row
        if generation == UNCHANGED:
            assert without_owners(after) == without_owners(before), row
        if code == 200:
            assert answer.body == after, row
        else:
            assert answer.body["reason"] == "Invalid", row


async def test_removed_requests_become_the_limit_that_stays() -> None:
    """in-place-resize 1.2: deleting a request whose limit stays stores the limit as the request."""
    async with cluster() as wire:
        await seeded(wire, pod())
        answer = await wire.patch(RESIZE, change(requests={"memory": None}), STRATEGIC_PATCH)
        requests = child(rows(answer.body, "spec", "containers")[0], "resources", "requests")
        assert requests == {"cpu": "100m", "memory": "256Mi"}


async def test_r30_r59_v8_whole_pods_and_other_patch_types() -> None:
    """resize:R30, resize:R59, resize:V7 and resize:V8 with the other ways to write."""
    async with cluster() as wire:
        stored = await seeded(wire, pod("a", burstable(), burstable() | {"name": "b"}))
        reordered = as_object(stored | {"spec": {"containers": list(reversed(rows(stored, "spec", "containers")))}})
        answer = await wire.call("PUT", RESIZE, reordered)
        fields = [field for _, field in answer.causes]
        assert (answer.code, fields[:2]) == (422, ["spec.containers[0].name", "spec.containers[1].name"])
        merged = {"spec": {"containers": [burstable(), container("b", requests={"cpu": "150m"})]}}
        removal = await wire.patch(RESIZE, merged, MERGE_PATCH)
        assert (FORBIDDEN, "spec.containers[1].resources.limits") in removal.causes
        fewer = await wire.patch(RESIZE, {"spec": {"containers": [burstable()]}}, MERGE_PATCH)
        assert fewer.causes == [(FORBIDDEN, "spec.containers")]
        operations: list[JsonObject] = [
            {"op": "test", "path": "/metadata/uid", "value": value_at(stored, "metadata", "uid")},
            {"op": "test", "path": "/spec/containers/1/name", "value": "b"},
            {"op": "add", "path": "/spec/containers/1/resources/requests/cpu", "value": "150m"},
        ]
        resized = await wire.patch(RESIZE, operations, JSON_PATCH)
        assert (resized.code, child(resized.body, "metadata")["generation"]) == (200, 2)
        stale = await wire.call("PUT", RESIZE, stored)
        assert (stale.code, stale.body["reason"]) == (409, "Conflict")
        child(stored, "metadata").pop("resourceVersion")
        assert (await wire.call("PUT", RESIZE, stored)).code == 200
        operations[0]["value"] = "another"
        assert (await wire.patch(RESIZE, operations, JSON_PATCH)).code == 422


async def test_r35_resources_do_not_change_through_the_main_resource() -> None:
    """Row resize:R35 of the scenarios."""
    async with cluster() as wire:
        before = await seeded(wire, pod())
        answer = await wire.patch(f"{PODS}/a", change(requests={"cpu": "150m"}), STRATEGIC_PATCH)
        assert (answer.code, answer.causes) == (422, [(FORBIDDEN, "spec")])
        assert wire.server.store.read("v1", "Pod", "a", "default") == before


async def test_unreadable_amounts_are_reported_on_the_patch_or_as_a_bad_request() -> None:
    async with cluster() as wire:
        await seeded(wire, pod())
        answer = await wire.patch(RESIZE, change(requests={"cpu": "lots"}), STRATEGIC_PATCH)
        assert (answer.code, answer.causes) == (422, [(INVALID, "patch")])
        created = await wire.post(PODS, pod("b", container(requests={"cpu": "lots"})))
        assert (created.code, created.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("amounts", "stored"),
    [
        ({"cpu": "0.0001"}, {"cpu": "1m"}),
        ({"memory": "100m"}, {"memory": "1"}),
        ({"cpu": 1}, {"cpu": "1"}),
        ({"cpu": "1000m"}, {"cpu": "1"}),
    ],
)
async def test_amounts_are_stored_canonically(amounts: JsonObject, stored: JsonObject) -> None:
    async with cluster() as wire:
        created = await wire.post(PODS, pod("a", container(requests=amounts)))
        assert child(rows(created.body, "spec", "containers")[0], "resources", "requests") == stored


async def test_resize_can_be_read_and_misses_like_any_object() -> None:
    async with cluster() as wire:
        stored = await seeded(wire, pod())
        assert (await wire.get(RESIZE)).body == stored
        for method, path in (("GET", f"{PODS}/b/resize"), ("PUT", f"{PODS}/b/resize"), ("PATCH", f"{PODS}/b/resize")):
            content_type = JSON_PATCH if method == "PATCH" else "application/json"
            body: object = [] if method == "PATCH" else pod("b")
            answer = await wire.call(method, path, None if method == "GET" else body, content_type)
            assert (answer.code, answer.body["reason"]) == (404, "NotFound")


async def test_the_time_of_the_last_resize_is_kept_with_its_writer() -> None:
    """As a real 1.35 server was seen to do it: cut to seconds, moved by what changes an amount and by nothing else."""
    async with cluster() as wire:
        created = await wire.post(PODS, pod())
        found: list[list[tuple[str, str]]] = []
        for path, body, headers in (
            (RESIZE, change(requests={"cpu": "110m"}), "one/1"),
            (RESIZE, change(requests={"cpu": "110m"}), "one/1"),
            (f"{PODS}/a", {"metadata": {"annotations": {"x": "y"}}}, "one/1"),
            (RESIZE, change(requests={"cpu": "120m"}), "two/1"),
            (RESIZE, change(requests={"cpu": "130m"}), "one/1"),
        ):
            wire.clock.advance(timedelta(seconds=1.5))
            kind = STRATEGIC_PATCH if path == RESIZE else MERGE_PATCH
            answer = await wire.call("PATCH", path, body, kind, {"User-Agent": headers})
            assert answer.code == 200, answer
            entries = [m for m in rows(answer.body, "metadata", "managedFields") if m.get("subresource") == "resize"]
            found.append([(str(m["manager"]), str(m["time"])[-4:]) for m in entries])
        assert found == [[("one", ":01Z")], [("one", ":01Z")], [("one", ":01Z")], [("two", ":06Z")], [("one", ":07Z")]]
        other = {"metadata": {"uid": "another", "annotations": {"x": "z"}}}
        assert (await wire.patch(f"{PODS}/a", other, MERGE_PATCH)).code in {409, 422}
        same = {"metadata": {"uid": child(created.body, "metadata")["uid"], "annotations": {"x": "z"}}}
        assert (await wire.patch(f"{PODS}/a", same, MERGE_PATCH)).code == 200
