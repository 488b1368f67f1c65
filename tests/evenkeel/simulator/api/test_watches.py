"""Watches over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest

from evenkeel.simulator.api.fields import child, text, value_at
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.watches import INITIAL_EVENTS_END, LONGEST_WATCH, SHORTEST_WATCH
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.faults import CloseWatches, EndWatch, ExpireHistory, Fault
from tests.evenkeel.simulator.api.wire import PODS, Wire, cluster, config_map, pod

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def revision(wire: Wire) -> int:
    return wire.server.store.versions.revision


async def test_a_watch_from_a_revision_gets_every_later_change_in_order() -> None:
    async with cluster() as wire:
        store = wire.server.store
        store.create(config_map("old"))
        start = revision(wire)
        store.create(config_map("a"))
        async with wire.watch(f"{MAPS}?resourceVersion={start}") as events:
            assert await events.summary() == ("ADDED", "a")
            store.merge(config_map("a", n="1"))
            store.create(config_map("other", "kube-system"))
            store.delete("v1", "ConfigMap", "a", "default")
            changed = await events.next()
            assert (changed["type"], value_at(changed, "object", "data", "n")) == ("MODIFIED", "1")
            assert (child(changed, "object")["kind"], child(changed, "object")["apiVersion"]) == ("ConfigMap", "v1")
            deleted = await events.next()
            assert (deleted["type"], value_at(deleted, "object", "data", "n")) == ("DELETED", "1")
            assert text(deleted, "object", "metadata", "resourceVersion") == str(revision(wire))


@pytest.mark.parametrize("query", ["", "resourceVersion=0"])
async def test_a_watch_without_a_revision_begins_with_what_exists(query: str) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        wire.server.store.create(config_map("b"))
        async with wire.watch(f"{MAPS}?{query}") as events:
            assert [await events.summary() for _ in range(2)] == [("ADDED", "a"), ("ADDED", "b")]
            wire.server.store.create(config_map("c"))
            assert await events.summary() == ("ADDED", "c")


async def test_objects_come_and_go_as_they_begin_and_cease_to_match() -> None:
    async with cluster() as wire:
        store = wire.server.store
        store.create(pod("a"))
        async with wire.watch(f"{PODS}?fieldSelector=spec.nodeName%3Dn1&resourceVersion={revision(wire)}") as events:
            store.merge(pod("a") | {"spec": {"nodeName": "n1"}})
            assert await events.summary() == ("ADDED", "a")
            store.merge(pod("a") | {"status": {"phase": "Running"}})
            assert await events.summary() == ("MODIFIED", "a")
            store.merge(pod("a") | {"spec": {"nodeName": "n2"}})
            gone = await events.next()
            assert (gone["type"], value_at(gone, "object", "spec", "nodeName")) == ("DELETED", "n1")
            assert text(gone, "object", "metadata", "resourceVersion") == str(revision(wire))
            store.merge(pod("a") | {"spec": {"nodeName": "n3"}})
            store.delete("v1", "Pod", "a", "default")
            store.create(pod("b", node="n1"))
            assert await events.summary() == ("ADDED", "b")


async def test_one_object_can_be_watched() -> None:
    async with cluster() as wire:
        for name in "ab":
            wire.server.store.create(config_map(name))
        async with wire.watch(f"{MAPS}?fieldSelector=metadata.name%3Db") as events:
            assert await events.summary() == ("ADDED", "b")


async def test_bookmarks_come_every_minute_and_before_the_end() -> None:
    async with (
        cluster() as wire,
        wire.watch(f"{MAPS}?resourceVersion={revision(wire)}&allowWatchBookmarks=true&timeoutSeconds=90") as events,
    ):
        wire.server.store.create(pod("elsewhere"))
        wire.clock.advance(MINUTE)
        mark = await events.next()
        assert mark["type"] == "BOOKMARK"
        assert child(mark, "object")["kind"] == "ConfigMap"
        assert text(mark, "object", "metadata", "resourceVersion") == str(revision(wire))
        wire.clock.advance(timedelta(seconds=30))
        assert (await events.next())["type"] == "BOOKMARK"
        assert await events.next() == {}


async def test_bookmarks_come_at_multiples_of_their_period_whenever_the_watch_began() -> None:
    async with cluster() as wire:
        wire.server.watches.bookmark_period = 2 * MINUTE
        wire.clock.advance(timedelta(seconds=100))
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}&allowWatchBookmarks=true") as events:
            assert wire.clock.next_timer() == EPOCH + 2 * MINUTE
            wire.clock.advance(timedelta(seconds=20))
            assert (await events.next())["type"] == "BOOKMARK"
            assert wire.clock.next_timer() == EPOCH + 4 * MINUTE


async def test_watches_can_be_made_to_last_longer_than_they_ask_for() -> None:
    async with cluster() as wire:
        wire.server.watches.least_lifetime = timedelta(hours=1)
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}&timeoutSeconds=90") as events:
            wire.clock.advance(59 * MINUTE)
            wire.server.store.create(config_map("a"))
            assert await events.summary() == ("ADDED", "a")
            wire.clock.advance(MINUTE)
            assert await events.next() == {}


async def test_no_bookmarks_unless_asked_for_and_the_time_out_ends_the_watch() -> None:
    async with cluster() as wire:
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}&timeoutSeconds=90") as events:
            wire.clock.advance(MINUTE)
            wire.server.store.create(config_map("a"))
            assert await events.summary() == ("ADDED", "a")
            wire.clock.advance(timedelta(seconds=31))
            assert await events.next() == {}
        assert wire.server.watches.active() == 0


async def test_a_watch_that_names_no_end_lasts_half_an_hour_to_an_hour() -> None:
    async with cluster() as wire, wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
        wire.clock.advance(SHORTEST_WATCH - MINUTE)
        wire.server.store.create(config_map("a"))
        assert await events.summary() == ("ADDED", "a")
        wire.clock.advance(LONGEST_WATCH - SHORTEST_WATCH + MINUTE)
        assert await events.next() == {}


async def test_initial_events_end_with_a_marked_bookmark() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with wire.watch(f"{MAPS}?{query}") as events:
            assert await events.summary() == ("ADDED", "a")
            mark = await events.next()
            assert mark["type"] == "BOOKMARK"
            assert child(mark, "object", "metadata", "annotations") == {INITIAL_EVENTS_END: "true"}
            wire.server.store.create(config_map("b"))
            assert await events.summary() == ("ADDED", "b")


async def test_initial_events_can_be_declined() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
        async with wire.watch(f"{MAPS}?{query}") as events:
            wire.server.store.create(config_map("b"))
            assert await events.summary() == ("ADDED", "b")


async def test_initial_events_need_a_revision_match() -> None:
    async with cluster() as wire:
        answer = await wire.get(f"{MAPS}?watch=true&sendInitialEvents=true")
        assert (answer.code, answer.causes) == (422, [("FieldValueForbidden", "resourceVersionMatch")])


async def test_a_forgotten_revision_is_gone_as_an_event_or_as_a_refusal() -> None:
    async with cluster() as wire:
        start = revision(wire)
        wire.server.expire_history([GroupResource("", "configmaps")])
        async with wire.watch(f"{MAPS}?resourceVersion={start}") as events:
            error = await events.next()
            assert (events.code, error["type"], value_at(error, "object", "code")) == (200, "ERROR", 410)
            assert text(error, "object", "reason") == "Expired"
            assert await events.next() == {}
        wire.server.settings.expired_watch_as_event = False
        refused = await wire.get(f"{MAPS}?watch=true&resourceVersion={start}")
        assert (refused.code, refused.body["reason"]) == (410, "Expired")
        async with wire.watch(f"/api/v1/secrets?resourceVersion={start}") as events:
            assert events.code == 200


async def test_a_watch_that_falls_behind_the_window_is_told_to_list_again() -> None:
    async with cluster() as wire, wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
        wire.server.store.versions.history_limit = 1
        wire.server.store.create(config_map("a"))
        wire.server.store.create(config_map("b"))
        assert (await events.next())["type"] == "ERROR"
        assert await events.next() == {}


async def test_watches_are_counted_and_can_be_closed_by_path() -> None:
    async with cluster() as wire:
        query = f"resourceVersion={revision(wire)}"
        async with wire.watch(f"{MAPS}?{query}") as maps, wire.watch(f"{PODS}?{query}") as pods:
            assert (wire.server.watches.active("pods"), wire.server.watches.active()) == (1, 2)
            assert wire.server.watches.close("/configmaps$") == 1
            assert await maps.next() == {}
            wire.server.store.create(pod("a"))
            assert await pods.summary() == ("ADDED", "a")


async def test_a_watch_ends_when_its_client_goes_away() -> None:
    async with cluster() as wire:
        opened = asyncio.Event()
        wire.server.watches.observers.append(opened.set)
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}"):
            assert wire.server.watches.active() == 1
            opened.clear()
        await asyncio.wait_for(opened.wait(), 10)
        assert wire.server.watches.active() == 0


async def test_faults_end_watches() -> None:
    async with cluster() as wire:
        faults, store = wire.server.faults, wire.server.store
        faults.add(Fault(EndWatch(after_events=1), verb="watch", path="/configmaps$"))
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            store.create(config_map("a"))
            store.create(config_map("b"))
            assert await events.summary() == ("ADDED", "a")
            assert await events.next() == {}
        faults.add(Fault(EndWatch(after_events=1, abruptly=True), verb="watch"))
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            store.create(config_map("c"))
            assert await events.summary() == ("ADDED", "c")
            with pytest.raises(aiohttp.ClientPayloadError):
                await events.next()
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            faults.add(Fault(CloseWatches("configmaps"), verb="create"))
            await wire.post(MAPS, config_map("d"))
            assert await events.next() == {}


async def test_a_fault_makes_a_watch_find_its_history_gone() -> None:
    async with cluster() as wire:
        wire.server.faults.add(Fault(ExpireHistory(), verb="watch", path="/configmaps$"))
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            assert (await events.next())["type"] == "ERROR"
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            wire.server.store.create(config_map("a"))
            assert await events.summary() == ("ADDED", "a")


async def test_what_several_threads_write_arrives_whole_and_in_order() -> None:
    async with cluster() as wire:
        store = wire.server.store
        for name in "ab":
            store.create(config_map(name))

        def write(name: str, first: int, count: int) -> None:
            for n in range(first, first + count):
                store.merge(config_map(name, n=str(n)))

        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:

            async def seen(count: int) -> dict[str, list[str]]:
                found: dict[str, list[str]] = {"a": [], "b": []}
                for _ in range(count):
                    changed = child(await events.next(), "object")
                    found[text(changed, "metadata", "name")].append(text(changed, "data", "n"))
                return found

            await asyncio.gather(*(asyncio.to_thread(write, name, 0, 300) for name in "ab"))
            numbers = [str(n) for n in range(300)]
            assert await seen(600) == {"a": numbers, "b": numbers}
            for n in range(300, 320):
                await asyncio.to_thread(write, "a", n, 1)
                assert await seen(1) == {"a": [str(n)], "b": []}


async def test_changes_in_a_row_go_out_together_but_not_without_end() -> None:
    async with cluster() as wire:
        store, rounds = wire.server.store, 200
        store.create(config_map("a"))
        async with wire.watch(f"{MAPS}?resourceVersion={revision(wire)}") as events:
            (watch,) = wire.server.watches.open
            sent: list[int] = []
            for n in range(rounds):
                store.merge(config_map("a", n=str(n)))
                await asyncio.sleep(0)
                sent.append(watch.sent)
            assert rounds // 40 <= len(set(sent)) <= rounds // 8
            for n in range(rounds):
                assert text(await events.next(), "object", "data", "n") == str(n)
