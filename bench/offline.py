"""An API server that is not there: lists come from memory, writes go nowhere but are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import overload

import msgspec

from autoscaling.kube.calls import NO_QUERY, PAGE_SIZE, ListPage, PatchType, Query
from autoscaling.kube.client import KubeClient
from autoscaling.kube.pacing import SYSTEM_PACING, Pacing
from autoscaling.kube.paths import Selection
from autoscaling.kube.retry import Patience
from autoscaling.kube.streams import WatchStart
from bench.cluster import JsonObject


@dataclass(slots=True)
class Offline:
    """What the absent server answers and takes in.

    Args:
        lists: Objects by plural, as bytes.
        usage: Its answer to the question for usage.
        patches: The last patch by path.
    """

    lists: Mapping[str, Sequence[msgspec.Raw]]
    usage: bytes = b'{"items":[]}'
    patches: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def holding(cls, **objects: Iterable[JsonObject]) -> Offline:
        """Return a server that holds some objects, by plural."""
        return cls({plural: [msgspec.Raw(msgspec.json.encode(o)) for o in each] for plural, each in objects.items()})


class Passing(Sequence[msgspec.Raw]):
    """Objects that are made when they are listed, once and in order, and are not kept.

    Args:
        count: How many.
        objects: The objects.
    """

    def __init__(self, count: int, objects: Iterator[JsonObject]) -> None:
        self._count = self._left = count
        self._objects = objects

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> msgspec.Raw: ...
    @overload
    def __getitem__(self, place: slice) -> list[msgspec.Raw]: ...
    def __getitem__(self, place: int | slice) -> msgspec.Raw | list[msgspec.Raw]:
        if isinstance(place, int):
            return self[place : place + 1][0]
        size = len(range(*place.indices(self._count)))
        listed = [msgspec.Raw(msgspec.json.encode(each)) for each in islice(self._objects, size)]
        self._left -= len(listed)
        if not self._left:
            # What made them may hold the names of all.
            self._objects = iter(())
        return listed


class OfflineClient(KubeClient):
    """The client of such a server: everything above the wire is what we ship."""

    def __init__(self, offline: Offline) -> None:
        self._offline = offline
        self._events: dict[str, asyncio.Queue[bytes]] = {}

    @property
    def offline(self) -> Offline:
        """The server."""
        return self._offline

    def tell(self, plural: str, event: str, each: JsonObject) -> None:
        """Send an event to whoever watches."""
        self._queue(plural).put_nowait(msgspec.json.encode({"type": event, "object": each}))

    def _queue(self, plural: str) -> asyncio.Queue[bytes]:
        return self._events.setdefault(plural, asyncio.Queue())

    @property
    def pacing(self) -> Pacing:
        """The machine's clock."""
        return SYSTEM_PACING

    @property
    def server(self) -> str:
        """A name for messages."""
        return "offline"

    async def get(self, path: str, query: Query = NO_QUERY, patience: Patience | None = None) -> bytes:
        """Answer the question for usage."""
        del path, query, patience
        return self._offline.usage

    async def pages(self, selection: Selection, page_size: int = PAGE_SIZE) -> AsyncIterator[ListPage]:
        """List what is held."""
        held = self._offline.lists.get(selection.resource.plural, [])
        for number, start in enumerate(range(0, max(1, len(held)), page_size)):
            yield ListPage(number, list(held[start : start + page_size]), "1", 0)

    async def watch(self, selection: Selection, since: WatchStart) -> AsyncGenerator[bytes, None]:
        """Tell of what is told, for ever."""
        del since
        queue = self._queue(selection.resource.plural)
        while True:
            yield await queue.get()

    async def patch(
        self, path: str, body: bytes, patch_type: PatchType, query: Query = NO_QUERY, patience: Patience | None = None
    ) -> bytes:
        """Keep a patch."""
        del patch_type, query, patience
        self._offline.patches[path] = body
        return b"{}"
