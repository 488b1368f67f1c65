"""The versioned store: one growing revision over all kinds, and a window of changes per kind for watchers.

What is stored is never changed in place: every write puts a new body there, so that readers, watchers and snapshots
may keep what they were given. Calls may come from any thread; observers run in the writing thread.
"""

from __future__ import annotations

import bisect
import heapq
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from evenkeel.simulator.api.fields import JsonObject, as_object, child, decode, encode
from evenkeel.simulator.api.kinds import GroupResource

DEFAULT_HISTORY = 10_000
"""Changes kept per kind unless told otherwise."""

DEFAULT_WARM = 5_000
"""Bodies kept as objects because they were read, unless told otherwise."""

_WARM_FROM_WRITING = 32

Key = tuple[str, str]
"""Namespace and name; the namespace is empty for cluster-wide kinds."""


class ChangeType(StrEnum):
    """What happened to an object, in the words of the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Warm:
    """The few bodies written last, and more of those read last, as objects; of all others only the JSON text is kept.

    Text needs a fifth of the memory, the garbage collector does not walk through it, and lists and watches send it.
    Most versions are not looked at again once they are written, so that being written alone keeps none for long.

    Args:
        limit: Bodies kept as objects because they were read.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._written: deque[Stored] = deque()
        self._read: deque[Stored] = deque()

    def keep_written(self, stored: Stored) -> None:
        """Keep a new body as objects for a while, in place of the one that has been kept longest."""
        self._written.append(stored)
        while len(self._written) > _WARM_FROM_WRITING:
            self._written.popleft().cool()

    def keep_read(self, stored: Stored) -> None:
        """Likewise for a body that was read again from its text."""
        self._read.append(stored)
        while len(self._read) > max(1, self.limit):
            self._read.popleft().cool()


class Stored:
    """One version of one object: its body without kind and apiVersion, as objects, as JSON text, or both.

    Args:
        body: Becomes its own.
        revision: When it was written.
        warm: Decides how long the body stays in memory as objects; for as long as this version itself without it.

    Attributes:
        key: Namespace and name.
        uid: The object's uid.
    """

    __slots__ = ("_body", "_raw", "_warm", "key", "revision", "uid")

    def __init__(self, body: JsonObject, revision: int, warm: Warm | None = None) -> None:
        metadata = child(body, "metadata")
        self.key: Key = (sys.intern(_string(metadata.get("namespace"))), _string(metadata.get("name")))
        self.uid = _string(metadata.get("uid"))
        self.revision = revision
        self._body: JsonObject | None = body
        self._raw: bytes | None = None
        self._warm = warm

    @property
    def body(self) -> JsonObject:
        """The content; not for writing into."""
        body = self._body
        if body is None:
            body = self._body = self.copy()
            if self._warm is not None:
                self._warm.keep_read(self)
        return body

    @property
    def body_at_hand(self) -> JsonObject | None:
        """The content if it is there as objects, None if it would have to be read from its text."""
        return self._body

    def raw(self) -> bytes:
        """Return the body as JSON text."""
        raw = self._raw
        if raw is None:
            raw = self._raw = encode(self._body)
        return raw

    def copy(self) -> JsonObject:
        """Return the body for writing into."""
        return as_object(decode(self.raw()))

    def cool(self) -> None:
        """Keep the text only."""
        self.raw()
        self._body = None

    def retire(self) -> None:
        """Keep the text only if it is there already: there is a newer version now."""
        if self._raw is not None and self._warm is not None:
            self._body = None

    def at_revision(self, revision: int) -> Stored:
        """Return the same content under another revision."""
        metadata = {**child(self.body, "metadata"), "resourceVersion": str(revision)}
        return Stored({**self.body, "metadata": metadata}, revision, self._warm)


@dataclass(frozen=True, slots=True)
class Change:
    """One write: ``after`` is the new state, for a deletion the last state under the deletion's revision."""

    type: ChangeType
    before: Stored | None
    after: Stored


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a kind's objects.

    Args:
        namespace: Only of this one; empty for all.
        revision: As they were then; None for now.
        after: Only what comes later in the order of namespace and name; None for all.
    """

    namespace: str = ""
    revision: int | None = None
    after: Key | None = None

    def holds(self, key: Key) -> bool:
        """Say whether an object would be in it, whenever it existed."""
        return self.namespace in {"", key[0]} and (self.after is None or key > self.after)


class HistoryGoneError(Exception):
    """The changes since that revision are no longer kept."""


class WriteConflictError(Exception):
    """The object is not at the revision that the writer presumed, or exists, or does not exist."""


@dataclass(slots=True)
class _Collection:
    """All objects of one kind."""

    objects: dict[Key, Stored] = field(default_factory=dict)
    order: list[Key] = field(default_factory=list)
    history: deque[Change] = field(default_factory=deque)
    compacted: int = 0
    observers: list[Callable[[Change], None]] = field(default_factory=list)


class Store:
    """Objects of all kinds with their recent history.

    Args:
        history_limit: Changes kept per kind; settable at any time, it takes effect at the next write or trim.
        warm_limit: Bodies kept as objects because they were read, over all kinds.
    """

    def __init__(self, history_limit: int = DEFAULT_HISTORY, warm_limit: int = DEFAULT_WARM) -> None:
        self.history_limit = history_limit
        self._warm = Warm(warm_limit)
        self.revision = 1
        self.lock = threading.RLock()
        self._collections: dict[GroupResource, _Collection] = {}

    def read(self, resource: GroupResource, key: Key) -> Stored | None:
        """Return the present state of one object."""
        return self._collection(resource).objects.get(key)

    def put(self, resource: GroupResource, body: JsonObject, *, expected: Stored | None) -> Stored:
        """Write a body, which becomes the store's own, over the version that the writer has seen.

        Args:
            resource: Where.
            body: The whole new state without kind and apiVersion; gets its resourceVersion here.
            expected: What the writer believes to be there; None for a new object.

        Raises:
            WriteConflictError: Something else is there.
        """
        with self.lock:
            collection = self._collection(resource)
            after = Stored(body, self.revision + 1, self._warm)
            key = after.key
            before = collection.objects.get(key)
            if before is not expected:
                raise WriteConflictError
            self.revision += 1
            child(body, "metadata")["resourceVersion"] = str(self.revision)
            collection.objects[key] = after
            if before is None:
                bisect.insort(collection.order, key)
            self._record(collection, Change(ChangeType.MODIFIED if before else ChangeType.ADDED, before, after))
            self._warm.keep_written(after)
            if before is not None:
                before.retire()
            return after

    def remove(self, resource: GroupResource, key: Key, *, expected: Stored | None = None) -> Stored | None:
        """Delete an object; returns its last state under the deletion's revision, None when it is not there.

        Raises:
            WriteConflictError: It is not in the expected state.
        """
        with self.lock:
            collection = self._collection(resource)
            before = collection.objects.get(key)
            if before is None:
                return None
            if expected is not None and before is not expected:
                raise WriteConflictError
            self.revision += 1
            del collection.objects[key]
            del collection.order[bisect.bisect_left(collection.order, key)]
            after = before.at_revision(self.revision)
            self._record(collection, Change(ChangeType.DELETED, before, after))
            self._warm.keep_written(after)
            return after

    def snapshot(self, resource: GroupResource, namespace: str = "", revision: int | None = None) -> list[Stored]:
        """Return all objects by namespace and name, of one namespace if given, now or as of a revision.

        Raises:
            HistoryGoneError: That revision lies before the kept history.
        """
        with self.lock:
            return list(self.browse(resource, Part(namespace, revision))[0])

    def browse(self, resource: GroupResource, part: Part) -> tuple[Iterator[Stored], int]:
        """Go through objects by namespace and name, and tell how many there are.

        The lock must be held for as long as the iterator is used. Reading only the first of many objects costs
        no more than these, so that the pages of a long list do not get dearer with its length.

        Raises:
            HistoryGoneError: The revision lies before the kept history.
        """
        collection = self._collection(resource)
        order, objects = collection.order, collection.objects
        places = _within(order, part)
        past = {} if part.revision is None else self._undone(resource, part.revision)
        if not past:
            return map(objects.__getitem__, map(order.__getitem__, places)), len(places)
        before = {key: stored for key, stored in past.items() if stored is not None and part.holds(key)}
        count = len(places) - sum(key in objects and part.holds(key) for key in past) + len(before)
        unchanged = (order[place] for place in places if order[place] not in past)
        keys = heapq.merge(unchanged, sorted(before))
        return (before[key] if key in before else objects[key] for key in keys), count

    def changes_since(self, resource: GroupResource, revision: int) -> list[Change]:
        """Return the changes after a revision, oldest first.

        Raises:
            HistoryGoneError: Some of them are no longer kept.
        """
        with self.lock:
            collection = self._collection(resource)
            if revision < collection.compacted:
                raise HistoryGoneError
            newer: list[Change] = []
            for change in reversed(collection.history):
                if change.after.revision <= revision:
                    break
                newer.append(change)
            newer.reverse()
            return newer

    def observe(self, resource: GroupResource, observer: Callable[[Change], None]) -> Callable[[], None]:
        """Call back after each change of a kind, in the writing thread; returns how to stop that."""
        with self.lock:
            observers = self._collection(resource).observers
            observers.append(observer)

        def stop() -> None:
            with self.lock:
                if observer in observers:
                    observers.remove(observer)

        return stop

    def compact(self, resources: Iterable[GroupResource] | None = None) -> None:
        """Throw the history away, of all kinds or some: what was read before now can no longer be followed."""
        with self.lock:
            for resource in list(self._collections) if resources is None else resources:
                collection = self._collection(resource)
                collection.history.clear()
                self.revision += 1
                collection.compacted = self.revision

    def count(self, resource: GroupResource) -> int:
        """Return how many objects of a kind exist."""
        return len(self._collection(resource).objects)

    def _collection(self, resource: GroupResource) -> _Collection:
        """Return the place of a kind, made on first use."""
        found = self._collections.get(resource)
        if found is None:
            found = self._collections.setdefault(resource, _Collection())
        return found

    def _undone(self, resource: GroupResource, revision: int) -> dict[Key, Stored | None]:
        """Return what every object that has changed since a revision was then; None where it was not there."""
        past: dict[Key, Stored | None] = {}
        for change in reversed(self.changes_since(resource, revision)):
            past[change.after.key] = change.before
        return past

    def _record(self, collection: _Collection, change: Change) -> None:
        """Keep a change, forget those beyond the window, and tell the observers."""
        collection.history.append(change)
        limit = max(0, self.history_limit)
        while len(collection.history) > limit:
            collection.compacted = collection.history.popleft().after.revision
        for observer in list(collection.observers):
            observer(change)


def _string(value: object) -> str:
    """Return a string, empty when it is anything else."""
    return value if isinstance(value, str) else ""


def _within(order: list[Key], part: Part) -> range:
    """Return the places of a part's keys, as far as they exist now."""
    start, end = 0, len(order)
    if part.namespace:
        start = bisect.bisect_left(order, (part.namespace, ""))
        end = bisect.bisect_left(order, (part.namespace + "\0", ""))
    if part.after is not None:
        start = max(start, bisect.bisect_right(order, part.after))
    return range(start, max(start, end))
