"""Faults: which requests they hit, and what these see of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest

from evenkeel.simulator.api.fields import value_at
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.faults import Delay, DropConnection, Fault, Faults, Refuse
from tests.evenkeel.simulator.api.wire import PODS, cluster, config_map, pod

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
REFUSE = Refuse(500)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Arrival:
    """A condition that every request meets, and that tells of the first."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __call__(self, _path: str, _query: dict[str, str]) -> bool:
        self.event.set()
        return True


@pytest.mark.parametrize(
    ("what", "fault", "hits"),
    [
        ("the first of any kind", Fault(REFUSE), [True, False, False]),
        ("the first two", Fault(REFUSE, count=2), [True, True, False]),
        ("all", Fault(REFUSE, count=None), [True, True, True]),
        ("not the first", Fault(REFUSE, skip=1), [False, True, False]),
        ("another verb", Fault(REFUSE, verb="list"), [False, False, False]),
        ("another path", Fault(REFUSE, path="/pods$"), [False, False, False]),
        ("verb and path", Fault(REFUSE, verb="get", path="/configmaps/a$"), [True, False, False]),
        (
            "a condition",
            Fault(REFUSE, when=lambda path, query: path.endswith("/a") and "x" in query),
            [True, False, False],
        ),
        ("no such condition", Fault(REFUSE, when=lambda _, query: "y" in query), [False, False, False]),
    ],
)
def test_rules_hit_what_they_describe(what: str, fault: Fault, hits: list[bool]) -> None:
    faults = Faults()
    faults.add(fault)
    assert [bool(faults.striking("get", f"{MAPS}/a", {"x": "1"})) for _ in range(3)] == hits, what
    assert fault.hits == sum(hits)


def test_rules_apply_in_order_and_can_be_removed() -> None:
    faults = Faults()
    first, second = faults.add(Fault(REFUSE, count=None)), faults.add(Fault(Delay(timedelta(1)), count=None))
    assert faults.striking("get", "/", {}) == [first, second]
    faults.remove(first)
    faults.remove(first)
    assert faults.striking("get", "/", {}) == [second]
    faults.clear()
    assert faults.striking("get", "/", {}) == []


async def test_a_refusal_is_a_status_and_may_name_a_time() -> None:
    async with cluster() as wire:
        wire.server.faults.add(Fault(Refuse(429, retry_after_seconds=7), path="/configmaps"))
        wire.server.faults.add(Fault(Refuse(503), path="/configmaps"))
        wire.server.faults.add(Fault(Refuse(507, "Full", "no room"), path="/configmaps"))
        answer = await wire.get(MAPS)
        assert (answer.code, answer.body["reason"], answer.headers["retry-after"]) == (429, "TooManyRequests", "7")
        assert value_at(answer.body, "details", "retryAfterSeconds") == 7


@pytest.mark.parametrize(
    ("refuse", "reason"),
    [
        (Refuse(409), "Conflict"),
        (Refuse(410), "Expired"),
        (Refuse(503), "ServiceUnavailable"),
        (Refuse(507), "InsufficientStorage"),
        (Refuse(500, "Mine"), "Mine"),
    ],
)
async def test_refusals_have_the_usual_reason_of_their_code(refuse: Refuse, reason: str) -> None:
    async with cluster() as wire:
        wire.server.faults.add(Fault(refuse))
        answer = await wire.post(MAPS, config_map("a"))
        assert (answer.code, answer.body["reason"]) == (refuse.code, reason)
        assert (await wire.post(MAPS, config_map("a"))).code == 201


async def test_a_delayed_request_is_carried_out_when_the_clock_has_moved() -> None:
    async with cluster() as wire:
        arrival = Arrival()
        wire.server.faults.add(Fault(Delay(timedelta(seconds=5)), verb="create", when=arrival))
        sending = asyncio.ensure_future(wire.post(MAPS, config_map("a")))
        await asyncio.wait_for(arrival.event.wait(), 10)
        assert (await wire.get(f"{MAPS}/a")).code == 404
        wire.clock.advance(timedelta(seconds=4.9))
        assert (await wire.get(f"{MAPS}/a")).code == 404
        wire.clock.advance(timedelta(seconds=0.1))
        assert (await asyncio.wait_for(sending, 10)).code == 201


async def test_a_delay_on_the_wall_clock_passes_by_itself() -> None:
    async with cluster(ApiServer(WallClock())) as wire:
        wire.server.faults.add(Fault(Delay(timedelta(milliseconds=20))))
        assert (await wire.get(MAPS)).code == 200


async def test_a_server_that_stops_drops_what_is_still_delayed() -> None:
    server = ApiServer()
    arrival = Arrival()
    server.faults.add(Fault(Delay(timedelta(days=1)), when=arrival))
    async with aiohttp.ClientSession() as session:
        async with serve(server, tls=False) as endpoint:
            sending = asyncio.ensure_future(session.post(endpoint.url + MAPS, json=config_map("a")))
            await asyncio.wait_for(arrival.event.wait(), 10)
        with pytest.raises(aiohttp.ClientConnectionError):
            await asyncio.wait_for(sending, 10)
    assert server.store.find("v1", "ConfigMap", "a", "default") is None


@pytest.mark.parametrize(("after", "stored"), [(False, False), (True, True)])
async def test_a_cut_connection_loses_the_request_or_only_its_answer(after: bool, stored: bool) -> None:
    async with cluster() as wire:
        wire.server.faults.add(Fault(DropConnection(after_carrying_out=after), verb="create"))
        with pytest.raises(aiohttp.ClientConnectionError):
            await wire.post(PODS, pod())
        assert (wire.server.store.find("v1", "Pod", "a", "default") is not None) is stored
        assert wire.server.requests.calls("create")[0].status == 0
        assert (await wire.get(PODS)).code == 200
