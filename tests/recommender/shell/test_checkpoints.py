"""Running windows that go along with stored checkpoints, in both groups (beyond:B-2)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from http import HTTPStatus

import pytest

from autoscaling.kube.paths import checkpoints
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import Fault, Refuse
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.shell.caches import Caches
from recommender.shell.checkpoints import CheckpointKeeper, CheckpointSettings
from recommender.wire.checkpoints import STATE_ANNOTATION
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.builders import T0
from tests.embedded import Json, client_for
from tests.recommender.scene import DAY, HOUR, MINUTE, Scene, of_one_container, pod, vpa
from tests.recommender.shell.stage import until

pytestmark = pytest.mark.anyio
MI = 2**20
PEAK = {"pod": "p", "peakBytes": 300 * MI, "usagePeakBytes": 300 * MI}
WINDOW = {**PEAK, "windowEnd": "2026-01-02T00:00:00Z", "lastSample": "2026-01-01T00:00:00Z"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server_of(group: ApiGroup) -> ApiServer:
    server = ApiServer()
    for definition in definitions(group).values():
        server.store.create(dict(definition))
    return server


@asynccontextmanager
async def keeping(
    server: ApiServer, group: ApiGroup, *, keep_windows: bool = True, names_kept_apart: bool = True
) -> AsyncIterator[tuple[CheckpointKeeper, Caches]]:
    """A keeper with filled caches."""
    async with client_for(server) as client:
        caches = Caches(client, group, "")
        caches.start()
        await caches.wait_synced(10)
        limits = timedelta(minutes=1), timedelta(hours=1)
        settings = CheckpointSettings(checkpoints(group), 2, *limits, "", frozenset(), keep_windows, names_kept_apart)
        try:
            yield CheckpointKeeper(client, settings, T0), caches
        finally:
            await caches.stop()


async def write(server: ApiServer, group: ApiGroup, scene: Scene, now: datetime, *, keep_windows: bool = True) -> None:
    """Write a scene's checkpoints as a recommender does that has just started."""
    async with keeping(server, group, keep_windows=keep_windows) as (keeper, caches):
        await keeper.write(scene.model, caches, now)


async def loaded(server: ApiServer, group: ApiGroup, now: datetime, *pods: str) -> Scene:
    """Return a scene with these pods and the history that is stored."""
    scene = Scene().follow(vpa()).observe(*map(pod, pods))
    async with keeping(server, group) as (_, caches):
        assert load_checkpoints(scene.model, caches.checkpoints.snapshot(), now, keep_windows=True) == ()
    return scene


def object_of(server: ApiServer, group: ApiGroup) -> Json:
    return server.store.read(f"{group}/v1", "VerticalPodAutoscalerCheckpoint", "v-main", "default")


def noted_in(server: ApiServer, group: ApiGroup) -> dict[str, str]:
    metadata = object_of(server, group)["metadata"]
    assert isinstance(metadata, dict)
    found = metadata.get("annotations", {})
    assert isinstance(found, dict)
    return found


def used() -> Scene:
    scene = of_one_container()
    scene.memory(T0, 300 * MI)
    return scene


@pytest.mark.parametrize(
    ("row", "group"),
    [("beyond:B-2", ApiGroup.EVENKEEL), ("beyond:B-2", ApiGroup.UPSTREAM), ("case:20", ApiGroup.EVENKEEL)],
)
async def test_a_restarted_recommender_goes_on_with_the_running_windows(row: str, group: ApiGroup) -> None:
    server, scene = server_of(group), used()
    # Created by the first, brought up to date by the second.
    for minutes in (1, 2):
        await write(server, group, scene, T0 + minutes * MINUTE)
    fresh = await loaded(server, group, T0 + HOUR, "p")
    assert fresh.figures() == scene.figures(), row
    for each in (scene, fresh):
        each.memory(T0 + HOUR, 200 * MI)
    assert fresh.figures() == scene.figures()


@pytest.mark.parametrize(
    ("row", "source", "destination"),
    [
        ("api:2", ApiGroup.UPSTREAM, ApiGroup.EVENKEEL),
        ("api:2", ApiGroup.EVENKEEL, ApiGroup.UPSTREAM),
    ],
)
async def test_a_history_that_is_copied_goes_on_in_the_other_group(
    row: str, source: ApiGroup, destination: ApiGroup
) -> None:
    """As docs/migration.md copies it: another group, and of the metadata the two names only."""
    server, scene = server_of(source), of_one_container()
    scene.steady_cpu(T0 - 2 * DAY, 100, 300)
    scene.memory(T0 - 2 * DAY, 300 * MI)
    scene.memory(T0 - HOUR, 100 * MI)
    await write(server, source, scene, T0, keep_windows=False)
    stored = object_of(server, source)
    names: Json = {"name": "v-main", "namespace": "default"}
    copied = {**stored, "apiVersion": f"{destination.value}/v1", "metadata": names}
    assert set(copied) == {"apiVersion", "kind", "metadata", "spec", "status"}
    other = server_of(destination)
    other.store.create(copied)
    there, here = await loaded(other, destination, T0, "p"), await loaded(server, source, T0, "p")
    assert there.figures() == here.figures(), row
    assert set(there.figures()["target"]) == {"cpu", "memory"}


async def test_the_own_group_has_a_field_for_windows() -> None:
    server = server_of(ApiGroup.EVENKEEL)
    await write(server, ApiGroup.EVENKEEL, used(), T0 + MINUTE)
    status = object_of(server, ApiGroup.EVENKEEL)["status"]
    assert isinstance(status, dict)
    assert status["runningWindows"] == [WINDOW]
    assert noted_in(server, ApiGroup.EVENKEEL) == {}


async def test_in_upstreams_group_windows_are_an_annotation_and_the_status_is_upstreams() -> None:
    server, scene = server_of(ApiGroup.UPSTREAM), used()
    await write(server, ApiGroup.UPSTREAM, scene, T0 + MINUTE)
    state = {"lastUpdateTime": "2026-01-01T00:01:00Z", "runningWindows": [WINDOW]}
    assert json.loads(noted_in(server, ApiGroup.UPSTREAM)[STATE_ANNOTATION]) == state
    plain = checkpoints_of(scene.model, [scene.tracked()], T0 + MINUTE)[0][0]
    assert plain.windows == ()
    await write(server, ApiGroup.UPSTREAM, scene, T0 + 2 * MINUTE)
    assert "00:02:00Z" in noted_in(server, ApiGroup.UPSTREAM)[STATE_ANNOTATION]


@pytest.mark.parametrize("others", [None, {}, {"team": "a"}])
async def test_a_checkpoint_of_upstreams_gets_its_annotation_beside_others(others: dict[str, str] | None) -> None:
    server, scene = server_of(ApiGroup.UPSTREAM), used()
    await write(server, ApiGroup.UPSTREAM, scene, T0 + MINUTE, keep_windows=False)
    assert noted_in(server, ApiGroup.UPSTREAM) == {}
    if others is not None:
        stored = object_of(server, ApiGroup.UPSTREAM)
        server.store.merge({**stored, "metadata": {"name": "v-main", "namespace": "default", "annotations": others}})
    await write(server, ApiGroup.UPSTREAM, scene, T0 + 2 * MINUTE)
    found = noted_in(server, ApiGroup.UPSTREAM)
    assert {name: value for name, value in found.items() if name != STATE_ANNOTATION} == (others or {})
    assert json.loads(found[STATE_ANNOTATION])["runningWindows"] == [WINDOW]


async def test_an_annotation_made_meanwhile_is_not_lost() -> None:
    """The checkpoint is written in the next round instead."""
    server, scene = server_of(ApiGroup.UPSTREAM), used()
    await write(server, ApiGroup.UPSTREAM, scene, T0 + MINUTE, keep_windows=False)
    async with keeping(server, ApiGroup.UPSTREAM) as (keeper, caches):
        known = dict(caches.checkpoints.items())
        metadata = {"name": "v-main", "namespace": "default", "annotations": {"team": "a"}}
        server.store.merge({**object_of(server, ApiGroup.UPSTREAM), "metadata": metadata})
        assert known["default", "v-main"].stored_as is not None
        await keeper.write(scene.model, caches, T0 + 2 * MINUTE)
    assert noted_in(server, ApiGroup.UPSTREAM)["team"] == "a"


@pytest.mark.parametrize(
    "state",
    [
        {"lastUpdateTime": "2026-01-01T00:00:59Z", "runningWindows": [WINDOW]},
        {"runningWindows": [WINDOW]},
        {"lastUpdateTime": "2026-01-01T00:01:00Z", "runningWindows": [{"pod": "p"}]},
        "no object",
    ],
    ids=["of another time", "of no time", "incomplete", "nonsense"],
)
async def test_a_state_that_is_not_of_the_status_is_ignored(state: object) -> None:
    server, group = server_of(ApiGroup.UPSTREAM), ApiGroup.UPSTREAM
    await write(server, group, used(), T0 + MINUTE, keep_windows=False)
    noted = {STATE_ANNOTATION: json.dumps(state)}
    metadata = {"name": "v-main", "namespace": "default", "annotations": noted}
    server.store.merge({**object_of(server, group), "metadata": metadata})
    fresh = await loaded(server, group, T0 + HOUR, "p")
    assert fresh.model.containers.is_untouched(fresh.row())


async def test_without_windows_nothing_is_added() -> None:
    server, scene = server_of(ApiGroup.UPSTREAM), of_one_container()
    for minutes in (1, 2):
        await write(server, ApiGroup.UPSTREAM, scene, T0 + minutes * MINUTE)
    assert noted_in(server, ApiGroup.UPSTREAM) == {}


@pytest.mark.parametrize(("row", "budget", "count"), [("recommender:6.3", 0, 2), ("recommender:6.3", 60, 5)])
async def test_when_time_is_up_each_worker_has_still_written_one(row: str, budget: int, count: int) -> None:
    server = server_of(ApiGroup.EVENKEEL)
    scene = Scene().follow(*(vpa(f"v{number}") for number in range(5))).observe(pod("p"))
    async with client_for(server) as client:
        caches = Caches(client, ApiGroup.EVENKEEL, "")
        limits = timedelta(seconds=budget), timedelta(hours=1)
        settings = CheckpointSettings(checkpoints(ApiGroup.EVENKEEL), 2, *limits, "", frozenset())
        keeper = CheckpointKeeper(client, settings, T0)
        await keeper.write(scene.model, caches, T0)
        first = names_of(server)
        await keeper.write(scene.model, caches, T0 + MINUTE)
    assert len(first) == count, row
    assert len(names_of(server)) == min(2 * count, 5), f"{row}: those that were never written come first"


def slow_down(server: ApiServer, clock: HeldPacing, verb: str) -> None:
    """Let each call of a verb take half a minute."""

    def passes(_path: str, _query: dict[str, str]) -> bool:
        clock.seconds += 30
        return False

    server.faults.add(Fault(Refuse(HTTPStatus.CONFLICT), verb=verb, count=None, when=passes))


async def test_once_time_is_up_no_further_vpa_is_begun() -> None:
    """Spec: recommender:6.3, recommender:13.10: calls that take long hold up the round for no longer than one each."""
    server, clock = server_of(ApiGroup.EVENKEEL), HeldPacing()
    scene = Scene().follow(*(vpa(f"v{number}") for number in range(9))).observe(pod("p"))
    slow_down(server, clock, "patch")
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, clock) as (client, _):
        limits = timedelta(seconds=100), timedelta(hours=1)
        settings = CheckpointSettings(checkpoints(ApiGroup.EVENKEEL), 2, *limits, "", frozenset())
        await CheckpointKeeper(client, settings, T0).write(scene.model, Caches(client, ApiGroup.EVENKEEL, ""), T0)
    # After 60 seconds both workers begin one more, after 120 none.
    assert len(names_of(server)) == 4


@pytest.mark.parametrize(
    ("row", "budget", "left"), [("recommender:13.10", 60, [2, 0]), ("recommender:13.10", 0, [3, 2])]
)
async def test_orphans_that_there_is_no_time_for_are_left_to_the_next_round(
    row: str, budget: int, left: list[int]
) -> None:
    server, clock, group = server_of(ApiGroup.EVENKEEL), HeldPacing(), ApiGroup.EVENKEEL
    for number in range(4):
        metadata = {"name": f"gone-c{number}", "namespace": "default"}
        spec = {"vpaObjectName": "gone", "containerName": f"c{number}"}
        kind = "VerticalPodAutoscalerCheckpoint"
        server.store.create({"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec})
    slow_down(server, clock, "delete")
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, clock) as (client, _):
        caches = Caches(client, group, "")
        caches.start()
        await caches.wait_synced(10)
        limits = timedelta(seconds=budget), timedelta(hours=1)
        settings = CheckpointSettings(checkpoints(group), 2, *limits, "", frozenset())
        keeper = CheckpointKeeper(client, settings, T0)
        for expected in left:
            await keeper.collect_orphans(caches, T0 + 2 * HOUR)
            await until(lambda: len(caches.checkpoints.items()) == len(names_of(server)))
            assert len(names_of(server)) == expected, row
        await caches.stop()


@pytest.mark.parametrize(
    ("row", "are_apart", "samples"),
    [("recommender:13.10", True, {"a": 1, "a-b": 3}), ("upstream", False, {"a": 3})],
)
async def test_two_whose_names_join_alike_keep_their_histories_apart(
    row: str, are_apart: bool, samples: dict[str, int]
) -> None:
    server, group = server_of(ApiGroup.EVENKEEL), ApiGroup.EVENKEEL
    first = Scene().follow(vpa("a")).observe(pod("p", "b-c"))
    second = Scene().follow(vpa("a-b")).observe(pod("q", "c"))
    first.cpu(T0, 100, "b-c", "p")
    for minutes in (0, 1, 2):
        second.cpu(T0 + minutes * MINUTE, 5000, "c", "q")
    for minutes in (1, 2):
        for scene in (first, second):
            async with keeping(server, group, names_kept_apart=are_apart) as (keeper, caches):
                await keeper.write(scene.model, caches, T0 + minutes * MINUTE)
    async with keeping(server, group) as (_, caches):
        assert {each.vpa_name: each.sample_count for each in caches.checkpoints.snapshot()} == samples, row
    assert len(names_of(server)) == len(samples)


def names_of(server: ApiServer) -> set[str]:
    stored = server.store.list(f"{ApiGroup.EVENKEEL}/v1", "VerticalPodAutoscalerCheckpoint", "default")
    metadata = (one["metadata"] for one in stored)
    return {str(each["name"]) for each in metadata if isinstance(each, dict)}
