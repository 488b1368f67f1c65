"""Writing statuses under one request budget (recommender:5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from autoscaling.kube.paths import vertical_pod_autoscalers
from autoscaling.pod import ConditionStatus
from autoscaling.vpa import Recommendation, Vpa, VpaCondition
from evenkeel.simulator.api.server import ApiServer
from recommender.shell.statuses import StatusWriter
from recommender.status import VpaStatus
from tests.builders import recommended
from tests.embedded import GROUP, api_server, client_for, vpa_object
from tests.recommender.scene import vpa

pytestmark = pytest.mark.anyio
STATUS = VpaStatus((), Recommendation((recommended("main", "1/1Gi"),)), 1)
NAMES = tuple(f"v{number}" for number in range(6))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    for name in NAMES:
        made.store.create(vpa_object(name))
    return made


def entries(*names: str) -> list[tuple[Vpa, VpaStatus]]:
    return [(vpa(name), STATUS) for name in names]


def written(server: ApiServer) -> list[str]:
    """Return the VPAs whose statuses were written, in order."""
    return [call.path.split("/")[-2] for call in server.requests.calls(verb="patch", path="/status$")]


@pytest.mark.parametrize(
    ("row", "budget", "expected"),
    [
        ("recommender:5", None, NAMES),
        ("recommender:5", timedelta(minutes=1), NAMES),
        ("recommender:5", timedelta(0), NAMES[:2]),
    ],
)
async def test_after_its_time_no_write_is_begun_but_every_worker_writes_one(
    server: ApiServer, row: str, budget: timedelta | None, expected: tuple[str, ...]
) -> None:
    async with client_for(server) as client:
        writer = StatusWriter(client, vertical_pod_autoscalers(GROUP), 2)
        accepted = await writer.write(entries(*NAMES), budget)
    assert tuple(each.name for each in accepted) == expected, row
    assert tuple(written(server)) == expected


async def test_a_refused_status_is_not_among_those_accepted(server: ApiServer) -> None:
    async with client_for(server) as client:
        writer = StatusWriter(client, vertical_pod_autoscalers(GROUP), 1)
        accepted = await writer.write(entries("v0", "gone", "v1"))
    assert [each.name for each in accepted] == ["v0", "v1"]


async def test_conditions_that_came_while_a_status_waited_for_its_turn_are_kept(server: ApiServer) -> None:
    """Spec: beyond:B-24, the updater writes into the same list."""
    blocked = VpaCondition("ResizeBlocked", ConditionStatus.TRUE, "NoRoom", "m")
    known = {("default", "v0"): replace(vpa("v0"), conditions=(blocked,)), ("default", "v1"): vpa("v1")}
    async with client_for(server) as client:
        writer = StatusWriter(client, vertical_pod_autoscalers(GROUP), 1, known)
        await writer.write(entries("v0", "v1", "v2"))
    bodies = [call.json for call in server.requests.calls(verb="patch", path="/status$")]
    assert [b"ResizeBlocked" in msgspec.json.encode(body) for body in bodies] == [True, False, False]
