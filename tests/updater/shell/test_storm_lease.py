"""Levels of storm budgets in the updater's Lease, at the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from autoscaling.behaviour import Behaviour
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import LeaseState
from autoscaling.kube.lease_object import LeaseFile
from autoscaling.kube.retry import ONE_TRY
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import DropConnection, Fault, Refuse
from tests.builders import T0
from tests.embedded import Json, api_server, client_for
from tests.updater.situations import IPOR, UPSTREAM, Scene, small, vpa_of
from updater.circumstances import Memory
from updater.decision import Action, Outcome
from updater.plan import Plan
from updater.settings import Settings
from updater.shell.storm_lease import CHUNK, STORM_ANNOTATION, StormLease
from updater.storm_levels import Bucket, Span, StormFlag, StormFlags, StormLevels

pytestmark = pytest.mark.anyio

LEASE = ("coordination.k8s.io/v1", "Lease", "own", "default")
CLUSTER = Bucket(Span.CLUSTER)
FREE_ROOM: Behaviour = replace(UPSTREAM, free_room=True)
SETTINGS = Settings(
    behaviour=FREE_ROOM,
    eviction_tolerance=1.0,
    storms=StormFlags(StormFlag(100, 0.001), StormFlag(100, 0.001), StormFlag(30, 0.001)),
)
"""A cluster that bears 30 changes, and next to none after that."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return api_server()


@asynccontextmanager
async def process(server: ApiServer, identity: str = "") -> AsyncIterator[StormLease]:
    """An updater as far as its Lease goes."""
    async with client_for(server) as client:
        yield StormLease(file_of(client), identity)


def file_of(client: KubeClient) -> LeaseFile:
    return LeaseFile(client, "default", "own")


def lease(server: ApiServer) -> Json:
    return server.store.read(*LEASE)


def written(server: ApiServer) -> StormLevels:
    """Return the levels as the Lease has them, read by the process after."""
    metadata = lease(server)["metadata"]
    assert isinstance(metadata, dict)
    return read(str(metadata["annotations"][STORM_ANNOTATION]))


def read(text: str) -> StormLevels:
    from updater.storm_text import read_levels  # noqa: PLC0415 the one place where text is looked at

    levels = read_levels(text)
    assert levels is not None
    return levels


def tokens(levels: StormLevels, now: datetime = T0) -> float:
    return levels.tokens(CLUSTER, SETTINGS.storms.limits(1), now)


def plan(levels: StormLevels, pods: int = 60) -> Plan:
    """Return a round that would resize so many pods."""
    scene = Scene(vpa_of(IPOR), tuple(small(f"p{n}") for n in range(pods)), settings=SETTINGS)
    return Plan.of(scene.snapshot, T0, Memory(storms=levels), SETTINGS)


async def changes(storms: StormLease, carried_out: int, *, settles: bool = True, now: datetime = T0) -> int:
    """Run a round that may end in the middle; returns how many changes were made.

    Args:
        carried_out: Decisions that are carried out at most.
        settles: Whether the round comes to its orderly end.
    """
    opened = await storms.opened(now)
    assert opened is not None, "these processes live for one round"
    left, made = plan(opened), 0
    while (decision := left.next()) is not None and made < carried_out:
        outcome = Outcome.DONE
        if decision.claim.changes:
            outcome = Outcome.DONE if await storms.covers_one_more(left) else Outcome.NOT_RESERVED
            made += outcome is Outcome.DONE
        left = left.after(decision, outcome)
    if settles:
        await storms.settle(left.memory.storms)
    return made


async def test_a_lease_without_holder_is_made_and_the_rest_given_back(server: ApiServer) -> None:
    async with process(server) as storms:
        assert await changes(storms, 3) == 3
    assert lease(server).get("spec", {}) == {}, "beyond:B-24"
    assert tokens(written(server)) == pytest.approx(27)
    calls = [c.verb for c in server.requests.calls(path="/leases") if c.verb != "get"]
    assert calls == ["create", "update"], "one chunk and one settling"


async def test_nothing_is_written_where_nothing_changes(server: ApiServer) -> None:
    async with process(server) as storms:
        assert await changes(storms, 0) == 0
    assert [c.verb for c in server.requests.calls(path="/leases")] == ["get"]


async def test_tokens_are_written_before_they_are_used(server: ApiServer) -> None:
    async with process(server) as storms:
        left = plan(await storms.opened(T0) or StormLevels())
        assert await storms.covers_one_more(left)
        assert tokens(written(server)) == pytest.approx(30 - CHUNK), "beyond:B-24"
        writes = len(server.requests.calls(path="/leases"))
        for _ in range(CHUNK - 1):
            assert await storms.covers_one_more(left)
        assert len(server.requests.calls(path="/leases")) == writes
        assert await storms.covers_one_more(left)
        assert len(server.requests.calls(path="/leases")) > writes


@pytest.mark.parametrize("made_before", [0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 29, 30])
async def test_a_restart_in_the_middle_allows_no_more_changes(server: ApiServer, made_before: int) -> None:
    async with process(server) as storms:
        first = await changes(storms, made_before, settles=False)
    async with process(server) as storms:
        second = await changes(storms, 100)
    assert first == made_before
    assert first + second <= 30, "beyond:B-24"
    if made_before == 0:
        assert second == 30


async def test_a_restart_between_rounds_costs_nothing(server: ApiServer) -> None:
    for _ in range(3):
        async with process(server) as storms:
            assert await changes(storms, 5) == 5
    async with process(server) as storms:
        assert await changes(storms, 100) == 15, "beyond:B-24"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("beyond:B-24", Fault(Refuse(500), verb="create", path="/leases$")),
        ("beyond:B-24", Fault(Refuse(403), verb="create", path="/leases$")),
        ("beyond:B-24", Fault(Refuse(403), verb="get", path="/leases/own$", skip=1)),
    ],
)
async def test_without_the_write_nothing_is_done(server: ApiServer, row: str, fault: Fault) -> None:
    server.faults.add(fault)
    async with process(server) as storms:
        assert await changes(storms, 100) == 0, row
        server.faults.clear()
        assert await changes(storms, 4) == 4, "the next round tries again"


async def test_an_answer_that_is_lost_counts_as_a_write_that_may_have_come(server: ApiServer) -> None:
    server.faults.add(Fault(DropConnection(after_carrying_out=True), verb="create", path="/leases$", count=1))
    async with process(server) as storms:
        assert await changes(storms, 4) == 0
        assert await changes(storms, 100) == 30 - CHUNK, "beyond:B-24"


async def test_a_renewal_in_between_does_not_matter(server: ApiServer) -> None:
    async with process(server) as storms:
        assert await changes(storms, 2) == 2
    server.faults.add(Fault(Refuse(409, "Conflict"), verb="update", path="/leases/own$", count=2))
    async with process(server) as storms:
        assert await changes(storms, 2) == 2, "beyond:B-24"


@pytest.mark.parametrize("text", ["", "full", '{"at":5}'])
async def test_what_cannot_be_read_counts_as_empty(server: ApiServer, text: str) -> None:
    async with client_for(server) as client:
        await file_of(client).create_unheld({STORM_ANNOTATION: text}, ONE_TRY)
    async with process(server) as storms:
        assert await changes(storms, 100) == 0, "beyond:B-24"


async def test_what_cannot_be_reached_counts_as_empty_until_it_can(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(403), verb="get", path="/leases/own$"))
    async with process(server) as storms:
        assert await changes(storms, 100) == 0, "beyond:B-24"
        server.faults.clear()
        assert await changes(storms, 100) == 30


async def test_two_leaders_in_turn_share_the_budget(server: ApiServer) -> None:
    async with client_for(server) as client:
        file = file_of(client)
        stored = await file.create(LeaseState("a", 15), ONE_TRY)
        first, second = StormLease(file, "a"), StormLease(file, "b")
        assert await changes(first, 10, settles=False) == 10
        left = plan(StormLevels())
        stored = await file.read(ONE_TRY) or stored
        await file.replace(stored, LeaseState("b", 15), ONE_TRY)
        assert await changes(second, 100, settles=False) == 30 - CHUNK, "beyond:B-24"
        for _ in range(CHUNK - 10):
            assert await first.covers_one_more(left), "what was reserved before is as good as used"
        assert not await first.covers_one_more(left), "who leads no more reserves no more"
        assert lease(server)["spec"] == {"holderIdentity": "b", "leaseDurationSeconds": 15}


async def test_a_second_updater_without_election_is_noticed(server: ApiServer) -> None:
    async with client_for(server) as client:
        first, second = StormLease(file_of(client)), StormLease(file_of(client))
        await first.opened(T0)
        assert await changes(second, 3) == 3
        assert not await first.covers_one_more(plan(StormLevels()))
        levels = await first.opened(T0 + timedelta(seconds=1))
        assert levels is not None
        assert tokens(levels) == pytest.approx(27)
        assert await first.covers_one_more(plan(levels)), "beyond:B-24"


async def test_decisions_that_were_not_reserved_are_waited_with(server: ApiServer) -> None:
    left = plan(StormLevels(), pods=3)
    while (decision := left.next()) is not None:
        assert decision.action is Action.RESIZE, "a resize that was not attempted is no reason to evict"
        left = left.after(decision, Outcome.NOT_RESERVED)
    assert tokens(left.memory.storms) == 30
