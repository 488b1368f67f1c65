"""Stores that follow a real collection of the embedded API server, with things going wrong in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoscaling.errors import ApiRefusedError, ApiUnreachableError, InvalidObjectError
from autoscaling.kube import paths
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import identified
from autoscaling.kube.paths import Selection
from autoscaling.kube.watch import StoreSettings, WatchedStore
from autoscaling.objectref import ObjectRef
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.faults import EndWatch, ExpireHistory, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import Answer, End, ScriptedServer, client_of, lines, no, ok
from tests.autoscaling.kube.witness import Witness, decode

pytestmark = pytest.mark.anyio

MAPS = Selection(paths.CONFIG_MAPS, "shop")
PATH = "/api/v1/namespaces/shop/configmaps"
CRD = Path(__file__).parents[3] / "manifests" / "crd" / "verticalpodautoscalers.yaml"
KEY_A = ("shop", "a")


def config_map(name: str, text: str, namespace: str = "shop", **labels: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


def put(cluster: ApiServer, name: str, text: str) -> None:
    cluster.store.merge(config_map(name, text))


async def eventually(holds: Callable[[], bool]) -> None:
    """Let other tasks run until something holds that nobody announces."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nobody could set an event
            await asyncio.sleep(0)


@pytest.fixture
def cluster(cluster: ApiServer) -> ApiServer:
    cluster.create_namespaces("shop", "other")
    for name in "abcde":
        cluster.store.create(config_map(name, f"{name}1"))
    return cluster


@asynccontextmanager
async def following(
    client: KubeClient, witness: Witness, settings: StoreSettings | None = None, selection: Selection = MAPS
) -> AsyncIterator[WatchedStore[str]]:
    store = WatchedStore(client, selection, decode, witness.callbacks, settings)
    store.start()
    try:
        await store.wait_synced(10)
        yield store
    finally:
        await store.stop()


async def test_a_store_holds_the_list_and_then_every_event(cluster: ApiServer, cluster_client: KubeClient) -> None:
    witness = Witness()
    async with following(cluster_client, witness, StoreSettings(page_size=2)) as store:
        assert store.snapshot() == ("a1", "b1", "c1", "d1", "e1")
        assert witness.news() == [(name, None, f"{name}1") for name in "abcde"]
        put(cluster, "a", "a2")
        cluster.store.create(config_map("f", "f1"))
        cluster.store.delete("v1", "ConfigMap", "b", "shop")
        await witness.until(lambda: len(witness.changes) == 3)
        assert witness.news() == [("a", "a1", "a2"), ("f", None, "f1"), ("b", "b1", None)]
        assert (store.find(KEY_A), store.find(("shop", "b"))) == ("a2", None)
        assert dict(store.items())["shop", "f"] == "f1"
        assert (store.is_synced, store.last_trouble, store.version) == (True, None, 8)
        assert (store.counters.lists, store.counters.events) == (1, 3)
    assert [call.query.get("limit") for call in cluster.requests.calls("list", "configmaps")] == ["2", "2", "2"]


async def test_only_what_is_selected_is_followed(cluster: ApiServer, cluster_client: KubeClient) -> None:
    cluster.store.create(config_map("g", "g1", app="web"))
    cluster.store.create(config_map("h", "h1", namespace="other", app="web"))
    witness = Witness()
    selection = Selection(paths.CONFIG_MAPS, "", "app=web", "metadata.name!=i")
    async with following(cluster_client, witness, selection=selection) as store:
        assert sorted(store.snapshot()) == ["g1", "h1"]
        cluster.store.create(config_map("i", "i1", app="web"))
        cluster.store.create(config_map("j", "j1", app="web"))
        cluster.store.merge(config_map("g", "g2", app="db"))
        await witness.until(lambda: len(witness.changes) == 4)
        assert witness.news()[2:] == [("j", None, "j1"), ("g", "g1", None)]


async def test_a_list_that_expires_half_way_is_begun_again(cluster: ApiServer, cluster_client: KubeClient) -> None:
    cluster.faults.add(
        Fault(ExpireHistory(), verb="list", path="/configmaps$", when=lambda _, query: "continue" in query)
    )
    witness = Witness()
    async with following(cluster_client, witness, StoreSettings(page_size=2)) as store:
        assert sorted(store.snapshot()) == ["a1", "b1", "c1", "d1", "e1"]
        assert store.counters.lists == 1
    calls = cluster.requests.calls("list", "configmaps")
    assert [(call.status, bool(call.query.get("continue"))) for call in calls] == [
        (200, False),
        (410, True),
        (200, False),
        (200, True),
        (200, True),
    ]


@pytest.mark.parametrize("abruptly", [True, False])
async def test_a_watch_that_ends_is_taken_up_where_it_was(
    cluster: ApiServer, cluster_client: KubeClient, abruptly: bool
) -> None:
    cluster.faults.add(Fault(EndWatch(after_events=1, abruptly=abruptly), verb="watch", path="/configmaps$"))
    witness = Witness()
    async with following(cluster_client, witness) as store:
        for text in ("a2", "a3", "a4"):
            put(cluster, "a", text)
        await witness.until(lambda: store.find(KEY_A) == "a4")
        assert witness.news()[5:] == [("a", "a1", "a2"), ("a", "a2", "a3"), ("a", "a3", "a4")]
        assert (store.counters.lists, store.counters.watches) == (1, 2)
        assert len(witness.troubles) == int(abruptly)
    watches = cluster.requests.calls("watch", "configmaps")
    assert int(watches[1].query["resourceVersion"]) == int(watches[0].query["resourceVersion"]) + 1


@pytest.mark.parametrize("as_event", [True, False])
async def test_what_an_expired_watch_missed_comes_with_the_next_list(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, as_event: bool
) -> None:
    cluster.settings.expired_watch_as_event = as_event
    cluster.faults.add(Fault(ExpireHistory(), verb="watch", path="/configmaps$", skip=1))
    witness = Witness()
    async with following(held_client, witness) as store:
        await cluster.requests.until(lambda log: len(log.calls("watch")) == 1)
        witness.news()
        cluster.watches.close("/configmaps$")
        await held.asleep()
        put(cluster, "a", "a2")
        cluster.store.delete("v1", "ConfigMap", "b", "shop")
        cluster.store.create(config_map("f", "f1"))
        await held.advance(1)
        await witness.until(lambda: len(witness.changes) == 3)
        assert witness.news() == [("a", "a1", "a2"), ("f", None, "f1"), ("b", "b1", None)]
        assert (store.counters.lists, store.counters.expired, witness.troubles) == (2, 1, [])


async def test_bookmarks_move_the_place_to_resume_from(cluster: ApiServer, cluster_client: KubeClient) -> None:
    witness = Witness()
    async with following(cluster_client, witness) as store:
        await cluster.requests.until(lambda log: len(log.calls("watch")) == 1)
        cluster.store.create(config_map("x", "x1", namespace="other"))
        assert isinstance(cluster.clock, ManualClock)
        cluster.clock.advance(timedelta(seconds=61))
        await eventually(lambda: store.counters.events == 1)
        cluster.watches.close("/configmaps$")
        await cluster.requests.until(lambda log: len(log.calls("watch")) == 2)
    first, second = (int(call.query["resourceVersion"]) for call in cluster.requests.calls("watch", "configmaps"))
    assert second == first + 1


async def test_a_busy_server_is_given_the_time_it_asks_for(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    cluster.faults.add(Fault(Refuse(429, retry_after_seconds=9), verb="watch"))
    witness = Witness()
    async with following(cluster_client, witness) as store:
        put(cluster, "a", "a2")
        await witness.until(lambda: store.find(KEY_A) == "a2")
        assert (store.counters.lists, [trouble.retry_seconds for trouble in witness.troubles]) == (1, [9.0])
        assert store.last_trouble is None
    assert 9.0 in pacing.slept


async def test_a_missing_right_is_named_and_asked_for_again(cluster: ApiServer, cluster_client: KubeClient) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="list", path="/configmaps$", count=3))
    witness = Witness()
    async with following(cluster_client, witness) as store:
        assert len(store.snapshot()) == 5
        assert store.last_trouble is None
    first, *_ = witness.troubles
    assert [(trouble.consecutive, trouble.retry_seconds) for trouble in witness.troubles] == [
        (1, 0.5),
        (2, 1.0),
        (3, 2.0),
    ]
    assert "list and watch on resource configmaps" in str(first.error)
    assert "in namespace shop" in str(first.error)


async def test_a_refused_watch_leads_to_a_new_list(cluster: ApiServer, cluster_client: KubeClient) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="watch", path="/configmaps$"))
    witness = Witness()
    async with following(cluster_client, witness) as store:
        put(cluster, "a", "a2")
        await witness.until(lambda: store.find(KEY_A) == "a2")
        assert store.counters.lists == 2
    assert [trouble.error for trouble in witness.troubles if not isinstance(trouble.error, ApiRefusedError)] == []


async def test_a_kind_that_is_not_installed_is_named_and_waited_for(
    cluster: ApiServer, cluster_client: KubeClient
) -> None:
    witness = Witness()
    selection = Selection(paths.vertical_pod_autoscalers("autoscaling.evenkeel.dev"))
    store = WatchedStore(cluster_client, selection, identified(lambda _: ""), witness.callbacks)
    store.start()
    await witness.until(lambda: bool(witness.troubles))
    with pytest.raises(
        ApiRefusedError, match=r"install the CustomResourceDefinition verticalpodautoscalers\.autoscaling"
    ):
        await store.wait_synced(0)
    cluster.store.create(yaml.safe_load(CRD.read_text()))
    await store.wait_synced(10)
    assert store.snapshot() == ()
    await store.stop()


async def test_one_bad_object_stops_nothing(cluster: ApiServer, cluster_client: KubeClient) -> None:
    """Spec: beyond:B-32."""
    put(cluster, "c", "bad")
    witness = Witness()
    async with following(cluster_client, witness) as store:
        assert store.snapshot() == ("a1", "b1", "d1", "e1")
        assert dict(store.unreadable) == {("shop", "c"): "the text is bad"}
        (error,) = witness.unreadable
        assert str(error) == "ConfigMap shop/c: cannot be read: the text is bad; it is left out until it is corrected"
        witness.news()
        put(cluster, "a", "bad")
        cluster.store.merge(config_map("c", "bad", label="new"))
        put(cluster, "b", "b2")
        await witness.until(lambda: store.find(("shop", "b")) == "b2")
        assert witness.news() == [("a", "a1", None), ("b", "b1", "b2")]
        assert (store.counters.unreadable, len(witness.unreadable)) == (3, 2)
        put(cluster, "a", "a3")
        cluster.store.delete("v1", "ConfigMap", "c", "shop")
        put(cluster, "b", "b3")
        await witness.until(lambda: store.find(("shop", "b")) == "b3")
        assert witness.news() == [("a", None, "a3"), ("b", "b2", "b3")]
        assert dict(store.unreadable) == {}


async def test_a_decoder_that_names_the_object_itself_is_quoted(cluster: ApiServer, cluster_client: KubeClient) -> None:
    named = InvalidObjectError(ObjectRef("VerticalPodAutoscaler", "shop", "a"), "is odd", remedy="straighten it")

    def refuse(_: bytes) -> str:
        raise named

    witness = Witness()
    store = WatchedStore(cluster_client, MAPS, identified(refuse), witness.callbacks)
    store.start()
    await store.wait_synced(10)
    assert (store.snapshot(), len(store.unreadable), witness.unreadable[0]) == ((), 5, named)
    await store.stop()


async def test_nobody_needs_to_listen(cluster: ApiServer, cluster_client: KubeClient) -> None:
    put(cluster, "a", "bad")
    cluster.faults.add(Fault(Refuse(403), verb="list", path="/configmaps$"))
    store = WatchedStore(cluster_client, MAPS, decode)
    store.start()
    await store.wait_synced(10)
    assert (len(store.snapshot()), len(store.unreadable), store.counters.troubles) == (4, 1, 1)
    await store.stop()


async def test_a_fault_in_the_decoder_ends_the_store(cluster: ApiServer, cluster_client: KubeClient) -> None:
    store = WatchedStore(cluster_client, MAPS, decode)
    task = store.start()
    assert store.start() is task
    await store.wait_synced(10)
    put(cluster, "a", "fault")
    await asyncio.wait((task,), timeout=10)
    with pytest.raises(TypeError, match="the decoder itself is broken"):
        await store.stop()
    await store.stop()


async def test_a_server_that_does_not_answer_in_time(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, Answer(0, (), end=End.HANG))
    store = WatchedStore(client, MAPS, decode)
    store.start()
    with pytest.raises(ApiUnreachableError, match="configmaps in namespace shop: not completely listed by API server"):
        await store.wait_synced(0.01)
    assert not store.is_synced
    await store.stop()


def listing(version: str = "1") -> Answer:
    return ok({"metadata": {"resourceVersion": version}, "items": [config_map("a", "a1")]})


def event(kind: str, text: str, version: str = "2") -> dict[str, object]:
    body = config_map("a", text)
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return {"type": kind, "object": body | {"metadata": metadata | {"resourceVersion": version}}}


HANGING = lines(event("MODIFIED", "end", "99"), end=End.HANG)


@pytest.mark.parametrize(
    ("answer", "lists", "troubles"),
    [
        (Answer(200, (b"<html>\n",)), 1, ["sent a line that is no event"]),
        (Answer(200, (b'{"type":"ADDED"}\n',)), 1, ["sent a line that is no event"]),
        (lines({"type": "ERROR", "object": []}), 1, ["sent a line that is no event"]),
        (lines({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcd"}}), 1, ["500 : etcd"]),
        (lines({"type": "ERROR", "object": {"kind": "Status", "code": 400, "message": "odd"}}), 2, ["400 : odd"]),
        (lines({"type": "BOOKMARK", "object": {"metadata": {"name": 3}}}), 1, ["sent a line that is no event"]),
        (lines({"type": "NEW", "object": {"metadata": {"resourceVersion": "8"}}}), 1, []),
        (lines(event("ADDED", "a2"), end=End.HANG), 1, ["no answer in time"]),
        (no(500), 1, ["500"]),
        (lines(), 1, []),
    ],
)
async def test_streams_that_go_wrong(
    server: ScriptedServer, client: KubeClient, answer: Answer, lists: int, troubles: list[str]
) -> None:
    """Each time the store goes on from where it was, or from a new list."""
    script = [listing(), answer] + ([listing()] if lists == 2 else []) + [HANGING]
    server.script("GET", PATH, *script)
    witness = Witness()
    async with following(client, witness, StoreSettings(silence_seconds=0.1)) as store:
        await witness.until(lambda: store.find(KEY_A) == "end")
        assert store.counters.lists == lists
        assert len(witness.troubles) == len(troubles)
        for trouble, text in zip(witness.troubles, troubles, strict=True):
            assert text in str(trouble.error)


async def test_an_object_without_a_name_is_reported_too(server: ScriptedServer, client: KubeClient) -> None:
    items = [{"metadata": {"name": 3}}, config_map("a", "a1")]
    server.script("GET", PATH, ok({"metadata": {"resourceVersion": "1"}, "items": items}), HANGING)
    witness = Witness()
    async with following(client, witness) as store:
        assert list(store.snapshot()) == ["a1"] or store.find(KEY_A) == "end"
        assert "ConfigMap (without a readable name): cannot be read" in str(witness.unreadable[0])


async def test_what_only_the_expired_list_held_is_forgotten(server: ScriptedServer, client: KubeClient) -> None:
    old = ok({"metadata": {"resourceVersion": "1", "continue": "t"}, "items": [config_map("old", "o1")]})
    server.script("GET", PATH, old, no(410, "Expired"), listing("5"), lines(end=End.HANG))
    witness = Witness()
    async with following(client, witness) as store:
        assert store.snapshot() == ("a1",)
        assert witness.news() == [("old", None, "o1"), ("a", None, "a1"), ("old", "o1", None)]


async def test_a_list_that_expires_at_once_again_and_again_is_reported(
    server: ScriptedServer, client: KubeClient, pacing: InstantPacing
) -> None:
    gone = no(410, "Expired")
    server.script("GET", PATH, listing(), gone, listing(), gone, listing(), gone, listing(), HANGING)
    witness = Witness()
    async with following(client, witness) as store:
        await witness.until(lambda: store.find(KEY_A) == "end")
        assert (store.counters.lists, store.counters.expired) == (4, 3)
        assert len(witness.troubles) == 2
        assert pacing.slept[0] < pacing.slept[1]


async def test_a_watch_that_ends_at_once_is_not_opened_in_a_hurry(
    server: ScriptedServer, client: KubeClient, pacing: InstantPacing
) -> None:
    server.script("GET", PATH, listing(), lines(), lines(), HANGING)
    witness = Witness()
    async with following(client, witness) as store:
        await witness.until(lambda: store.find(KEY_A) == "end")
        assert (pacing.slept, witness.troubles) == ([0.5, 0.5], [])


async def test_watches_live_between_once_and_twice_their_time(
    server: ScriptedServer, pacing: InstantPacing, client: KubeClient
) -> None:
    pacing.dice = 0.5
    server.script("GET", PATH, listing(), HANGING)
    async with following(client, Witness(), StoreSettings(timeout_seconds=100)):
        seen = await server.arrival("GET", PATH, 2)
    assert seen.query["timeoutSeconds"] == "150"


async def test_how_long_a_collection_has_been_silent(
    server: ScriptedServer, pacing: InstantPacing, client: KubeClient
) -> None:
    server.script("GET", PATH, listing(), HANGING)
    witness = Witness()
    async with following(client, witness) as store:
        await witness.until(lambda: store.find(KEY_A) == "end")
        await pacing.sleep(30)
        assert store.silent_seconds() == 30


async def test_other_work_goes_on_during_a_long_list(server: ScriptedServer, client: KubeClient) -> None:
    many = [config_map(f"m{number}", "x") for number in range(1000)]
    server.script("GET", PATH, ok({"metadata": {"resourceVersion": "1"}, "items": many}), HANGING)
    store = WatchedStore(client, MAPS, decode, settings=replace(StoreSettings(), page_size=0))
    sizes: set[int] = set()
    store.start()
    while not store.is_synced:
        sizes.add(len(store.items()))
        await asyncio.sleep(0)
    await store.stop()
    assert len(sizes) >= 20
    assert server.requests[0].query == {}


async def test_other_work_goes_on_during_a_burst_of_events(server: ScriptedServer, client: KubeClient) -> None:
    burst = b"".join(json.dumps(event("MODIFIED", f"a{number}")).encode() + b"\n" for number in range(2, 1002))
    server.script("GET", PATH, ok({"metadata": {}, "items": []}), Answer(200, (burst,), end=End.HANG))
    store = WatchedStore(client, MAPS, identified(bytes.__len__))
    counts: set[int] = set()
    store.start()
    while store.counters.events < 1000:
        counts.add(store.counters.events)
        await asyncio.sleep(0)
    await store.stop()
    assert len(counts) >= 20


NAMES = "abcdefgh"
STATES = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3))
"""Versions of the objects that there are; those of version 0 cannot be read."""


def versioned_map(name: str, number: int) -> dict[str, object]:
    body = config_map(name, f"{name}{number}" if number else "bad")
    return body | {"metadata": {"name": name, "namespace": "shop", "resourceVersion": str(number)}}


def pages_of(state: dict[str, int], size: int) -> list[Answer]:
    items = [versioned_map(*each) for each in state.items()]
    pages = [items[start : start + size] for start in range(0, len(items), size)] or [[]]
    tokens = ["more"] * (len(pages) - 1) + [""]
    return [
        ok({"metadata": {"resourceVersion": "1", "continue": token}, "items": page})
        for page, token in zip(pages, tokens, strict=True)
    ]


def readable(state: dict[str, int]) -> dict[str, str]:
    return {name: f"{name}{number}" for name, number in state.items() if number}


def texts_of(store: WatchedStore[str]) -> dict[str, str]:
    return {key[1]: text for key, text in store.items().items()}


@example({"b": 1, "c": 1, "d": 0}, {}, {"e": 1}, 2, {})
@settings(max_examples=30, deadline=None)
@given(STATES, STATES, STATES, st.integers(1, 5), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4)))
async def test_a_new_list_and_events_come_to_what_there_is(
    old: dict[str, int], void: dict[str, int], new: dict[str, int], size: int, events: dict[str, int]
) -> None:
    """Events 0 to 3 are changes and 4 a deletion; nobody ever sees a part of what is gone as gone."""
    begun = [*pages_of(void, size)[:-1], no(410, "Expired")] if len(void) > size else []
    told = [
        {"type": "DELETED" if number == 4 else "MODIFIED", "object": versioned_map(name, number)}
        for name, number in events.items()
    ]
    async with ScriptedServer().running() as server, client_of(server.url, InstantPacing()) as (client, _):
        script = [*pages_of(old, size), no(410, "Expired"), *begun, *pages_of(new, size)]
        server.script("GET", PATH, *script, lines(*told, event("ADDED", "end", "99"), end=End.HANG))
        witness = Witness()
        async with following(client, witness, StoreSettings(page_size=size)) as store:
            gone = old.keys() - new.keys() - void.keys()
            known = set(readable({name: old[name] for name in gone}))
            while texts_of(store).get("a") != "end":
                seen = known & texts_of(store).keys()
                assert store.counters.events or store.counters.lists < 2 or seen in (known, set())
                await asyncio.sleep(0)
            state = {name: number for name, number in (new | events).items() if number != 4 and name != "a"}
            assert texts_of(store) == readable(state) | {"a": "end"}
            assert {key[1] for key in store.unreadable} == {name for name, number in state.items() if not number}
            mirror: dict[str, str] = {}
            for name, before, after in witness.news():
                assert mirror.pop(name, None) == before
                mirror |= {name: after} if after is not None else {}
            assert mirror == texts_of(store)
