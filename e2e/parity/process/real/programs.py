"""Programs of the control plane: started in a folder, waited for, and ended with everything that was begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from e2e.cluster.layout import MARKER_VARIABLE, run_root
from e2e.parity.process.copies import check_alive
from evenkeel.simulator.processes.program import Invocation, RunningProgram

_ANSWER_SECONDS = 90.0
_PAUSE_SECONDS = 0.1
_END_SECONDS = 2.0
"""An API server waits for its watches to end, so most are killed."""

_MARK = {MARKER_VARIABLE: str(run_root().resolve())}


@asynccontextmanager
async def started(name: str, words: tuple[str, ...], folder: Path) -> AsyncIterator[RunningProgram]:
    """Run a program while the context lasts.

    It carries the mark of the e2e cluster, so that taking that down ends it as well where this process was killed.
    """
    running = RunningProgram(Invocation(name, words, _MARK), folder)
    try:
        yield running
    finally:
        await running.end(_END_SECONDS)


async def until_it_answers(running: RunningProgram, session: aiohttp.ClientSession, path: str) -> None:
    """Wait until a program answers a GET request with success.

    Raises:
        EngineEndedError: It has ended by itself.
        TimeoutError: It does not answer in time.
    """
    async with asyncio.timeout(_ANSWER_SECONDS):
        while not await _answers(session, path):
            check_alive(running)
            await asyncio.sleep(_PAUSE_SECONDS)


async def _answers(session: aiohttp.ClientSession, path: str) -> bool:
    try:
        async with session.get(path) as response:
            return response.ok
    except aiohttp.ClientError:
        return False
