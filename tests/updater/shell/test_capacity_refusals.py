"""Resizes that an API server of 1.36 or newer refuses, as the pod's node would never have room for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import CauseType
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import HeldDriver, api_server, deploy, node_object, recommended_status, vpa_object
from tests.updater.shell.stage import updater
from updater.shell.loop import Loop

pytestmark = pytest.mark.anyio
RESIZE, EVICTION = "/pods/web-0/resize$", "/pods/web-0/eviction$"
REFUSAL = Refuse(
    403,
    message='pods "web-0" is forbidden: node didn\'t have enough allocatable resources: '
    "cpu, requested: 400, allocatable: 300",
    cause=CauseType.NODE_CAPACITY,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def served(mode: str) -> ApiServer:
    """Return a server with one pod whose VPA asks for more than the server says its node has."""
    server = api_server()
    server.store.create(node_object())
    deploy(server)
    policy = {"updateMode": mode, "minReplicas": 1}
    server.store.create(vpa_object(status=recommended_status("400m", "100Mi"), updatePolicy=policy))
    server.faults.add(Fault(REFUSAL, verb="patch", path=RESIZE, count=None))
    return server


async def play(loop: Loop, *minutes: int) -> None:
    """Run rounds so many minutes after the first look, with mode InPlace switched on."""
    loop.settings = replace(loop.settings, decisions=replace(loop.settings.decisions, is_in_place_on=True))
    assert isinstance(loop.driver, HeldDriver)
    began = loop.driver.now()
    for after in minutes:
        loop.driver.time = began + timedelta(minutes=after)
        await loop.run_round()


def failures(loop: Loop) -> dict[str, float]:
    """Return the failed resizes by the reason that their metric names."""
    samples = (sample for family in loop.metrics.failed_in_place_updates.collect() for sample in family.samples)
    counted = {s.labels["reason"]: s.value for s in samples if s.name.endswith("_total")}
    return {reason: count for reason, count in counted.items() if count}


@pytest.mark.parametrize(
    ("row", "profile", "calls"),
    [
        # Upstream asks once more only when less is recommended; we do after five minutes, and then after ten.
        ("updater:D-48", Profile.UPSTREAM, 1),
        ("beyond:B-28", Profile.EVENKEEL, 2),
    ],
)
async def test_in_mode_in_place_the_refusal_is_remembered(row: str, profile: Profile, calls: int) -> None:
    server = served("InPlace")
    async with updater(server, profile) as loop:
        await play(loop, 0, 1, 4, 5, 14)
        answers = [call.status for call in server.requests.calls(verb="patch", path=RESIZE)]
        assert answers == [403] * calls, row
        assert server.requests.calls(path=EVICTION) == []
        assert failures(loop) == {"InPlaceUpdateInfeasible": calls}


@pytest.mark.parametrize("profile", Profile)
async def test_in_mode_in_place_or_recreate_the_pod_is_evicted_where_nobody_looks_at_nodes(profile: Profile) -> None:
    """Spec: updater:D-25, beyond:B-24."""
    server = served("InPlaceOrRecreate")
    async with updater(server, profile) as loop:
        await play(loop, 0)
        assert [call.status for call in server.requests.calls(verb="patch", path=RESIZE)] == [403]
        assert [call.status for call in server.requests.calls(path=EVICTION)] == [201]
        assert failures(loop) == {"InPlaceUpdateError": 1}


async def test_a_pod_stays_where_no_other_node_is_known_to_take_it() -> None:
    """Spec: beyond:B-24, beyond:B-25; what the updater has seen of its node last is not believed any more."""
    server = served("InPlaceOrRecreate")
    async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
        await play(loop, 0, 1, 4)
        assert [call.status for call in server.requests.calls(verb="patch", path=RESIZE)] == [403]
        assert server.requests.calls(path=EVICTION) == []
        assert server.store.find("v1", "Pod", "web-0", "default") is not None
