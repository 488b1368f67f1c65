"""Writing conditions to VPAs on the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.kube.client import KubeClient
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.paths import VPA_VERSION, vertical_pod_autoscalers
from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus
from autoscaling.vpa import Vpa, VpaCondition
from autoscaling.wire.objects import decode_vpa
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from recommender.shell.statuses import StatusWriter
from recommender.status import Findings, differs, status_after
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, api_server, client_for, recommended_status, vpa_object
from updater.conditions import Verdicts
from updater.shell.conditions import RETRY_AFTER, ConditionWriter

pytestmark = pytest.mark.anyio
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
RESOURCE = vertical_pod_autoscalers(GROUP)
NAMES = ("a", "b", "c")
BLOCKED = VpaCondition("ResizeBlocked", ConditionStatus.TRUE, "NoRoom", "The node is full.")
AS_WRITTEN: Json = {
    "type": "ResizeBlocked",
    "status": "True",
    "reason": "NoRoom",
    "message": "The node is full.",
    "lastTransitionTime": "2026-01-01T01:00:00Z",
}
NOBODY: frozenset[ObjectRef] = frozenset()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    for name in NAMES:
        made.store.create(vpa_object(name, status=recommended_status("1", "1Gi")))
    return made


@asynccontextmanager
async def writing(server: ApiServer) -> AsyncIterator[tuple[ConditionWriter, KubeClient, HeldDriver]]:
    """A writer one hour after the objects were made; its events are written at the end."""
    driver = HeldDriver(T0 + HOUR)
    async with client_for(server) as client:
        events = EventRecorder(client, "evenkeel-updater")
        yield ConditionWriter(client, RESOURCE, driver, events), client, driver
        task = asyncio.create_task(events.run())
        await events.drain(10)
        task.cancel()


def status(server: ApiServer, name: str) -> Json:
    found = server.store.read(f"{GROUP}/{VPA_VERSION}", RESOURCE.kind, name, "default").get("status", {})
    assert isinstance(found, dict)
    return found


def types(server: ApiServer, name: str) -> list[object]:
    conditions = status(server, name).get("conditions", [])
    assert isinstance(conditions, list)
    return [condition["type"] for condition in conditions]


async def observed(client: KubeClient, *names: str) -> list[Vpa]:
    return [decode_vpa(await client.get(RESOURCE.path("default", name))) for name in names or NAMES]


def blocked(*names: str, unjudged: frozenset[ObjectRef] = NOBODY) -> Verdicts:
    return Verdicts({ObjectRef(RESOURCE.kind, "default", name): (BLOCKED,) for name in names}, unjudged)


def patches(server: ApiServer) -> list[tuple[str, int]]:
    return [(call.path.split("/")[-2], call.status) for call in server.requests.calls(verb="patch", path="/status$")]


async def test_a_condition_comes_stays_and_goes_with_one_patch_each(server: ApiServer) -> None:
    """Spec: beyond:B-24, updater:K-29."""
    before = status(server, "a")
    async with writing(server) as (writer, client, driver):
        for verdicts in (blocked("a"), blocked("a"), blocked(), blocked()):
            await writer.write(await observed(client), verdicts, driver.time, driver.time + SECOND)
            if verdicts.holding:
                assert status(server, "a")["conditions"] == [*_conditions(before), AS_WRITTEN]
            driver.time += timedelta(minutes=1)
    assert status(server, "a") == before
    assert patches(server) == [("a", 200), ("a", 200)]
    assert told(server) == [("a", "Warning", "ResizeBlocked", "The node is full.")], "case:23"


def told(server: ApiServer) -> list[tuple[object, ...]]:
    """Return what events tell: of which object, of what type, why and in what words."""
    events = server.store.list("v1", "Event", "default")
    involved = [event["involvedObject"] for event in events]
    assert all(isinstance(i, dict) and i["kind"] == RESOURCE.kind and i["uid"] for i in involved)
    names = [i["name"] for i in involved if isinstance(i, dict)]
    return sorted((n, e["type"], e["reason"], e["message"]) for n, e in zip(names, events, strict=True))


async def test_a_restart_tells_nothing_again(server: ApiServer) -> None:
    """Spec: case:23, what the VPA shows has been told."""
    for _ in range(2):
        async with writing(server) as (writer, client, driver):
            await writer.write(await observed(client), blocked("a", "b"), driver.time, driver.time + SECOND)
    assert [name for name, *_ in told(server)] == ["a", "b"]


async def test_what_could_not_be_written_is_told_once_it_is(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(500), verb="patch", path="/status$"))
    async with writing(server) as (writer, client, driver):
        for _ in range(2):
            await writer.write(await observed(client), blocked("a"), driver.time, driver.time + SECOND)
    assert [code for _, code in patches(server)] == [500, 200]
    assert len(told(server)) == 1


def _conditions(body: Json) -> list[object]:
    found = body["conditions"]
    assert isinstance(found, list)
    return found


async def test_an_object_without_a_status_gets_one(server: ApiServer) -> None:
    server.store.create(vpa_object("new"))
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client, "new"), blocked("new"), driver.time, driver.time + SECOND)
    assert status(server, "new") == {"conditions": [AS_WRITTEN]}


async def test_entries_of_other_types_keep_what_we_know_nothing_of(server: ApiServer) -> None:
    """Somebody's conditions in no order, of which ours come and go without a trace."""
    others = [
        {"type": "Zebra", "status": "True", "observedGeneration": 7},
        {"type": "Apple", "status": "Unknown", "observedGeneration": 8},
    ]
    server.store.create(vpa_object("odd", status={"conditions": others}))
    quota = replace(BLOCKED, type="QuotaWouldBlock")
    ref = ObjectRef(RESOURCE.kind, "default", "odd")
    async with writing(server) as (writer, client, driver):
        for holding, expected in (
            ((BLOCKED,), ["Zebra", "Apple", "ResizeBlocked"]),
            ((BLOCKED, quota), ["Zebra", "Apple", "QuotaWouldBlock", "ResizeBlocked"]),
            ((quota,), ["Zebra", "Apple", "QuotaWouldBlock"]),
            ((), ["Zebra", "Apple"]),
        ):
            await writer.write(
                await observed(client, "odd"), Verdicts({ref: holding}), driver.time, driver.time + SECOND
            )
            assert sorted(map(str, types(server, "odd"))) == sorted(expected)
            assert [each for each in _conditions(status(server, "odd")) if "observedGeneration" in str(each)] == others
    assert _conditions(status(server, "odd")) == others


async def test_what_was_not_judged_stays_as_it_is(server: ApiServer) -> None:
    ref = ObjectRef(RESOURCE.kind, "default", "a")
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client), blocked("a", "b"), driver.time, driver.time + SECOND)
        left = Verdicts({}, frozenset({ref}))
        await writer.write(await observed(client), left, driver.time, driver.time + SECOND)
    assert [types(server, name) for name in NAMES] == [
        ["RecommendationProvided", "ResizeBlocked"],
        ["RecommendationProvided"],
        ["RecommendationProvided"],
    ]


async def test_what_somebody_wrote_meanwhile_is_not_undone(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(server) as (writer, client, driver):
        old = await observed(client, "a", "b")
        newer = vpa_object("a", status=recommended_status("2", "2Gi"))
        server.store.merge(newer)
        await writer.write(old, blocked("a", "b"), driver.time, driver.time + SECOND)
        assert types(server, "a") == ["RecommendationProvided"]
        assert types(server, "b") == ["RecommendationProvided", "ResizeBlocked"]
        await writer.write(await observed(client, "a", "b"), blocked("a", "b"), driver.time, driver.time + SECOND)
    assert status(server, "a")["recommendation"] == recommended_status("2", "2Gi")["recommendation"]
    assert types(server, "a") == ["RecommendationProvided", "ResizeBlocked"]
    assert [name for name, _ in patches(server)] == ["a", "b", "a"]
    assert "not written" not in "".join(line for line in capsys.readouterr().out.splitlines() if "warning" in line)


async def test_no_write_is_begun_after_its_time(server: ApiServer) -> None:
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time)
        assert patches(server) == []
        await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time + SECOND)
        assert [name for name, _ in patches(server)] == list(NAMES)


async def test_a_denial_is_said_once_and_tried_again_later(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec: beyond:B-21."""
    fault = server.faults.add(Fault(Refuse(403), verb="patch", path="/status$", count=None))
    async with writing(server) as (writer, client, driver):
        for wait in (timedelta(0), RETRY_AFTER - SECOND, SECOND):
            driver.time += wait
            await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time + SECOND)
        assert patches(server) == [("a", 403), ("a", 403)]
        server.faults.remove(fault)
        driver.time += RETRY_AFTER
        await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time + SECOND)
        assert patches(server)[2:] == [(name, 200) for name in NAMES]
    told = [line for line in capsys.readouterr().out.splitlines() if "conditions not written" in line]
    assert len(told) == 1
    assert f"grant the verb patch on {RESOURCE.title}/status" in told[0]


@pytest.mark.parametrize(("code", "warnings"), [(404, 0), (409, 0), (422, 0), (500, 1)])
async def test_one_failure_does_not_keep_the_others_from_being_written(
    server: ApiServer, code: int, warnings: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec: beyond:B-32."""
    server.faults.add(Fault(Refuse(code), verb="patch", path="/status$"))
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time + SECOND)
        assert patches(server) == [("a", code), ("b", 200), ("c", 200)]
        await writer.write(await observed(client), blocked(*NAMES), driver.time, driver.time + SECOND)
    assert patches(server)[3:] == [("a", 200)]
    told = [line for line in capsys.readouterr().out.splitlines() if "not written" in line and "warning" in line]
    assert len(told) == warnings


async def test_what_was_overwritten_comes_back_with_its_time(server: ApiServer) -> None:
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client), blocked("a"), driver.time, driver.time + SECOND)
        server.store.merge(vpa_object("a", status={"conditions": recommended_status("1", "1Gi")["conditions"]}))
        assert types(server, "a") == ["RecommendationProvided"]
        driver.time += HOUR
        await writer.write(await observed(client), blocked("a"), driver.time, driver.time + SECOND)
    assert AS_WRITTEN in _conditions(status(server, "a"))


async def test_a_namesake_made_anew_begins_anew(server: ApiServer) -> None:
    async with writing(server) as (writer, client, driver):
        await writer.write(await observed(client), blocked("a"), driver.time, driver.time + SECOND)
        server.store.delete(f"{GROUP}/{VPA_VERSION}", RESOURCE.kind, "a", "default")
        await writer.write(await observed(client, "b"), blocked(), driver.time, driver.time + SECOND)
        server.store.create(vpa_object("a"))
        driver.time += HOUR
        await writer.write(await observed(client, "a"), blocked("a"), driver.time, driver.time + SECOND)
    assert _conditions(status(server, "a")) == [{**AS_WRITTEN, "lastTransitionTime": "2026-01-01T02:00:00Z"}]


async def test_the_recommender_and_the_updater_do_not_fight_over_the_list(server: ApiServer) -> None:
    """In each round the recommender writes from what it saw before the updater wrote."""
    cautious = VpaCondition("LowConfidence", ConditionStatus.TRUE, "LittleHistory", "m")
    latest: dict[tuple[str, str], Vpa] = {}
    async with writing(server) as (writer, client, driver):
        recommender = StatusWriter(client, RESOURCE, 1, latest)
        for _ in range(3):
            (seen,) = await observed(client, "a")
            assert seen.recommendation is not None
            findings = Findings(seen.recommendation, has_pods=True, conditions=(cautious,))
            computed = status_after(seen, findings, driver.time)
            await writer.write([seen], blocked("a"), driver.time, driver.time + SECOND)
            (latest["default", "a"],) = await observed(client, "a")
            await recommender.write([(seen, computed)] if differs(computed, seen) else [])
            driver.time += timedelta(minutes=1)
    assert types(server, "a") == ["LowConfidence", "RecommendationProvided", "ResizeBlocked"]
    assert AS_WRITTEN in _conditions(status(server, "a"))
    assert len(patches(server)) == 2, "one each, as neither finds anything to mend"
