"""S-1: lists, watches and memory of the embedded API server."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import aiohttp
import msgspec

from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.hosting import ApiHost
from bench.row import Benchmark

_PAGE = 500
_FIELD_OF_EVERY_POD = b'"containerStatuses"'


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Head(msgspec.Struct):
    metadata: _Meta
    items: msgspec.Raw


@dataclass(frozen=True, slots=True)
class _Time:
    """Seconds by the clock on the wall, and of the server's CPU time."""

    wall: float
    cpu: float

    def __sub__(self, earlier: _Time) -> _Time:
        return _Time(self.wall - earlier.wall, self.cpu - earlier.cpu)


class EmbeddedServer(Benchmark):
    """One client over TLS: all pages of all pods, then a watch while pods change as fast as they can."""

    name = "S-1"
    title = "embedded API server: list, watch, memory with 10,000 VPAs and 100,000 pods"
    turns = 3
    targets = MappingProxyType(
        {
            "S-1/list": Target(Bound.OURS_AT_LEAST, 20_000, Unit.PER_SECOND),
            "S-1/watch": Target(Bound.OURS_AT_LEAST, 5_000, Unit.PER_SECOND),
            "S-1/memory": Target(Bound.OURS_AT_MOST, 8, Unit.GIBIBYTES),
        }
    )
    is_judged_when_quick = False

    def set_up(self) -> None:
        """Start the server."""
        self.vpas = self.setting.choose(10_000, 500)
        self.events = self.setting.choose(20_000, 5_000)
        self.host = ApiHost(self.setting.folder, "--vpas", str(self.vpas), "--pods-per-vpa", "10")
        self.memory = [self.host.hosted.resident_bytes]

    def run_ours(self, turn: int) -> Run:
        """List everything and follow changes once."""
        del turn
        return asyncio.run(self._run())

    async def _run(self) -> Run:
        context = ssl.create_default_context(cafile=self.host.hosted.authority)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client:
            began = self._time()
            listed, revision = await self._list(client)
            listing = self._time() - began
            watching = await self._watch(client, revision)
        if listed != self.vpas * 10:
            raise DisagreementError(f"{listed} pods were listed, {self.vpas * 10} are there")
        rates = {
            "pods": listed / listing.wall,
            "pods by cpu": listed / listing.cpu,
            "events": self.events / watching.wall,
            "events by cpu": self.events / watching.cpu,
        }
        return Run(listing.wall + watching.wall, listing.cpu + watching.cpu, rates)

    def _time(self) -> _Time:
        return _Time(time.perf_counter(), self.host.cpu_seconds)

    async def _list(self, client: aiohttp.ClientSession) -> tuple[int, str]:
        """Read all pages; returns the number of pods and the revision."""
        listed, query, decode = 0, {"limit": str(_PAGE)}, msgspec.json.Decoder(_Head).decode
        while True:
            async with client.get(f"{self.host.hosted.url}/api/v1/pods", params=query) as answer:
                body = await answer.read()
            listed += body.count(_FIELD_OF_EVERY_POD)
            metadata = decode(body).metadata
            if not metadata.continue_:
                return listed, metadata.resource_version
            query = {"limit": str(_PAGE), "continue": metadata.continue_}

    async def _watch(self, client: aiohttp.ClientSession, revision: str) -> _Time:
        """Follow changes from a revision on; returns the time from the first write to the last event."""
        query = {"watch": "1", "resourceVersion": revision}
        async with client.get(f"{self.host.hosted.url}/api/v1/pods", params=query) as answer:
            began, seen = self._time(), 0
            self.host.begin_writing(self.events)
            async for chunk in answer.content.iter_any():
                seen += chunk.count(b"\n")
                if seen >= self.events:
                    break
            spent = self._time() - began
        self.memory.append(self.host.end_writing().resident_bytes)
        return spent

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report both rates, by the clock and by the server's CPU time, its memory and how long it took to load."""
        del peer
        return [
            Figure(
                "S-1/list", Spread.of([run.value("pods") for run in ours]), unit=Unit.PER_SECOND,
                note="pods, pages of 500, TLS",
            ),
            Figure(
                "S-1/list-by-cpu", Spread.of([run.value("pods by cpu") for run in ours]), unit=Unit.PER_SECOND,
                note="pods per second of the server's CPU time",
            ),
            Figure(
                "S-1/watch", Spread.of([run.value("events") for run in ours]), unit=Unit.PER_SECOND,
                note="events, writing included",
            ),
            Figure(
                "S-1/watch-by-cpu", Spread.of([run.value("events by cpu") for run in ours]), unit=Unit.PER_SECOND,
                note="events per second of the server's CPU time, writing included",
            ),
            Figure("S-1/memory", Spread.of([size / 2**30 for size in self.memory]), unit=Unit.GIBIBYTES),
            Figure(
                "S-1/load", Spread.of([self.host.hosted.load_seconds]), note="objects written one by one",
                ours_cpu=Spread.of([self.host.hosted.load_cpu_seconds]),
            ),
        ]  # fmt: skip

    def tear_down(self) -> None:
        """End the server."""
        if hasattr(self, "host"):
            self.host.stop()
