"""Processes that only speak the clock's protocol, and a cluster with such a clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import aiohttp
import msgspec

from autoscaling.runtime.lockstep_channel import CALL_HEADER, Moment, Objection, Report, Welcome
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepSettings
from evenkeel.simulator.lockstep.serving import serve_lockstep

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
LIMIT_SECONDS = 10
NOTHING = Report(0, 0, None)


def at(seconds: float) -> datetime:
    return EPOCH + seconds * SECOND


@dataclass
class FakeProcess:
    """A process that rests and works as the test says."""

    session: aiohttp.ClientSession
    url: str
    welcome: Welcome
    presence: aiohttp.ClientResponse
    reports: int = 0
    turns: int = 0
    resting: asyncio.Task[Moment] | None = None

    async def rest(self, until: float | None = None, report: Report = NOTHING) -> None:
        """Say that there is nothing to do until some second."""
        self.reports += 1
        moment = None if until is None else at(until)
        said = replace_report(report, number=self.reports, turns=self.turns, until=moment)
        self.resting = asyncio.create_task(self._rest(said))
        await asyncio.sleep(0)

    async def turn(self) -> datetime:
        """Wait for the next turn, and return its time."""
        assert self.resting is not None
        async with asyncio.timeout(LIMIT_SECONDS):
            return (await self.resting).now

    async def rest_until(self, until: float | None = None, report: Report = NOTHING) -> datetime:
        await self.rest(until, report)
        return await self.turn()

    async def work(self) -> datetime:
        """Go on before the turn."""
        async with self.session.post(f"{self.url}/work", data=msgspec.json.encode(Objection(self.reports))) as answer:
            assert answer.status == 200
        return await self.turn()

    async def leave(self) -> None:
        async with self.session.post(f"{self.url}/leave") as answer:
            assert answer.status == 200

    async def die(self) -> None:
        """Hang up without a word."""
        if self.resting is not None:
            self.resting.cancel()
        self.presence.close()
        await self.session.close()

    async def _rest(self, report: Report) -> Moment:
        async with self.session.post(f"{self.url}/rest", data=msgspec.json.encode(report)) as answer:
            body = await answer.read()
            assert answer.status == 200, body
        moment = msgspec.json.decode(body, type=Moment)
        self.turns = moment.turns
        return moment


def replace_report(report: Report, **changes: object) -> Report:
    return msgspec.convert(msgspec.structs.asdict(report) | changes, Report)


@dataclass
class Scene:
    """A cluster, its clock, and its processes."""

    server: ApiServer
    clock: ManualClock
    endpoint: Endpoint
    lockstep: Lockstep
    stack: AsyncExitStack
    processes: dict[str, FakeProcess] = field(default_factory=dict)

    async def join(self, name: str) -> FakeProcess:
        """Let a process join; it works until it rests."""
        session = await self.stack.enter_async_context(aiohttp.ClientSession())
        presence = await session.post(self.lockstep.url(name))
        assert presence.status == 200, await presence.text()
        self.stack.callback(presence.close)
        welcome = msgspec.json.decode(await presence.content.readline(), type=Welcome)
        process = FakeProcess(session, self.lockstep.url(name), welcome, presence)
        self.processes[name] = process
        return process

    async def settle(self) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            await self.lockstep.settle()

    async def run(self, until: float) -> None:
        """Run to some second."""
        async with asyncio.timeout(LIMIT_SECONDS):
            await self.lockstep.run_until(at(until))

    async def hindrances(self, part: str) -> None:
        """Wait until something that keeps the clock from moving is said to."""
        await self.until(lambda: any(part in hindrance for hindrance in self.lockstep.hindrances()))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let others go on until something is so."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while not condition():  # noqa: ASYNC110 - what it depends on has nothing to wait for
                await asyncio.sleep(0)

    @asynccontextmanager
    async def watch(self, process: str, number: int, path: str) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch of a process."""
        headers = {CALL_HEADER: f"{process}/{number}"}
        query = {"watch": "true", "allowWatchBookmarks": "true"}
        async with (
            aiohttp.ClientSession(self.endpoint.url, headers=headers) as session,
            session.get(path, params=query) as answer,
        ):
            assert answer.status == 200
            yield answer.content


@asynccontextmanager
async def scene(settings: LockstepSettings | None = None) -> AsyncIterator[Scene]:
    """A cluster with a clock, served while the context lasts."""
    clock = ManualClock()
    server = ApiServer(clock)
    async with (
        AsyncExitStack() as stack,
        serve(server, tls=False) as endpoint,
        serve_lockstep(server, settings or LockstepSettings(wall_limit_seconds=LIMIT_SECONDS)) as lockstep,
        AsyncExitStack() as processes,
    ):
        del stack
        yield Scene(server, clock, endpoint, lockstep, processes)
