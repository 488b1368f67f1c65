"""Watch: changes of a kind as a stream, from a revision on, through selectors, with bookmarks and an end."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from autoscaling.runtime.lockstep_channel import CALL_HEADER
from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, encode
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.rendering import bookmark_kind, event_renderer
from evenkeel.simulator.api.selectors import Selection, predicate
from evenkeel.simulator.api.status import Cause, CauseType, expired, invalid
from evenkeel.simulator.api.store import Change, ChangeType, HistoryGoneError, Stored
from evenkeel.simulator.clock import EPOCH, Timer

BOOKMARK_PERIOD = timedelta(minutes=1)
SHORTEST_WATCH, LONGEST_WATCH = timedelta(minutes=30), timedelta(hours=1)
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_NEVER = datetime.max.replace(tzinfo=UTC)
_BATCH = 500
_GATHERING_ROUNDS = 16
"""Rounds of the event loop for which an event waits at most while others keep coming in every one of them."""

_EVENT_PREFIX = {change: b'{"type":"%b","object":' % change.value.encode() for change in ChangeType}


class Wakeup:
    """Wakes one stream from any thread."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._is_called = False
        self._is_waiting = False
        self._is_on_its_way = False

    @property
    def is_quiet(self) -> bool:
        """Whether the stream waits and has not been woken."""
        return self._is_waiting and not self._is_called

    def set(self) -> None:
        """Wake the stream."""
        self._is_called = True
        if threading.get_ident() == self._thread:
            self._event.set()
        elif not self._is_on_its_way and not self._loop.is_closed():
            # A thread that writes much would otherwise interrupt the loop once for each write.
            self._is_on_its_way = True
            self._loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        """Wake the stream on behalf of another thread, or of several."""
        self._is_on_its_way = False
        self._event.set()

    def clear(self) -> None:
        """Forget earlier wake-ups."""
        self._is_called = False
        self._event.clear()

    async def wait(self) -> None:
        """Wait for the next wake-up."""
        self._is_waiting = True
        try:
            await self._event.wait()
        finally:
            self._is_waiting = False


@dataclass(slots=True, eq=False)
class OpenWatch:
    """One watch of one client.

    Args:
        path: As requested.
        kind: What is watched.
        wakeup: Wakes its stream.
        cursor: Revision up to which the client knows everything.
        render: Makes the text of an event's object.
        named: Kind and apiVersion of the objects in its events.
        mark: How a client that lives by our clock calls it.
        sent: Lines handed to the connection so far.
    """

    path: str
    kind: Kind
    wakeup: Wakeup
    cursor: int
    render: Callable[[Stored], bytes]
    named: tuple[str, str]
    namespace: str = ""
    passes: Selection | None = None
    bookmarks: bool = False
    initial: list[Stored] = field(default_factory=list)
    marks_initial_end: bool = False
    deadline: datetime = _NEVER
    events_left: int | None = None
    closed_at: int | None = None
    mark: str = ""
    sent: int = 0
    is_bookmark_due: bool = False

    def close(self, revision: int) -> None:
        """End it in good order after the changes up to a revision."""
        self.closed_at = revision
        self.wakeup.set()


@dataclass(slots=True)
class Watches:
    """The watches of one server.

    Args:
        objects: What is watched.
        seed: Makes the length of watches without timeoutSeconds repeatable.
        observers: Called when a watch opens, closes, or has said all there is to say.
        bookmark_period: Time between two bookmarks, which all watches get at once.
        least_lifetime: Watches last at least so long, whatever they ask for; for long runs.
    """

    objects: ObjectStore
    seed: int = 0
    open: list[OpenWatch] = field(default_factory=list)
    observers: list[Callable[[], None]] = field(default_factory=list)
    bookmark_period: timedelta = BOOKMARK_PERIOD
    least_lifetime: timedelta = timedelta(0)
    _random: random.Random = field(init=False)
    _bookmarks: Timer | None = None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - spreads watches over time, no secret

    def active(self, plural: str = "") -> int:
        """Return how many watches are open, on one resource or all."""
        return sum(1 for watch in list(self.open) if plural in {"", watch.kind.plural})

    def close(self, path: str = "", caller: str = "") -> int:
        """End the open watches whose path a pattern finds, of one process in lock-step or all, and return how many."""
        found = [watch for watch in list(self.open) if re.search(path, watch.path)]
        chosen = [watch for watch in found if caller in {"", watch.mark.partition("/")[0]}]
        for watch in chosen:
            watch.close(self.objects.versions.revision)
        return len(chosen)

    def prepare(self, call: Call) -> OpenWatch:
        """Return the watch that a call asks for, not yet open.

        Raises:
            StatusError: A parameter cannot be read (400, 422), or the history asked for is gone (410).
        """
        target = call.target
        passes = predicate(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), target.kind.plural)
        watch = OpenWatch(
            call.request.path,
            target.kind,
            Wakeup(),
            cursor=0,
            render=event_renderer(call, self.objects.now),
            named=bookmark_kind(call),
            namespace=target.namespace,
            passes=passes,
        )
        watch.bookmarks = call.flag("allowWatchBookmarks")
        watch.mark = call.request.headers.get(CALL_HEADER.lower(), "")
        seconds = call.integer("timeoutSeconds")
        lifetime = max(timedelta(seconds=seconds), self.least_lifetime) if seconds else self._some_while()
        watch.deadline = self.objects.now() + lifetime
        with self.objects.versions.lock:
            self._start(call, watch)
        return watch

    async def stream(self, watch: OpenWatch) -> AsyncGenerator[bytes, None]:
        """Yield a watch's events until it ends or the client goes away."""
        self.open.append(watch)
        stop = self.objects.versions.observe(watch.kind.resource, lambda _: watch.wakeup.set())
        end = self.objects.clock.call_at(watch.deadline, watch.wakeup.set)
        self._plan_bookmarks()
        self._tell()
        try:
            async with aclosing(self._chunks(watch)) as chunks:
                async for chunk in chunks:
                    watch.sent += chunk.count(b"\n")
                    yield chunk
        finally:
            end.cancel()
            stop()
            self.open.remove(watch)
            self._tell()

    async def _chunks(self, watch: OpenWatch) -> AsyncGenerator[bytes, None]:
        """Yield the initial events and then what happens."""
        for start in range(0, len(watch.initial), _BATCH):
            yield b"".join(_event(watch, ChangeType.ADDED, s) for s in watch.initial[start : start + _BATCH])
        if watch.marks_initial_end:
            yield _bookmark(watch, {INITIAL_EVENTS_END: "true"})
        watch.initial = []
        while True:
            watch.wakeup.clear()
            try:
                chunk = self._news(watch)
            except HistoryGoneError:
                yield expired_event()
                return
            if chunk:
                yield chunk
            if watch.closed_at is not None or watch.events_left == 0:
                return
            is_over = self.objects.clock.now() >= watch.deadline
            if watch.bookmarks and (watch.is_bookmark_due or is_over):
                watch.is_bookmark_due = False
                yield _bookmark(watch, None)
            if is_over:
                return
            self._tell()
            await watch.wakeup.wait()
            await self._gather_more()

    async def _gather_more(self) -> None:
        """Let changes that follow one another closely go out together: sending costs more than making an event."""
        versions = self.objects.versions
        for _ in range(_GATHERING_ROUNDS):
            known = versions.revision
            await asyncio.sleep(0)
            if versions.revision == known:
                return

    def _plan_bookmarks(self) -> None:
        """Have bookmarks sent at the next multiple of their period, unless that is planned or nobody wants any."""
        with self.objects.versions.lock:
            if self._bookmarks is None and any(watch.bookmarks for watch in self.open):
                now, period = self.objects.clock.now(), self.bookmark_period
                self._bookmarks = self.objects.clock.call_at(
                    now - (now - EPOCH) % period + period, self._send_bookmarks
                )

    def _send_bookmarks(self) -> None:
        """Send every watch a bookmark that wants any: all at once, so that their clients wake once."""
        self._bookmarks = None
        for watch in list(self.open):
            if watch.bookmarks:
                watch.is_bookmark_due = True
                watch.wakeup.set()
        self._plan_bookmarks()

    def _news(self, watch: OpenWatch) -> bytes:
        """Return the events since the watch's cursor, and move that."""
        versions = self.objects.versions
        with versions.lock:
            changes = versions.changes_since(watch.kind.resource, watch.cursor)
            watch.cursor = max(watch.cursor, versions.revision)
        events = list(
            _events(watch, (c for c in changes if watch.closed_at is None or c.after.revision <= watch.closed_at))
        )
        if watch.events_left is not None:
            events = events[: watch.events_left]
            watch.events_left -= len(events)
        return b"".join(events)

    def _start(self, call: Call, watch: OpenWatch) -> None:
        """Fix where a watch starts and what it sends first."""
        versions = self.objects.versions
        wanted = call.integer("resourceVersion")
        sends_initial = not wanted if "sendInitialEvents" not in call.query else call.flag("sendInitialEvents")
        if "sendInitialEvents" in call.query and call.query.get("resourceVersionMatch") != "NotOlderThan":
            message = "Forbidden: sendInitialEvents needs resourceVersionMatch=NotOlderThan"
            raise invalid(
                call.target.kind.kind_subject(), [Cause(CauseType.FORBIDDEN, "resourceVersionMatch", message)]
            )
        if sends_initial:
            found = versions.snapshot(watch.kind.resource, watch.namespace)
            watch.initial = [s for s in found if watch.passes is None or watch.passes.finds(s)]
            watch.marks_initial_end = "sendInitialEvents" in call.query and watch.bookmarks
        watch.cursor = wanted if wanted and not sends_initial else versions.revision
        try:
            versions.changes_since(watch.kind.resource, watch.cursor)
        except HistoryGoneError:
            raise expired(f"the changes since resourceVersion {wanted} are no longer kept") from None

    def _some_while(self) -> timedelta:
        """Return how long a watch lasts that names no end."""
        return SHORTEST_WATCH + (LONGEST_WATCH - SHORTEST_WATCH) * self._random.random()

    def _tell(self) -> None:
        """Tell whoever waits for watches to open or close."""
        for observer in list(self.observers):
            observer()


def _events(watch: OpenWatch, changes: Iterable[Change]) -> Iterator[bytes]:
    """Yield changes as a watch with a namespace and selectors sees them."""
    for change in changes:
        if watch.namespace and change.after.key[0] != watch.namespace:
            continue
        seen = _seen(watch, change)
        if seen is not None:
            yield _event(watch, *seen)


def _seen(watch: OpenWatch, change: Change) -> tuple[ChangeType, Stored] | None:
    """Return a change as it looks through selectors: objects come and go as they begin and cease to match."""
    if watch.passes is None:
        return change.type, change.after
    before = change.before is not None and watch.passes.finds(change.before)
    after = change.type is not ChangeType.DELETED and watch.passes.finds(change.after)
    if after:
        return (ChangeType.MODIFIED if before else ChangeType.ADDED), change.after
    if before and change.before is not None:
        return ChangeType.DELETED, change.before.at_revision(change.after.revision)
    return None


def _event(watch: OpenWatch, change: ChangeType, stored: Stored) -> bytes:
    """Return one event as a line."""
    return b"%b%b}\n" % (_EVENT_PREFIX[change], watch.render(stored))


def _bookmark(watch: OpenWatch, annotations: dict[str, str] | None) -> bytes:
    """Return a bookmark: kind and revision only."""
    metadata: JsonObject = {"resourceVersion": str(watch.cursor), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    kind, api_version = watch.named
    shown = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
    return encode({"type": "BOOKMARK", "object": shown}) + b"\n"


def expired_event() -> bytes:
    """Return the event that tells a client to list again."""
    status = expired("the changes since the last event are no longer kept; list again").body()
    return encode({"type": "ERROR", "object": status}) + b"\n"
