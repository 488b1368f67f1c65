"""Calls of a round one by one and side by side, against an embedded API server that answers slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import Counter

from autoscaling.behaviour import UPSTREAM
from autoscaling.kube.events import EventRecorder
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.faults import Delay, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.embedded import api_server, deploy, recommended_status, vpa_object
from tests.updater.shell.stage import MINUTE, updater
from updater.ratelimit import TokenBucket
from updater.shell.carrier import AT_ONCE
from updater.shell.loop import Loop
from updater.shell.notes import Notes

pytestmark = pytest.mark.anyio
ANSWER = timedelta(milliseconds=100)
SIDE_BY_SIDE = replace(UPSTREAM, calls_side_by_side=True)
VPAS = AT_ONCE + 4


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    for number in range(VPAS):
        deploy(made, f"web{number:02}")
        made.store.create(vpa_object(f"web{number:02}", status=recommended_status("400m", "100Mi")))
    return made


@asynccontextmanager
async def round_of(
    server: ApiServer, *, is_side_by_side: bool, bucket: TokenBucket | None = None
) -> AsyncIterator[tuple[Loop, asyncio.Task[None]]]:
    """A round that has begun."""
    async with updater(server, bucket=bucket) as loop:
        behaviour = SIDE_BY_SIDE if is_side_by_side else UPSTREAM
        loop.settings = replace(loop.settings, decisions=replace(loop.settings.decisions, behaviour=behaviour))
        yield loop, asyncio.create_task(loop.run_round())


async def seen(fault: Fault, hits: int) -> None:
    """Wait until a fault has struck so often, and see that it does not strike again by itself."""
    for _ in range(20_000):
        if fault.hits >= hits:
            break
        await asyncio.sleep(0)
    for _ in range(200):
        await asyncio.sleep(0)
    assert fault.hits == hits


def answer(server: ApiServer) -> None:
    """Let the calls be answered that wait."""
    assert isinstance(server.clock, ManualClock)
    server.clock.advance(ANSWER)


def total(counter: Counter) -> float:
    """Return the sum over all labels."""
    return sum(s.value for family in counter.collect() for s in family.samples if s.name.endswith("_total"))


def resized(server: ApiServer) -> list[str]:
    """Return the pods in the order in which their resizes were asked for."""
    return [call.path.split("/")[-2] for call in server.requests.calls(verb="patch", path="/resize$")]


@pytest.mark.parametrize(
    ("row", "is_side_by_side", "first", "then"),
    [("performance:U-3", True, AT_ONCE, VPAS), ("upstream-1.8.1:2.4", False, 1, 2)],
)
async def test_so_many_calls_are_on_their_way_at_a_time(
    server: ApiServer, row: str, first: int, then: int, *, is_side_by_side: bool
) -> None:
    slow = server.faults.add(Fault(Delay(ANSWER), verb="patch", path="/resize$", count=None))
    async with round_of(server, is_side_by_side=is_side_by_side) as (loop, running):
        await seen(slow, first)
        answer(server)
        await seen(slow, then)
        server.faults.clear()
        answer(server)
        await running
        updated = total(loop.metrics.in_place_updated_pods)
    assert len(resized(server)) == VPAS, row
    assert updated == VPAS, row


async def test_rate_limiters_let_calls_through_in_the_order_of_decisions(server: ApiServer) -> None:
    """Spec: performance:U-2, updater:X-11."""
    slow = server.faults.add(Fault(Delay(ANSWER), verb="patch", path="/resize$", count=None))
    bucket = TokenBucket(rate=0.001, burst=3)
    async with round_of(server, is_side_by_side=True, bucket=bucket) as (loop, running):
        await seen(slow, 3)
        answer(server)
        await running
        failures = total(loop.metrics.failed_in_place_updates)
    assert sorted(resized(server)) == ["web00-0", "web01-0", "web02-0"]
    assert failures == 1, "the fourth ends the round"


@pytest.mark.parametrize(
    ("row", "is_side_by_side", "expected"),
    [
        ("performance:U-3", True, ["resize"] * 6 + ["note"] * 6 + ["event"] * 6),
        ("performance:U-3", False, ["resize", "note"] * 6 + ["event"] * 6),
    ],
)
async def test_events_follow_the_changes_of_a_round_where_calls_are_short(
    server: ApiServer, row: str, expected: list[str], *, is_side_by_side: bool
) -> None:
    """The order on the wire with two calls a second and no burst; each event tells of a change."""
    for number in range(6, VPAS):
        server.store.delete("apps/v1", "Deployment", f"web{number:02}", "default")
        server.store.delete("v1", "Pod", f"web{number:02}-0", "default")
    async with updater(server) as loop, limited(loop, is_side_by_side=is_side_by_side) as pacing:
        writing = asyncio.create_task(loop.events.run())
        running = asyncio.create_task(loop.run_round())
        for _ in range(60):
            await pacing.advance(0.5)
            for _ in range(200):
                await asyncio.sleep(0)
        assert running.done()
        writing.cancel()
        await asyncio.wait((writing,))
    ends = [call.path.split("/")[-1] for call in server.requests.calls() if call.verb in {"patch", "create"}]
    assert [{"resize": "resize", "events": "event"}.get(end, "note") for end in ends] == expected, row


@asynccontextmanager
async def limited(loop: Loop, *, is_side_by_side: bool) -> AsyncIterator[HeldPacing]:
    """Have an updater share two calls a second, without a burst, among all that it does; yields its clock."""
    pacing = HeldPacing()
    async with client_of(loop.client.server, pacing, qps=2) as (client, _):
        loop.client, loop.events, loop.notes = client, EventRecorder(client, "evenkeel-updater"), Notes(client)
        behaviour = SIDE_BY_SIDE if is_side_by_side else UPSTREAM
        loop.settings = replace(loop.settings, decisions=replace(loop.settings.decisions, behaviour=behaviour))
        yield pacing


async def test_a_refused_resize_is_followed_by_an_eviction_while_others_are_on_their_way(server: ApiServer) -> None:
    """Spec: performance:U-3, updater:D-25."""
    server.faults.add(Fault(Refuse(403), verb="patch", path="/web00-0/resize$"))
    slow = server.faults.add(Fault(Delay(ANSWER), verb="patch", path="/resize$", count=None))
    async with round_of(server, is_side_by_side=True) as (_, running):
        await server.requests.until(lambda log: bool(log.calls(path="/eviction$")))
        assert resized(server) == ["web00-0"], "no other call has been answered yet"
        await seen(slow, AT_ONCE + 1)
        answer(server)
        await seen(slow, VPAS)
        answer(server)
        await running
    assert [call.path.split("/")[-2] for call in server.requests.calls(path="/eviction$")] == ["web00-0"]
    assert sorted(resized(server)) == [f"web{number:02}-0" for number in range(VPAS)]


async def test_a_round_that_is_cut_off_loses_no_outcome_that_is_known(server: ApiServer) -> None:
    """Spec: performance:U-3, beyond:B-21."""
    server.faults.add(Fault(Refuse(403), verb="patch", path="/web00-0/resize$"))
    server.faults.add(Fault(Delay(timedelta(hours=1)), verb="patch", path="/web(0[1-9]|1)"))
    behaviour = replace(SIDE_BY_SIDE, errors_are_classified=True)
    async with updater(server) as loop:
        decisions = replace(loop.settings.decisions, behaviour=behaviour)
        loop.settings = replace(loop.settings, decisions=decisions, period=timedelta(milliseconds=200))
        await loop.run_round()
        uid = next(pod.uid for pod in loop.caches.pods.snapshot() if pod.name == "web00-0")
        assert set(loop.memory.backoff.pauses) == {uid}
        server.faults.clear()
        loop.settings = replace(loop.settings, period=MINUTE)
        await loop.run_round()
    assert len(set(resized(server))) == VPAS
