"""Copies of one cluster: an API server each, holding the same objects, on which nothing acts but what is compared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.parity.process.changes import Change
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.recommender.external import External
from e2e.parity.process.recommender.usage import HeldFrame
from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.external_metrics import UsageAsExternalMetrics
from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.processes.program import RunningProgram

LAB = "lab"
"""Who asks on behalf of the comparison itself; every program is a user of its own name."""

END_SECONDS = 5.0
"""How long a program has to end before it is killed."""

_LAST_LINES = 15


class EngineEndedError(Exception):
    """A program has ended although nobody asked it to."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to send requests to the API server of a copy.

    Args:
        url: Its address.
        ca_pem: Certificate of the authority that signed its own.
        token: What the sender shows.
    """

    url: str
    ca_pem: bytes
    token: str


class ClusterCopy(Protocol):
    """One copy of a cluster, on whatever API server."""

    @property
    def access(self) -> Access:
        """How the comparison itself sends requests to it."""

    def running(
        self, engine: Engine, program: Program, flags: tuple[str, ...]
    ) -> AbstractAsyncContextManager[RunningProgram]:
        """Run a program on it while the context lasts."""

    def calls(self, program: Program) -> list[RecordedCall]:
        """Return what a program has asked so far, oldest first."""

    async def apply(self, change: Change) -> None:
        """Let something happen to it."""

    async def objects(self, api_version: str, kind: str) -> list[JsonObject]:
        """Return all objects of a kind that are stored."""

    async def tell_usage(self, usage: HeldFrame, external: External | None) -> None:
        """Let the metrics API, or external metrics, tell of the use of pods."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy on the embedded API server.

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
        name = f"{engine.side.value}-{program.value}.kubeconfig"
        path = self.endpoint.write_kubeconfig(self.folder / name, program.value)
        running = RunningProgram(engine.invocation(program, path, flags), self.folder)
        try:
            yield running
        finally:
            await running.end(END_SECONDS)

    @property
    def access(self) -> Access:
        """How the comparison itself sends requests to it."""
        return Access(self.endpoint.url, self.endpoint.ca_pem, LAB)

    def calls(self, program: Program) -> list[RecordedCall]:
        """Return what a program has asked so far, oldest first."""
        return [call for call in self.server.requests.calls() if call.user == program.value]

    async def apply(self, change: Change) -> None:
        """Let something happen to it, past all admission."""
        change.apply(self.server)

    async def objects(self, api_version: str, kind: str) -> list[JsonObject]:
        """Return all objects of a kind that are stored."""
        return list(self.server.store.list(api_version, kind))

    async def tell_usage(self, usage: HeldFrame, external: External | None) -> None:
        """Let the metrics API, or external metrics, tell of the use of pods."""
        tell_usage(self.server, usage, external)


@asynccontextmanager
async def open_copy(objects: Iterable[JsonObject], folder: Path) -> AsyncIterator[Copy]:
    """Serve a copy of a cluster while the context lasts.

    Args:
        objects: Everything in it, definitions and namespaces before what needs them.
        folder: Where kubeconfigs and logs go; it need not exist.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    names = (LAB, *(program.value for program in Program))
    server = ApiServer(WallClock(), tokens={name: User(name) for name in names})
    for obj in objects:
        server.store.create(copy_of(obj))
    async with serve(server) as endpoint:
        yield Copy(server, endpoint, folder)


def tell_usage(server: ApiServer, usage: HeldFrame, external: External | None) -> None:
    """Let a server of ours tell of the use of pods."""
    if external is None:
        server.metrics = usage
    else:
        server.serve_external(UsageAsExternalMetrics(usage, external.metrics, external.container_label))


def check_alive(running: RunningProgram) -> None:
    """Make sure that a program runs.

    Raises:
        EngineEndedError: It does not; its last words are in the message.
    """
    if running.status is not None:
        last = running.log.last_lines(_LAST_LINES)
        raise EngineEndedError(f"{running.invocation.name} has ended with status {running.status}:\n{last}")
