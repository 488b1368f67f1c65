"""All controllers of a cluster, kept up to date: the seven well-known kinds by watch, other kinds by their scale."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from autoscaling.kube.client import KubeClient
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.paths import Selection
from autoscaling.kube.scales import ScaleCache, ScaleReader
from autoscaling.kube.watch import StoreCallbacks, WatchedStore
from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.ownership import ControllerKey, OwnerNotCachedError
from autoscaling.targets import KnownControllers, WorkloadKey
from autoscaling.workload import Workload

T = TypeVar("T")


class _StoredWorkloads(Mapping[WorkloadKey, Workload]):
    """The stores of all kinds as one live mapping; do not keep it over an await."""

    def __init__(self, stores: Mapping[str, WatchedStore[Workload]]) -> None:
        self._workloads = {kind: store.items() for kind, store in stores.items()}

    def __getitem__(self, key: WorkloadKey) -> Workload:
        namespace, kind, name = key
        return self._workloads[kind][namespace, name]

    def __iter__(self) -> Iterator[WorkloadKey]:
        for kind, workloads in self._workloads.items():
            for namespace, name in workloads:
                yield namespace, kind, name

    def __len__(self) -> int:
        return sum(map(len, self._workloads.values()))


class ControllerCache:
    """Stores of the seven well-known kinds, and the answers of scale subresources asked for so far.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all.
        callbacks: Who is told of objects that cannot be read and of failures.
        runs_match_by_owner: See ``KnownControllers``.
    """

    def __init__(
        self,
        client: KubeClient,
        namespace: str = "",
        callbacks: StoreCallbacks[Workload] | None = None,
        *,
        runs_match_by_owner: bool = False,
    ) -> None:
        self.stores: Mapping[str, WatchedStore[Workload]] = {
            kind: WatchedStore(client, Selection(resource, namespace), workload_decoder(kind), callbacks)
            for kind, resource in WELL_KNOWN.items()
        }
        self._runs_match_by_owner = runs_match_by_owner
        self._scales = ScaleCache(ScaleReader(client, Discovery(client)), client)
        self._refreshing: asyncio.Task[None] | None = None
        self._looking_up: dict[ControllerKey, asyncio.Task[object]] = {}

    def start(self) -> list[asyncio.Task[None]]:
        """Follow all kinds and keep scale answers fresh; returns the tasks for whoever supervises the process."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._scales.run(), name="refresh scales")
        return [self._refreshing, *(store.start() for store in self.stores.values())]

    async def stop(self) -> None:
        """End all tasks."""
        tasks = [*self._looking_up.values()]
        if self._refreshing is not None:
            tasks.append(self._refreshing)
            self._refreshing = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for store in self.stores.values():
            await store.stop()

    @property
    def is_synced(self) -> bool:
        """Whether every kind has been listed completely."""
        return all(store.is_synced for store in self.stores.values())

    @property
    def versions(self) -> tuple[int, ...]:
        """Differ from those before when a workload came, changed or went."""
        return tuple([store.version for store in self.stores.values()])

    async def wait_synced(self, seconds: float) -> None:
        """Wait until every kind has been listed completely.

        Raises:
            ApiError: One was not in time; says which and why.
        """
        await asyncio.gather(*(store.wait_synced(seconds) for store in self.stores.values()))

    def known(self) -> KnownControllers:
        """Return the live view; do not keep it over an await."""
        return KnownControllers(_StoredWorkloads(self.stores), self._scales, self._runs_match_by_owner)

    def workloads(self) -> tuple[Workload, ...]:
        """Return all workloads as they are now."""
        return tuple(workload for store in self.stores.values() for workload in store.snapshot())

    async def settled(self, compute: Callable[[KnownControllers], T]) -> T:
        """Run a pure function over what is known, looking up each scale it asks for.

        What the function raises other than ``OwnerNotCachedError`` is passed on.
        """
        while True:
            try:
                return compute(self.known())
            except OwnerNotCachedError as missing:
                await self._scales.look_up(missing.key)

    async def look_up(self, key: ControllerKey) -> None:
        """Wait until a scale is known; all who do share one call, which goes on when one of them gives up."""
        self.look_up_later(key)
        await asyncio.wait((self._looking_up[key],))

    def look_up_later(self, key: ControllerKey) -> None:
        """Look a scale up in the background, once, for whoever asks the next time."""
        if key not in self._looking_up:
            task: asyncio.Task[object] = asyncio.create_task(self._scales.look_up(key), name=f"look up {key}")
            self._looking_up[key] = task
            task.add_done_callback(lambda _: self._looking_up.pop(key, None))
