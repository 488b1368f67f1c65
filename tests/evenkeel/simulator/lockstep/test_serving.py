"""Opening and closing the clock."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import aiohttp
import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.lockstep.coordinator import LockstepError, LockstepSettings
from evenkeel.simulator.lockstep.serving import serve_lockstep

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_processes_that_are_still_there_are_hung_up_on_at_the_end() -> None:
    async with asyncio.timeout(10), aiohttp.ClientSession() as session:
        async with serve_lockstep(ApiServer()) as lockstep:
            presence = await session.post(lockstep.url("a"))
            await presence.content.readline()
            url = lockstep.url("b")
        with suppress(aiohttp.ClientPayloadError):
            assert await presence.content.read() == b""
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.post(url)


async def test_it_listens_on_this_machine_only() -> None:
    async with serve_lockstep(ApiServer()) as lockstep:
        assert lockstep.url("a").startswith("http://127.0.0.1:")


async def test_a_port_may_be_chosen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{port}"):
            await serve_lockstep(ApiServer(), port=port).__aenter__()
    async with serve_lockstep(ApiServer(), port=port) as lockstep:
        assert lockstep.url("a") == f"http://127.0.0.1:{port}/clock/a"


async def test_a_clock_that_moves_by_itself_is_refused_and_nothing_is_left_open() -> None:
    with pytest.raises(LockstepError, match="WallClock moves by itself"):
        await serve_lockstep(ApiServer(WallClock()), LockstepSettings()).__aenter__()
