"""Get and list over HTTP."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import child, rows, text
from tests.evenkeel.simulator.api.wire import Wire, cluster, config_map, definition, pod, widget

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seed_maps(wire: Wire, *names: str) -> None:
    for name in names:
        wire.server.store.create(config_map(name))


async def test_lists_are_ordered_by_namespace_and_name_and_bear_the_newest_revision() -> None:
    async with cluster() as wire:
        seed_maps(wire, "c", "a")
        wire.server.store.create(config_map("b", "kube-system"))
        everywhere = await wire.get("/api/v1/configmaps")
        assert everywhere.items == ["a", "c", "b"]
        assert (everywhere.body["kind"], everywhere.body["apiVersion"]) == ("ConfigMapList", "v1")
        assert child(everywhere.body, "metadata") == {"resourceVersion": str(wire.server.store.versions.revision)}
        assert (await wire.get(MAPS)).items == ["a", "c"]
        assert (await wire.get("/api/v1/namespaces/none/configmaps")).items == []


async def test_items_of_built_in_lists_leave_their_kind_to_the_list_and_custom_ones_do_not() -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object"}))
        wire.server.store.create(widget())
        seed_maps(wire, "a")
        built_in, custom = await wire.get(MAPS), await wire.get("/apis/example.dev/v1/widgets")
        assert "kind" not in built_in.body["items"][0]  # type: ignore[index]
        assert custom.body["kind"] == "WidgetList"
        assert custom.body["items"][0]["kind"] == "Widget"  # type: ignore[index]


@pytest.mark.parametrize("count", [1, 499, 500, 501, 1000, 1001])
async def test_long_lists_are_whole(count: int) -> None:
    async with cluster() as wire:
        wire.server.store.create(definition({"type": "object"}))
        names = [f"n{place:04d}" for place in range(count)]
        for name in names:
            wire.server.store.create(config_map(name))
            wire.server.store.create(widget(name))
        built_in, custom = await wire.get(MAPS), await wire.get("/apis/example.dev/v1/widgets")
        assert built_in.items == custom.items == names
        assert built_in.body["kind"] == "ConfigMapList"
        assert {item["kind"] for item in rows(custom.body, "items")} == {"Widget"}
        assert ("content-length" in built_in.headers) is (count <= 500)


async def test_a_client_may_leave_in_the_middle_of_a_long_list() -> None:
    async with cluster() as wire:
        filling = "x" * 4000
        for place in range(3000):
            wire.server.store.create(config_map(f"n{place:04d}", filling=filling))
        async with wire.session.get(wire.endpoint.url + MAPS) as answer:
            assert answer.status == 200
            answer.close()
        assert (await wire.get(f"{MAPS}/n0000")).code == 200
        assert len((await wire.get(MAPS)).items) == 3000


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("labelSelector=app%3Da", ["a"]),
        ("labelSelector=app+in+(a,b)", ["a", "b"]),
        ("labelSelector=app+notin+(a,b)", ["c"]),
        ("labelSelector=!app", []),
        ("fieldSelector=spec.nodeName%3Dn1", ["a", "b"]),
        ("fieldSelector=spec.nodeName!%3Dn1", ["c"]),
        ("fieldSelector=spec.nodeName%3D", ["c"]),
        ("fieldSelector=status.phase%3DRunning", ["b"]),
        ("fieldSelector=metadata.name%3Dc", ["c"]),
        ("fieldSelector=spec.nodeName%3Dn1,status.phase!%3DRunning&labelSelector=app", ["a"]),
    ],
)
async def test_selected_lists(query: str, names: list[str]) -> None:
    async with cluster() as wire:
        wire.server.store.create(pod("a", node="n1"))
        wire.server.store.create(pod("b", node="n1") | {"status": {"phase": "Running"}})
        wire.server.store.create(pod("c"))
        assert (await wire.get(f"/api/v1/pods?{query}")).items == names


@pytest.mark.parametrize(
    "query",
    [
        "labelSelector=a+b",
        "fieldSelector=spec.color%3Dred",
        "limit=many",
        "continue=xyz",
        "continue=e30",
        "resourceVersion=-1",
    ],
)
async def test_parameters_that_cannot_be_read(query: str) -> None:
    async with cluster() as wire:
        answer = await wire.get(f"{MAPS}?{query}")
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_pages_show_one_state_although_it_changes_meanwhile() -> None:
    async with cluster() as wire:
        seed_maps(wire, "a", "b", "c", "d")
        first = await wire.get(f"{MAPS}?limit=2")
        meta = child(first.body, "metadata")
        assert (first.items, meta["remainingItemCount"]) == (["a", "b"], 2)
        wire.server.store.delete("v1", "ConfigMap", "c", "default")
        seed_maps(wire, "bb", "e")
        second = await wire.get(f"{MAPS}?limit=2&continue={meta['continue']}")
        assert second.items == ["c", "d"]
        assert child(second.body, "metadata") == {"resourceVersion": meta["resourceVersion"]}


async def test_selected_pages_do_not_tell_how_many_remain() -> None:
    async with cluster() as wire:
        seed_maps(wire, "a", "b", "c")
        page = await wire.get(f"{MAPS}?limit=1&fieldSelector=metadata.name!%3Db")
        meta = child(page.body, "metadata")
        assert (page.items, "remainingItemCount" in meta) == (["a"], False)
        rest = await wire.get(f"{MAPS}?limit=5&fieldSelector=metadata.name!%3Db&continue={meta['continue']}")
        assert rest.items == ["c"]


async def test_a_page_of_a_forgotten_state_is_gone_and_the_list_can_go_on_inconsistently() -> None:
    async with cluster() as wire:
        seed_maps(wire, "a", "b", "c")
        first = await wire.get(f"{MAPS}?limit=1")
        seed_maps(wire, "bb")
        wire.server.expire_history()
        gone = await wire.get(f"{MAPS}?limit=1&continue={text(first.body, 'metadata', 'continue')}")
        assert (gone.code, gone.body["reason"]) == (410, "Expired")
        token = text(gone.body, "metadata", "continue")
        following = await wire.get(f"{MAPS}?limit=2&continue={token}")
        assert following.items == ["b", "bb"]
        last = await wire.get(f"{MAPS}?limit=2&continue={text(following.body, 'metadata', 'continue')}")
        assert last.items == ["c"]


async def test_a_continued_list_names_no_other_state() -> None:
    async with cluster() as wire:
        seed_maps(wire, "a", "b")
        token = text((await wire.get(f"{MAPS}?limit=1")).body, "metadata", "continue")
        assert (await wire.get(f"{MAPS}?continue={token}&resourceVersion=5")).code == 400


async def test_lists_of_a_named_revision() -> None:
    async with cluster() as wire:
        seed_maps(wire, "a")
        then = wire.server.store.versions.revision
        seed_maps(wire, "b")
        for query, names in (
            ("resourceVersion=0", ["a", "b"]),
            (f"resourceVersion={then}", ["a", "b"]),
            (f"resourceVersion={then}&resourceVersionMatch=NotOlderThan", ["a", "b"]),
            (f"resourceVersion={then}&resourceVersionMatch=Exact", ["a"]),
            (f"resourceVersion={then}&limit=5", ["a"]),
        ):
            assert (await wire.get(f"{MAPS}?{query}")).items == names, query
        ahead = await wire.get(f"{MAPS}?resourceVersion={then + 1000}")
        assert (ahead.code, ahead.headers["retry-after"]) == (504, "1")
        assert ahead.causes == [("ResourceVersionTooLarge", "")]
        wire.server.expire_history()
        assert (await wire.get(f"{MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")).code == 410


async def test_a_missing_object_is_named_with_its_group() -> None:
    async with cluster() as wire:
        answer = await wire.get("/apis/apps/v1/namespaces/default/deployments/web")
        assert (answer.code, answer.body["message"]) == (404, 'deployments.apps "web" not found')
        assert child(answer.body, "details") == {"name": "web", "group": "apps", "kind": "deployments"}
