"""Options of requests; codes and causes are those of a real server of version 1.35.4."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import child, text
from tests.evenkeel.simulator.api.wire import MERGE_PATCH, cluster, config_map

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
FORBIDDEN, UNSUPPORTED = "FieldValueForbidden", "FieldValueNotSupported"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("query", "code", "causes"),
    [
        ("resourceVersionMatch=Exact", 422, [(FORBIDDEN, "resourceVersionMatch")]),
        ("resourceVersionMatch=Roughly&resourceVersion=1", 422, [(UNSUPPORTED, "resourceVersionMatch")]),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422, [(FORBIDDEN, "resourceVersionMatch")]),
        ("resourceVersionMatch=Exact&resourceVersion=5&continue=abc", 422, [(FORBIDDEN, "resourceVersionMatch")]),
        ("resourceVersionMatch=NotOlderThan&resourceVersion=0", 200, []),
        ("resourceVersion=99999999", 504, [("ResourceVersionTooLarge", "")]),
        ("resourceVersionMatch=Exact&resourceVersion=99999999", 504, [("ResourceVersionTooLarge", "")]),
        ("resourceVersion=abc", 400, []),
    ],
)
async def test_lists(query: str, code: int, causes: list[tuple[str, str]]) -> None:
    async with cluster() as wire:
        answer = await wire.get(f"{MAPS}?{query}")
        assert (answer.code, answer.causes) == (code, causes)
        if code == 422:
            assert child(answer.body, "details")["kind"] == "ListOptions"


async def test_an_exact_state_can_be_listed_while_it_is_kept() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        revision = wire.server.store.versions.revision
        wire.server.store.create(config_map("b"))
        query = f"resourceVersionMatch=Exact&resourceVersion={revision}"
        assert (await wire.get(f"{MAPS}?{query}")).items == ["a"]
        wire.server.expire_history()
        gone = await wire.get(f"{MAPS}?{query}")
        assert (gone.code, gone.body["reason"]) == (410, "Expired")


async def test_a_read_of_a_future_state_is_refused() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        assert (await wire.get(f"{MAPS}/a?resourceVersion=1")).code == 200
        answer = await wire.get(f"{MAPS}/a?resourceVersion=99999999")
        assert (answer.code, answer.causes, answer.headers["retry-after"]) == (
            504,
            [("ResourceVersionTooLarge", "")],
            "1",
        )


@pytest.mark.parametrize(
    ("method", "query", "kind", "causes"),
    [
        ("POST", "fieldValidation=Sometimes", "CreateOptions", [(UNSUPPORTED, "fieldValidation")]),
        ("POST", "dryRun=Some", "CreateOptions", [(UNSUPPORTED, "dryRun")]),
        ("PUT", "dryRun=Some", "UpdateOptions", [(UNSUPPORTED, "dryRun")]),
        ("PATCH", "force=true", "PatchOptions", [(FORBIDDEN, "force")]),
        ("PATCH", f"fieldManager={'m' * 129}", "PatchOptions", [("FieldValueTooLong", "fieldManager")]),
    ],
)
async def test_writes(method: str, query: str, kind: str, causes: list[tuple[str, str]]) -> None:
    async with cluster() as wire:
        stored = wire.server.store.create(config_map("a"))
        path = MAPS if method == "POST" else f"{MAPS}/a"
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        answer = await wire.call(method, f"{path}?{query}", config_map("a", x="1"), content_type)
        assert (answer.code, answer.causes) == (422, causes)
        assert child(answer.body, "details")["kind"] == kind
        assert wire.server.store.read("v1", "ConfigMap", "a", "default") == stored


@pytest.mark.parametrize(
    ("method", "query", "code", "causes", "warning"),
    [
        ("POST", "fieldValidation=Strict", 400, [], ""),
        ("PATCH", "fieldValidation=Strict", 422, [("FieldValueInvalid", "patch")], ""),
        ("POST", "fieldValidation=Warn", 201, [], 'unknown field \\"dat\\"'),
        ("POST", "", 201, [], 'unknown field \\"dat\\"'),
        ("PATCH", "", 200, [], 'unknown field \\"dat\\"'),
        ("POST", "fieldValidation=Ignore", 201, [], ""),
    ],
)
async def test_unknown_fields_of_built_in_kinds(
    method: str, query: str, code: int, causes: list[tuple[str, str]], warning: str
) -> None:
    async with cluster() as wire:
        path = MAPS
        if method == "PATCH":
            wire.server.store.create(config_map("a"))
            path = f"{MAPS}/a"
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        answer = await wire.call(method, f"{path}?{query}", {**config_map("a"), "dat": {}}, content_type)
        assert (answer.code, answer.causes) == (code, causes)
        assert warning in answer.headers.get("warning", "")
        assert "dat" not in answer.body


async def test_other_methods_are_refused_as_objects() -> None:
    async with cluster() as wire:
        answer = await wire.call("OPTIONS", MAPS)
        assert (answer.code, text(answer.body, "reason")) == (405, "MethodNotAllowed")
