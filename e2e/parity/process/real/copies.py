"""A copy of a cluster on a real API server, and the ground on which such copies are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from e2e.cluster import binaries
from e2e.parity.process.changes import Change, ChangeKind
from e2e.parity.process.client import MERGE_PATCH, Reply, collection_path, path_of
from e2e.parity.process.copies import END_SECONDS, Access, tell_usage
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.real.audit import AuditLog
from e2e.parity.process.real.control_plane import ControlPlane, control_plane
from e2e.parity.process.real.filling import Filling, create
from e2e.parity.process.real.storage import Storage, storage
from e2e.parity.process.recommender.external import External
from e2e.parity.process.recommender.usage import HeldFrame
from evenkeel.simulator.api.fields import JsonObject, rows
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.clock import WallClock
from evenkeel.simulator.processes.program import RunningProgram

_TEMPLATE = "/template"
_METRICS = "usage"
_GROUPS = {False: ("metrics.k8s.io", "v1beta1"), True: ("external.metrics.k8s.io", "v1beta1")}
_SERVED_SECONDS = 60.0
_AT_ONCE = {"gracePeriodSeconds": 0}


@dataclass(frozen=True, slots=True)
class RealCopy:
    """One copy.

    Args:
        plane: Its API server.
        audit: What that was asked.
        stack: Closes what was opened for the copy.
    """

    plane: ControlPlane
    audit: AuditLog
    stack: AsyncExitStack

    @property
    def access(self) -> Access:
        """How the comparison itself sends requests to it."""
        return self.plane.access

    @asynccontextmanager
    async def running(self, engine: Engine, program: Program, flags: tuple[str, ...]) -> AsyncIterator[RunningProgram]:
        """Run a program on it while the context lasts."""
        invocation = engine.invocation(program, self.plane.kubeconfig(program), flags)
        running = RunningProgram(invocation, self.plane.folder)
        try:
            yield running
        finally:
            await running.end(END_SECONDS)

    def calls(self, program: Program) -> list[RecordedCall]:
        """Return what a program has asked so far, oldest first."""
        return self.audit.calls(program.value)

    async def apply(self, change: Change) -> None:
        """Let something happen to it; an object that is gone is left alone."""
        client, body = self.plane.client, change.object
        if change.kind is ChangeKind.CREATE:
            await create(client, body)
        elif change.kind is ChangeKind.DELETE:
            await client.call("DELETE", path_of(body), _AT_ONCE)
        else:
            parts = {"": {key: value for key, value in body.items() if key != "status"}}
            parts |= {"/status": {"status": body["status"]}} if "status" in body else {}
            for place, part in parts.items():
                if place or set(part) - {"apiVersion", "kind", "metadata"}:
                    await client.call("PATCH", f"{path_of(body)}{place}", part, MERGE_PATCH)

    async def objects(self, api_version: str, kind: str) -> list[JsonObject]:
        """Return all objects of a kind that are stored."""
        reply = await self.plane.client.call("GET", collection_path(api_version, kind, ""))
        return rows(reply.body, "items")

    async def tell_usage(self, usage: HeldFrame, external: External | None) -> None:
        """Serve the use of pods as an aggregated API, and wait until the API server passes questions on to it."""
        backend = ApiServer(WallClock())
        tell_usage(backend, usage, external)
        endpoint = await self.stack.enter_async_context(serve(backend))
        group, version = _GROUPS[external is not None]
        client = self.plane.client
        service: JsonObject = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _METRICS, "namespace": "kube-system"},
            # By name: a loopback address may not be in an EndpointSlice.
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": endpoint.port}]},
        }
        registration: JsonObject = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": _METRICS, "namespace": "kube-system", "port": endpoint.port},
            },
        }
        for obj in (service, registration):
            reply = await create(client, obj)
            assert reply.is_success, str(reply)
        await client.until(path_of(registration), _is_available, _SERVED_SECONDS)


def _is_available(registration: Reply) -> bool:
    """Say whether the API server passes questions on."""
    conditions = rows(registration.body, "status", "conditions")
    return any(row.get("type") == "Available" and row.get("status") == "True" for row in conditions)


@dataclass(slots=True)
class RealGround:
    """Where copies of one cluster are made: it is put into an API server once, and what that stored is copied.

    Args:
        programs: Folder with Kubernetes' programs.
        storage: Where everything is stored.
        folder: For files.
        refused: What of the cluster the API server did not take.
        stored: How many keys a copy has.
    """

    programs: Path
    storage: Storage
    folder: Path
    refused: list[str] = field(default_factory=list)
    stored: int = 0
    _numbers: count[int] = field(default_factory=lambda: count(1))

    async def fill(self, objects: Iterable[JsonObject]) -> None:
        """Put a cluster in, of which copies are made from then on."""
        async with control_plane(self.programs, self.storage, _TEMPLATE, self.folder / "template") as plane:
            filling = Filling(plane.client)
            await filling.put(objects)
        self.refused = filling.refused

    @asynccontextmanager
    async def open(self, folder: Path) -> AsyncIterator[RealCopy]:
        """Serve a copy of the cluster while the context lasts."""
        path = f"/copy-{next(self._numbers)}"
        self.stored = await self.storage.copy(_TEMPLATE, path)
        async with control_plane(self.programs, self.storage, path, folder) as plane, AsyncExitStack() as stack:
            yield RealCopy(plane, AuditLog(plane.audit_log), stack)


@asynccontextmanager
async def real_ground(folder: Path) -> AsyncIterator[RealGround]:
    """Have a place for copies on real API servers while the context lasts.

    Raises:
        ClusterError: Kubernetes' programs or etcd cannot be had.
    """
    programs = await asyncio.to_thread(binaries.build, "kubernetes")
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with storage(folder) as store:
        yield RealGround(programs, store, folder)
