"""Copies of one cluster: an API server each, holding the same objects, on which nothing acts but what is compared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.parity.process.engines import Engine, Program
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.processes.program import RunningProgram

_TOKEN = "compared"
_END_SECONDS = 5.0
_LAST_LINES = 15


class EngineEndedError(Exception):
    """A program has ended although nobody asked it to."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy.

    Args:
        server: Its API server, on the machine's own time.
        endpoint: Where that listens.
        folder: Where kubeconfigs and logs go.
    """

    server: ApiServer
    endpoint: Endpoint
    folder: Path

    @asynccontextmanager
    async def running(self, engine: Engine, program: Program, flags: tuple[str, ...]) -> AsyncIterator[RunningProgram]:
        """Run a program on it while the context lasts."""
        path = self.endpoint.write_kubeconfig(self.folder / f"{engine.side.value}-{program.value}.kubeconfig", _TOKEN)
        running = RunningProgram(engine.invocation(program, path, flags), self.folder)
        try:
            yield running
        finally:
            await running.end(_END_SECONDS)


@asynccontextmanager
async def open_copy(objects: Iterable[JsonObject], folder: Path) -> AsyncIterator[Copy]:
    """Serve a copy of a cluster while the context lasts.

    Args:
        objects: Everything in it, definitions and namespaces before what needs them.
        folder: Where kubeconfigs and logs go; it need not exist.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    server = ApiServer(WallClock(), tokens={_TOKEN: User("engine")})
    for obj in objects:
        server.store.create(copy_of(obj))
    async with serve(server) as endpoint:
        yield Copy(server, endpoint, folder)


def check_alive(running: RunningProgram) -> None:
    """Make sure that a program runs.

    Raises:
        EngineEndedError: It does not; its last words are in the message.
    """
    if running.status is not None:
        last = running.log.last_lines(_LAST_LINES)
        raise EngineEndedError(f"{running.invocation.name} has ended with status {running.status}:\n{last}")
