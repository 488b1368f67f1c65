"""The updater's process: what becomes of notes when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Profile
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import FailureHandler, Periodic, Process, Rounds
from autoscaling.runtime.startup import run_elected
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Delay, Fault
from tests.autoscaling.kube.clocks import HeldPacing
from tests.builders import T0
from tests.embedded import Json, api_server, client_for, deploy, node_object, recommended_status, vpa_object
from updater.__main__ import work
from updater.config import UpdaterConfig
from updater.resize_request import REQUESTED_ANNOTATION
from updater.shell.metrics import UpdaterMetrics

pytestmark = pytest.mark.anyio

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
LEASE = ("coordination.k8s.io/v1", "Lease", "evenkeel-updater", "kube-system")
NAMES = ("web0-0", "web1-0")
OURS = "us"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    made.store.create(node_object())
    for number in range(len(NAMES)):
        deploy(made, f"web{number}")
        made.store.create(vpa_object(f"web{number}", status=recommended_status("400m", "100Mi")))
    return made


@dataclass
class TickedDriver:
    """A driver whose rounds the test starts."""

    rounds: dict[str, Rounds] = field(default_factory=dict)

    def now(self) -> datetime:
        return T0 + MINUTE

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        self.rounds[periodic.name] = Rounds(periodic, on_failure)

    async def stop(self, grace: timedelta) -> None:
        await asyncio.gather(*(rounds.stop(grace) for rounds in self.rounds.values()))


@dataclass
class Running:
    """An updater that leads, and whose round has begun.

    Attributes:
        ended: Its exit status, once there is one.
    """

    process: Process
    pacing: HeldPacing
    ended: asyncio.Task[int]


@asynccontextmanager
async def updater(server: ApiServer) -> AsyncIterator[Running]:
    """A whole updater but for its telemetry and the signals."""
    config = UpdaterConfig(
        profile=Profile.EVENKEEL,
        api_group=ApiGroup.EVENKEEL,
        use_admission_controller_status=False,
        leader_elect=True,
        leader_elect_resource_name=LEASE[2],
        leader_elect_resource_namespace=LEASE[3],
    )
    driver = TickedDriver()
    async with client_for(server) as client:
        pacing = client.pacing
        assert isinstance(pacing, HeldPacing)
        process = Process(driver, grace=timedelta(0), pacing=pacing)
        telemetry = UpdaterMetrics.register(CollectorRegistry()), Vitals(MINUTE, pacing.monotonic), None

        async def start(process: Process) -> None:
            run_elected(process, config, client, lambda: work(process, config, client, telemetry, OURS), OURS)

        ended = asyncio.create_task(process.run(start))
        await until(lambda: "updater round" in driver.rounds)
        driver.rounds["updater round"].tick()
        yield Running(process, pacing, ended)
        assert ended.done()


async def until(check: Callable[[], bool]) -> None:
    """Wait until something has come about."""
    for _ in range(50_000):
        if check():
            return
        await asyncio.sleep(0)
    raise AssertionError("it has not come about")


def noted(server: ApiServer) -> list[str]:
    """Return the pods on which a resize is noted."""
    found: list[str] = []
    for name in NAMES:
        metadata = server.store.read("v1", "Pod", name, "default")["metadata"]
        assert isinstance(metadata, dict)
        if REQUESTED_ANNOTATION in metadata.get("annotations", {}):
            found.append(name)
    return found


def hold_notes(server: ApiServer) -> Fault:
    """Let the first write of each note hang."""
    return server.faults.add(Fault(Delay(HOUR), verb="patch", path=r"/pods/[^/]+$", count=len(NAMES)))


async def test_a_process_that_is_told_to_stop_writes_what_it_owes_while_it_leads(server: ApiServer) -> None:
    """Spec: beyond:B-20."""
    held = hold_notes(server)
    async with updater(server) as running:
        await until(lambda: held.hits == len(NAMES))
        assert noted(server) == []
        running.process.stop()
        assert await running.ended == 0
    assert noted(server) == list(NAMES)
    calls = [(call.verb, call.path.rsplit("/", 1)[-1]) for call in server.requests.calls()]
    notes = [at for at, call in enumerate(calls) if call[0] == "patch" and call[1] in NAMES]
    assert max(notes) < max(at for at, call in enumerate(calls) if call == ("update", LEASE[2])), "before its end"


async def test_a_process_that_has_lost_its_lease_notes_nothing_more(server: ApiServer) -> None:
    """Spec: beyond:B-20, updater:M-3. Whoever leads now may have noted its own resize of the same pod."""
    held = hold_notes(server)
    async with updater(server) as running:
        await until(lambda: held.hits == len(NAMES))
        lease = server.store.read(*LEASE)
        spec = lease["spec"]
        assert isinstance(spec, dict)
        taken: Json = {**lease, "spec": {**spec, "holderIdentity": "somebody else"}}
        server.store.update(taken)
        for _ in range(50):
            if running.ended.done():
                break
            await running.pacing.advance(5.0)
            for _ in range(500):
                await asyncio.sleep(0)
        assert await running.ended == 1
    assert noted(server) == []
    assert held.hits == len(NAMES)
