"""Answers as tables and as metadata, of reads, lists, writes and watches."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text, value_at
from tests.evenkeel.simulator.api.wire import Answer, EventStream, Wire, cluster, config_map

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def ask(wire: Wire, path: str, accept: str, method: str = "GET", body: object = None) -> Answer:
    return await wire.call(method, path, body, headers={"Accept": accept})


def cells(table: JsonObject) -> list[object]:
    return [row["cells"] for row in rows(table, "rows")]


@pytest.mark.parametrize(
    ("path", "accept", "code", "kind"),
    [
        (f"{MAPS}/a", TABLE, 200, "Table"),
        (f"{MAPS}/a", f"{TABLE},application/json", 200, "Table"),
        (f"{MAPS}/a", f"application/json,{TABLE}", 200, "ConfigMap"),
        (
            f"{MAPS}/a",
            "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io,application/json",
            200,
            "ConfigMap",
        ),
        (f"{MAPS}/a", "application/json;as=Picture,application/json", 200, "ConfigMap"),
        (f"{MAPS}/a", "application/json;as=Picture", 406, "Status"),
        (f"{MAPS}/a", "application/vnd.kubernetes.protobuf", 406, "Status"),
        (f"{MAPS}/a", "application/vnd.kubernetes.protobuf,application/json", 200, "ConfigMap"),
        (f"{MAPS}/a", METADATA, 200, "PartialObjectMetadata"),
        (MAPS, METADATA_LIST, 200, "PartialObjectMetadataList"),
        (MAPS, TABLE, 200, "Table"),
        (f"{MAPS}/a?includeObject=Everything", TABLE, 400, "Status"),
        (f"{MAPS}?includeObject=Everything", TABLE, 400, "Status"),
        (f"{MAPS}?includeObject=Everything&watch=1", TABLE, 400, "Status"),
        (f"{MAPS}/none", TABLE, 404, "Status"),
    ],
)
async def test_forms(path: str, accept: str, code: int, kind: str) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a", x="1"))
        answer = await ask(wire, path, accept)
        assert (answer.code, answer.body["kind"]) == (code, kind)


async def test_tables_of_lists_and_objects() -> None:
    async with cluster() as wire:
        for name in ("a", "b", "c"):
            wire.server.store.create(config_map(name, x="1"))
        listed = (await ask(wire, f"{MAPS}?limit=2", TABLE)).body
        assert cells(listed) == [["a", 1, "0s"], ["b", 1, "0s"]]
        assert child(listed, "metadata")["remainingItemCount"] == 1
        assert [row["name"] for row in rows(listed, "columnDefinitions")] == ["Name", "Data", "Age"]
        stored = wire.server.store.read("v1", "ConfigMap", "a", "default")
        one = (await ask(wire, f"{MAPS}/a?includeObject=Object", TABLE)).body
        assert value_at(rows(one, "rows")[0], "object") == stored
        assert child(one, "metadata") == {"resourceVersion": child(stored, "metadata")["resourceVersion"]}
        created = await ask(wire, MAPS, TABLE, "POST", config_map("d", x="1", y="2"))
        assert (created.code, cells(created.body)) == (201, [["d", 2, "0s"]])


async def test_metadata_of_lists_and_objects() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a", x="1"))
        listed = (await ask(wire, MAPS, METADATA_LIST)).body
        (item,) = rows(listed, "items")
        assert (set(item), text(item, "metadata", "name")) == ({"kind", "apiVersion", "metadata"}, "a")
        assert (await ask(wire, f"{MAPS}/a", METADATA)).body == item


async def events(wire: Wire, query: str, accept: str, count: int) -> list[JsonObject]:
    headers = {"Accept": accept}
    async with wire.session.get(f"{wire.endpoint.url}{MAPS}?watch=1{query}", headers=headers) as response:
        stream = EventStream(response)
        return [await stream.next() for _ in range(count)]


async def test_watches_of_tables_define_the_columns_once() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a", x="1"))
        wire.server.store.create(config_map("b"))
        query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        first, second, bookmark = await events(wire, query, TABLE, 3)
        assert [cells(child(event, "object")) for event in (first, second)] == [[["a", 1, "0s"]], [["b", 0, "0s"]]]
        assert len(rows(first, "object", "columnDefinitions")) == 3
        assert value_at(second, "object", "columnDefinitions") is None
        assert (bookmark["type"], text(bookmark, "object", "kind")) == ("BOOKMARK", "Table")


async def test_watches_of_metadata() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a", x="1"))
        query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        first, bookmark = await events(wire, query, METADATA, 2)
        assert set(child(first, "object")) == {"kind", "apiVersion", "metadata"}
        assert text(bookmark, "object", "kind") == "PartialObjectMetadata"
