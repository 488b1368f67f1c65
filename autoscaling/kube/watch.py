"""List and watch kept as an in-memory store that says when it is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError, EvenkeelError, InvalidObjectError
from autoscaling.kube.calls import PAGE_SIZE
from autoscaling.kube.client import KubeClient
from autoscaling.kube.decoders import Decoder, identity_of, uid_of
from autoscaling.kube.owned_task import OwnedTask
from autoscaling.kube.paths import Selection
from autoscaling.kube.refusals import TOO_MANY_REQUESTS, is_expired, refusal_in_stream
from autoscaling.kube.retry import Patience
from autoscaling.kube.streams import WatchStart
from autoscaling.kube.table import Change, Key, ObjectTable
from autoscaling.kube.troubles import Trouble, explain
from autoscaling.objectref import ObjectRef
from autoscaling.wire.unreadable import UNREADABLE_JSON

T = TypeVar("T")
_UNREADABLE = (*UNREADABLE_JSON, EvenkeelError, ValueError, LookupError, ArithmeticError)
"""What a decoder may raise about an object; anything else is a fault in the decoder and ends the store."""

_SLICE = 40
"""Objects taken in between two looks at other work: neither a list nor a burst of events may hold up the webhook."""

_SWEEP_SLICE = 2_000
"""Objects looked at between two looks at other work, once a list is complete, for whether it brought them."""

_NAMELESS = "(without a readable name)"

_BRIEF_SECONDS = 1.0
"""A watch that ends without a word sooner than this is not opened again at once."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How a collection is followed.

    Args:
        page_size: Objects per page of a list.
        timeout_seconds: Shortest life of one watch; up to twice that, at random, so that not all end together.
        silence_seconds: A watch that brings nothing for so long is taken for dead.
        back_off: Pauses between failures; its limits on tries and deadlines do not apply.
    """

    page_size: int = PAGE_SIZE
    timeout_seconds: int = 300
    silence_seconds: float = 180.0
    back_off: Patience = field(default_factory=lambda: Patience(first_seconds=0.5, ceiling_seconds=30.0, jitter=1.0))


@dataclass(frozen=True, slots=True)
class StoreCallbacks(Generic[T]):
    """Who is told of what; each is called inside the store's task and must be quick.

    Args:
        on_change: Every object that came, changed or went, the first list included.
        on_unreadable: An object that could not be decoded, once per problem.
        on_trouble: Every failure to list or watch.
    """

    on_change: Callable[[Change[T]], None] | None = None
    on_unreadable: Callable[[InvalidObjectError], None] | None = None
    on_trouble: Callable[[Trouble], None] | None = None


@dataclass(slots=True)
class StoreCounters:
    """What happened so far, for metrics."""

    lists: int = 0
    watches: int = 0
    events: int = 0
    expired: int = 0
    unreadable: int = 0
    troubles: int = 0


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_EVENT = msgspec.json.Decoder(_Event)


class WatchedStore(Generic[T]):
    """One collection, listed once and watched from there on, for as long as ``run`` runs.

    Args:
        client: Calls to the API server.
        selection: What to follow.
        decode: See ``Decoder``.
        callbacks: Who is told of what.
        settings: Page size, time-outs, back-off.
    """

    def __init__(
        self,
        client: KubeClient,
        selection: Selection,
        decode: Decoder[T],
        callbacks: StoreCallbacks[T] | None = None,
        settings: StoreSettings | None = None,
    ) -> None:
        self.selection = selection
        self.counters = StoreCounters()
        self._client = client
        self._pacing = client.pacing
        self._decode = decode
        self._callbacks = callbacks or StoreCallbacks()
        self._settings = settings or StoreSettings()
        self._table: ObjectTable[T] = ObjectTable()
        self._synced = asyncio.Event()
        self._resume_from = ""
        self._failures = 0
        self._last_trouble: Trouble | None = None
        self._heard_at = self._pacing.monotonic()
        self._task = OwnedTask(self.run, f"watch {selection}")

    @property
    def is_synced(self) -> bool:
        """Whether a complete list has been taken in since the start."""
        return self._synced.is_set()

    @property
    def unreadable(self) -> Mapping[Key, str]:
        """Objects that exist but could not be decoded; nobody may take them for deleted."""
        return self._table.unreadable

    @property
    def version(self) -> int:
        """Counts the changes so far."""
        return self._table.version

    @property
    def last_trouble(self) -> Trouble | None:
        """The latest failure, or None while all is well."""
        return self._last_trouble

    def silent_seconds(self) -> float:
        """Time since the server last told us anything about this collection."""
        return self._pacing.monotonic() - self._heard_at

    def snapshot(self) -> tuple[T, ...]:
        """All objects as they are now; the same tuple until something changes."""
        return self._table.snapshot()

    def items(self) -> Mapping[Key, T]:
        """Read-only view that follows every change; do not keep it over an await."""
        return self._table.items()

    def find(self, key: Key) -> T | None:
        """One object by namespace and name, or None."""
        return self._table.find(key)

    def start(self) -> asyncio.Task[None]:
        """Follow the collection in a task of its own; whoever supervises the process watches the task."""
        return self._task.start()

    async def stop(self) -> None:
        """End the task that ``start`` made; raises what the task had died of."""
        await self._task.stop()

    async def wait_synced(self, seconds: float) -> None:
        """Wait for the first complete list.

        Raises:
            ApiError: It did not come in time; says why, as far as known.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._synced.wait()
        except TimeoutError:
            if self._last_trouble is not None:
                raise self._last_trouble.error from None
            raise ApiUnreachableError(
                f"{self.selection}: not completely listed by API server {self._client.server} within {seconds:g} s; "
                "look at the server's load, or allow more time"
            ) from None

    async def run(self) -> None:
        """List, then watch, for ever; failures are reported, paused for and tried again."""
        while True:
            try:
                await self._list()
                await self._follow()
            except ApiError as error:
                await self._pause_after(error)

    async def _list(self) -> None:
        """Take in the whole collection, and forget what it no longer holds."""
        self.counters.lists += 1
        async for page in self._client.pages(self.selection, self._settings.page_size):
            if page.number == 0:
                self._table.begin_list()
            for start in range(0, len(page.items), _SLICE):
                # Also before the first slice: to cut a page into its objects takes as long as to take in a slice.
                await asyncio.sleep(0)
                for item in page.items[start : start + _SLICE]:
                    self._take(item)
            self._resume_from = page.resource_version
            self._heard_at = self._pacing.monotonic()
        gone: list[Key] = []
        for keys in self._table.unlisted(_SWEEP_SLICE):
            gone += keys
            await asyncio.sleep(0)
        for change in self._table.forget(gone):
            self._tell(change)
        self._last_trouble = None
        self._synced.set()

    async def _follow(self) -> None:
        """Watch from where the list ended, again and again, until the server has forgotten that place."""
        while True:
            started, events = self._pacing.monotonic(), self.counters.events
            try:
                await self._watch_once()
            except ApiError as error:
                if is_expired(error):
                    self.counters.expired += 1
                    self._failures += 1
                    # One expiry is everyday business; a list that expires at once, again and again, is not.
                    if self._failures == 1:
                        return
                if not _may_resume(error):
                    raise
                await self._pause_after(error)
                continue
            if self.counters.events == events and self._pacing.monotonic() - started < _BRIEF_SECONDS:
                await self._pacing.sleep(self._settings.back_off.pause(1, self._pacing.random()))
            else:
                self._recovered()

    async def _watch_once(self) -> None:
        self.counters.watches += 1
        lifetime = int(self._settings.timeout_seconds * (1.0 + self._pacing.random()))
        since = WatchStart(self._resume_from, lifetime, self._settings.silence_seconds)
        async with aclosing(self._client.watch(self.selection, since)) as lines:
            async for line in lines:
                self._apply(line)
                self.counters.events += 1
                self._heard_at = self._pacing.monotonic()
                if self._failures:
                    self._recovered()
                if self.counters.events % _SLICE == 0:
                    await asyncio.sleep(0)

    def _apply(self, line: bytes) -> None:
        """Take in one event of the watch."""
        try:
            event = _EVENT.decode(line)
            if event.type == "ERROR":
                raise refusal_in_stream(f"WATCH {self.selection.path}", event.object)
            if event.type in {"ADDED", "MODIFIED"}:
                self._take(event.object, from_watch=True)
                return
            key, resource_version = identity_of(event.object)
        except UNREADABLE_JSON as error:
            raise ApiUnreachableError(
                f"WATCH {self.selection.path}: API server {self._client.server} sent a line that is no event: {error}; "
                "check that no proxy in between rewrites answers"
            ) from error
        if event.type == "DELETED":
            self._tell(self._table.drop(key))
        self._resume_from = resource_version or self._resume_from

    def _take(self, body: bytes, *, from_watch: bool = False) -> None:
        """Take in the state of one object, or note that it cannot be read."""
        try:
            key, resource_version, value = self._decode(bytes(body))
        except _UNREADABLE as error:
            resource_version = self._refuse(body, error)
        else:
            self._tell(self._table.put(key, resource_version, value))
        if from_watch:
            self._resume_from = resource_version or self._resume_from

    def _refuse(self, body: bytes, error: Exception) -> str:
        """Note that an object cannot be read, and return its version."""
        problem = str(error)
        try:
            key, resource_version = identity_of(body)
        except UNREADABLE_JSON:
            key, resource_version = ("", _NAMELESS), ""
        self.counters.unreadable += 1
        is_news = self._table.unreadable.get(key) != problem
        self._tell(self._table.refuse(key, problem))
        if is_news and self._callbacks.on_unreadable is not None:
            named = _named(error, ObjectRef(self.selection.resource.kind, *key))
            named.uid = uid_of(body)
            self._callbacks.on_unreadable(named)
        return resource_version

    def _tell(self, change: Change[T] | None) -> None:
        if change is not None and self._callbacks.on_change is not None:
            self._callbacks.on_change(change)

    def _recovered(self) -> None:
        self._failures = 0
        self._last_trouble = None

    async def _pause_after(self, error: ApiError) -> None:
        self._failures += 1
        self.counters.troubles += 1
        pause = self._settings.back_off.pause(self._failures, self._pacing.random())
        if isinstance(error, ApiRefusedError) and error.retry_after_seconds is not None:
            pause = max(pause, error.retry_after_seconds)
        self._last_trouble = Trouble(self.selection, explain(self.selection, error), self._failures, pause)
        if self._callbacks.on_trouble is not None:
            self._callbacks.on_trouble(self._last_trouble)
        await self._pacing.sleep(pause)


def _named(error: Exception, ref: ObjectRef) -> InvalidObjectError:
    """The error as one that names its object."""
    if isinstance(error, InvalidObjectError):
        return error
    return InvalidObjectError(ref, f"cannot be read: {error}", remedy="it is left out until it is corrected")


def _may_resume(error: ApiError) -> bool:
    """Say whether the place in the watch is still good, so that no list is needed."""
    if not isinstance(error, ApiRefusedError):
        return True
    return error.code == TOO_MANY_REQUESTS or error.code >= 500
