"""A collection that is good to know but that nothing may depend on: without permission, work goes on without it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final, Generic, TypeVar

from autoscaling.errors import ApiRefusedError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import Decoder
from autoscaling.kube.owned_task import OwnedTask
from autoscaling.kube.paths import Selection
from autoscaling.kube.refusals import FORBIDDEN, NOT_FOUND
from autoscaling.kube.troubles import Trouble
from autoscaling.kube.watch import StoreCallbacks, WatchedStore

T = TypeVar("T")

RETRY_SECONDS: Final = 600.0
"""Time until a collection that was denied is asked for again: a grant is noticed without a restart."""


class OptionalStore(Generic[T]):
    """A store that rests while it is denied, says so once, and takes up again when it is granted.

    Denied means that the permission is missing or that the API server does not serve the kind. What was known before
    stays known meanwhile.

    Args:
        client: Calls to the API server.
        selection: What to follow.
        decode: See ``Decoder``.
        callbacks: Who is told of what; of several denials in a row only of the first.
    """

    def __init__(
        self,
        client: KubeClient,
        selection: Selection,
        decode: Decoder[T],
        callbacks: StoreCallbacks[T],
    ) -> None:
        told = StoreCallbacks(callbacks.on_change, callbacks.on_unreadable, self._on_trouble)
        self._store = WatchedStore(client, selection, decode, told)
        self._pacing = client.pacing
        self._callbacks = callbacks
        self._denied = asyncio.Event()
        self._denied_at: float | None = None
        self._task = OwnedTask(self._run, f"watch {selection} where allowed")

    @property
    def is_denied(self) -> bool:
        """Whether the collection may not be followed at present."""
        return self._denied.is_set()

    @property
    def is_known(self) -> bool:
        """Whether the collection was listed completely and has not been denied since."""
        return self._store.is_synced and not self.is_denied and self._was_heard_since(self._denied_at)

    @property
    def version(self) -> int:
        """Counts the changes so far."""
        return self._store.version

    def snapshot(self) -> tuple[T, ...]:
        """All objects as last known; the same tuple until something changes."""
        return self._store.snapshot()

    def start(self) -> asyncio.Task[None]:
        """Follow the collection in a task of its own; whoever supervises the process watches the task."""
        return self._task.start()

    async def stop(self) -> None:
        """End the task that ``start`` made; raises what the task had died of."""
        await self._task.stop()

    async def wait_settled(self, seconds: float) -> None:
        """Wait for the first complete list, or until it is clear that there will be none.

        Raises:
            ApiError: Neither came in time; says why, as far as known.
        """
        synced = asyncio.ensure_future(self._store.wait_synced(seconds))
        denied = asyncio.create_task(self._denied.wait())
        try:
            await asyncio.wait((synced, denied), return_when=asyncio.FIRST_COMPLETED)
            if synced.done():
                synced.result()
        finally:
            for task in (synced, denied):
                task.cancel()
            await asyncio.gather(synced, denied, return_exceptions=True)

    async def _run(self) -> None:
        """Follow the collection while that is allowed; ask again from time to time while it is not."""
        while True:
            following = self._store.start()
            denied = asyncio.create_task(self._denied.wait())
            try:
                await asyncio.wait((following, denied), return_when=asyncio.FIRST_COMPLETED)
            finally:
                denied.cancel()
                await self._store.stop()
            await self._pacing.sleep(RETRY_SECONDS)
            self._denied.clear()

    def _on_trouble(self, trouble: Trouble) -> None:
        error, told = trouble.error, self._callbacks.on_trouble
        if isinstance(error, ApiRefusedError) and error.code in {FORBIDDEN, NOT_FOUND}:
            trouble = replace(trouble, retry_seconds=RETRY_SECONDS)
            told = told if self._is_news() else None
            self._denied.set()
        if told is not None:
            told(trouble)

    def _is_news(self) -> bool:
        """Say whether a denial is the first, or the first since anything was heard of the collection."""
        before, self._denied_at = self._denied_at, self._pacing.monotonic()
        return self._was_heard_since(before)

    def _was_heard_since(self, moment: float | None) -> bool:
        """Say whether anything was heard of the collection later than at a moment, if there was one."""
        return moment is None or self._pacing.monotonic() - self._store.silent_seconds() > moment
