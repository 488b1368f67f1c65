"""Checkpoints in the cluster: loaded at the start, written in every round, removed when orphaned."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
import structlog

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource
from autoscaling.kube.refusals import is_missing
from autoscaling.runtime.collector import collector_paused
from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpoint_names import with_own_name
from recommender.checkpointing import checkpoint_order, checkpoints_of
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.instants import instant
from recommender.label_sets import TrackedVpa
from recommender.running_windows import WindowIndex
from recommender.shell.caches import Caches
from recommender.vanishing_targets import may_replace
from recommender.wire.checkpoints import checkpoint_json, checkpoint_patch

T = TypeVar("T")

_CHUNK = 256
"""VPAs whose checkpoints are computed at a time."""

KnownCheckpoints = Mapping[NamespacedName, ContainerCheckpoint]
"""Stored checkpoints as last seen, by namespace and name of the object."""

_History = tuple[TrackedVpa, tuple[ContainerCheckpoint, ...]]
"""A VPA and the checkpoints of its containers."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """How checkpoints are kept.

    Args:
        resource: Where they are.
        workers: How many VPAs are written at a time, and at least in every round.
        budget: Time after which no further VPA is begun, and no further orphan removed.
        gc_interval: Time between two searches for orphans.
        namespace: The only one that is served; empty for all.
        ignored: Namespaces that are not served.
        keep_windows: Whether running memory windows are written along.
        names_kept_apart: Whether no two containers share the name of their checkpoint.
        is_guarded: Whether a checkpoint is left alone that somebody has written since it was seen.
    """

    resource: Resource
    workers: int
    budget: timedelta
    gc_interval: timedelta
    namespace: str
    ignored: frozenset[str]
    keep_windows: bool = False
    names_kept_apart: bool = False
    is_guarded: bool = False

    def serves(self, namespace: str) -> bool:
        """Say whether objects of a namespace are ours to keep."""
        return namespace not in self.ignored and self.namespace in {"", namespace}


class CheckpointKeeper:
    """Writes and removes checkpoints.

    Args:
        client: Calls to the API server.
        settings: How they are kept.
        started: When the process began; the first search for orphans comes one interval later.
    """

    def __init__(self, client: KubeClient, settings: CheckpointSettings, started: datetime) -> None:
        self._client = client
        self._settings = settings
        self._collected = started

    async def write(self, model: ClusterModel, caches: Caches, now: datetime) -> None:
        """Write the checkpoints that are due, the longest unwritten first, until the time is used up.

        Spec: recommender 6.3.
        """
        known = caches.checkpoints.items()
        pacing = self._client.pacing
        deadline = pacing.monotonic() + self._settings.budget.total_seconds()
        due, running = checkpoint_order(model), WindowIndex.of(model, instant(now))
        begin, end = 0, self._settings.workers
        while begin < len(due) and (begin == 0 or pacing.monotonic() < deadline):
            with collector_paused():
                stored = checkpoints_of(
                    model, due[begin:end], now, keep_windows=self._settings.keep_windows, running=running
                )
            lot = zip(due[begin:end], stored, strict=True)
            await self._write_lot(model, self._in_time(lot, deadline) if begin else lot, known, now)
            begin, end = end, end + _CHUNK

    def _in_time(self, lot: Iterable[_History], deadline: float) -> Iterator[_History]:
        """Yield what is to be written until the time is used up."""
        for each in lot:
            if self._client.pacing.monotonic() >= deadline:
                return
            yield each

    async def _write_lot(
        self, model: ClusterModel, lot: Iterable[_History], known: KnownCheckpoints, now: datetime
    ) -> None:
        """Write the checkpoints of some VPAs."""

        async def write_vpa(history: _History) -> None:
            tracked, checkpoints = history
            if self._settings.names_kept_apart:
                checkpoints = tuple(with_own_name(checkpoint, known, model) for checkpoint in checkpoints)
            pairs = [(checkpoint, known.get((checkpoint.namespace, checkpoint.name))) for checkpoint in checkpoints]
            written = [
                await self._write_one(model.strategies.recorded(checkpoint, tracked, old), old)
                for checkpoint, old in pairs
                if may_replace(checkpoint, old, tracked, model.settings.memory_interval)
            ]
            if any(written):
                tracked.checkpoint_written = instant(now)

        await _at_most(self._settings.workers, write_vpa, lot)

    async def _write_one(self, checkpoint: ContainerCheckpoint, known: ContainerCheckpoint | None) -> bool:
        """Write one checkpoint, creating it where it is missing."""
        resource, stored = self._settings.resource, None if known is None else known.stored_as
        patch = checkpoint_patch(checkpoint, resource.api_version, stored, is_guarded=self._settings.is_guarded)
        path = resource.path(checkpoint.namespace, checkpoint.name)
        try:
            try:
                await self._client.patch(path, msgspec.json.encode(patch), PatchType.JSON)
            except ApiError as error:
                if not is_missing(error):
                    raise
                whole = checkpoint_json(checkpoint, resource.api_version)
                await self._client.create(resource.path(checkpoint.namespace), msgspec.json.encode(whole))
        except ApiError as error:
            log.warning("checkpoint not written", object=str(checkpoint.ref), error=str(error))
            return False
        return True

    async def collect_orphans(self, caches: Caches, now: datetime) -> None:
        """Remove checkpoints that belong to no VPA of any recommender, once in every interval.

        A VPA that exists but cannot be read keeps its checkpoints. What there is no time for is left to the next round.
        """
        if now - self._collected <= self._settings.gc_interval:
            return
        existing = set(caches.vpas.items()) | set(caches.vpas.unreadable)
        orphans = [
            (namespace, name, checkpoint.vpa_name)
            for (namespace, name), checkpoint in caches.checkpoints.items().items()
            if self._settings.serves(namespace) and (namespace, checkpoint.vpa_name) not in existing
        ]
        deadline = self._client.pacing.monotonic() + self._settings.budget.total_seconds()
        for place, orphan in enumerate(orphans):
            if place and self._client.pacing.monotonic() >= deadline:
                return
            await self._remove(*orphan)
        self._collected = now

    async def _remove(self, namespace: str, name: str, vpa: str) -> None:
        # The name is the object's own: one that another engine made need not be called as ours would be.
        path = self._settings.resource.path(namespace, name)
        try:
            await self._client.delete(path)
        except ApiError as error:
            log.warning("orphaned checkpoint not removed", object=path, error=str(error))
            return
        log.info("orphaned checkpoint removed", object=path, vpa=vpa)


async def _at_most(limit: int, work: Callable[[T], Awaitable[None]], items: Iterable[T]) -> None:
    """Do work on items, so many at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    await asyncio.gather(*(worker() for _ in range(limit)))
