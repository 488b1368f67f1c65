"""Garbage collection: what all owners of have gone goes too, before its last owner or after it, unless it is freed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evenkeel.simulator.api.builtin import DEFINITIONS, METRICS
from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, rows, text, texts
from evenkeel.simulator.api.kinds import GroupResource, Kind
from evenkeel.simulator.api.propagation import Propagation, propagation_of
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.api.writes import Modify
from evenkeel.simulator.controllers.pod_state import is_going
from evenkeel.simulator.controllers.reconciler import Reconciler

_SEPARATOR = "/"


class GarbageCollector(Reconciler):
    """Deletes objects that have owners, none of which stays.

    An owner that is to go last counts as gone for what it owns, and goes once all that blocks it has gone. An owner
    that is to leave what it owns alone goes once all of that is free of it.

    Its keys are a resource, written as one word, in the first place, and namespace and name in the second.
    """

    component: ClassVar[str] = "generic-garbage-collector"

    def start(self) -> None:
        """Follow everything that is stored, also kinds that are defined later."""
        self._followed: dict[GroupResource, Kind] = {}
        self._living: set[str] = set()
        self._waiting: dict[str, Key] = {}
        self._dependents: dict[str, dict[Key, None]] = {}
        self._follow_kinds()
        self._stops.append(self.context.versions.observe(DEFINITIONS, lambda _: self._follow_kinds()))

    async def reconcile(self, key: Key) -> None:
        """Do with an object what its deletion, or that of its owners, calls for.

        Raises:
            StatusError: The API server refused it.
        """
        found = self._read(key)
        if found is None:
            return
        kind, stored = found
        if not is_going(stored.body):
            await self._judge(kind, stored)
            return
        propagation = propagation_of(finalizers_of(stored.body))
        if propagation is Propagation.ORPHAN:
            await self._free(kind, stored)
        elif propagation is Propagation.FOREGROUND:
            await self._wait(kind, stored)

    async def _judge(self, kind: Kind, stored: Stored) -> None:
        """Delete an object if it has owners and none of them stays; else let it forget those that do not."""
        owners = _owner_uids(stored.body)
        lost = [uid for uid in owners if uid not in self._living or uid in self._waiting]
        if not lost:
            return
        if len(lost) < len(owners):
            await self.actor.modify(kind, stored, _without(lost))
            return
        is_waited_for = any(uid in self._waiting for uid in lost)
        owns = stored.uid in self._dependents
        first = Propagation.FOREGROUND if is_waited_for and owns else propagation_of(finalizers_of(stored.body))
        await self.actor.delete(kind, stored, first)

    async def _free(self, kind: Kind, stored: Stored) -> None:
        """Let all that an object owns forget it, and the object go."""
        for dependent in self._owned_by(stored):
            await self.actor.modify(*dependent, _without([stored.uid]))
        await self.actor.modify(kind, stored, _released(Propagation.ORPHAN))

    async def _wait(self, kind: Kind, stored: Stored) -> None:
        """Have all that an object owns deleted, and let the object go when nothing blocks it any more."""
        if not any(_blocks(dependent.body, stored.uid) for _, dependent in self._owned_by(stored)):
            await self.actor.modify(kind, stored, _released(Propagation.FOREGROUND))
            return
        for key in sorted(self._dependents[stored.uid]):
            found = self._read(key)
            if found is not None and not is_going(found[1].body):
                self.mark(key)

    def _owned_by(self, stored: Stored) -> list[tuple[Kind, Stored]]:
        """Return what an object owns."""
        found = (self._read(key) for key in sorted(self._dependents.get(stored.uid, {})))
        return [one for one in found if one is not None]

    def _follow_kinds(self) -> None:
        """Follow the kinds that are not followed yet."""
        for kind in sorted(self.context.server.registry.all(), key=lambda kind: kind.resource):
            if kind.resource in self._followed or kind.view is not None or kind.group == METRICS:
                continue
            self._followed[kind.resource] = kind
            with self.context.versions.lock:
                for stored in self.context.versions.snapshot(kind.resource):
                    self._take_in(kind.resource, stored, None)
                self._stops.append(self.context.versions.observe(kind.resource, self._observer(kind.resource)))

    def _observer(self, resource: GroupResource) -> _Observer:
        """Return what is called with every change of a kind."""
        return _Observer(self, resource)

    def observe(self, resource: GroupResource, change: Change) -> None:
        """Take one change in, and mark what may have lost its last owner by it."""
        if change.type is not ChangeType.DELETED:
            self._take_in(resource, change.after, change.before)
            return
        key = _key(resource, change.after)
        for uid in _owner_uids(change.after.body):
            self._drop(uid, key)
            self._tell(uid)
        self._living.discard(change.after.uid)
        self._waiting.pop(change.after.uid, None)
        for dependent in sorted(self._dependents.get(change.after.uid, {})):
            self.mark(dependent)

    def _take_in(self, resource: GroupResource, stored: Stored, before: Stored | None) -> None:
        """Note an object, whom it belongs to, and how it goes."""
        self._living.add(stored.uid)
        key = _key(resource, stored)
        self._take_in_deletion(stored, key)
        owners, former = _owner_uids(stored.body), _owner_uids(before.body) if before else []
        for uid in former:
            if uid not in owners:
                self._drop(uid, key)
                self._tell(uid)
        for uid in owners:
            self._tell(uid)
        if owners == former:
            return
        for uid in owners:
            self._dependents.setdefault(uid, {})[key] = None
        self.mark(key)

    def _take_in_deletion(self, stored: Stored, key: Key) -> None:
        """Note how an object goes that is being deleted."""
        propagation = propagation_of(finalizers_of(stored.body)) if is_going(stored.body) else Propagation.BACKGROUND
        if propagation is Propagation.FOREGROUND:
            self._waiting[stored.uid] = key
        else:
            self._waiting.pop(stored.uid, None)
        if propagation is not Propagation.BACKGROUND:
            self.mark(key)

    def _tell(self, uid: str) -> None:
        """Look again at an owner that waits, as something that it owns has changed."""
        if uid in self._waiting:
            self.mark(self._waiting[uid])

    def _drop(self, uid: str, key: Key) -> None:
        """Forget that something belongs to an owner."""
        kept = self._dependents.get(uid, {})
        kept.pop(key, None)
        if not kept:
            self._dependents.pop(uid, None)

    def _read(self, key: Key) -> tuple[Kind, Stored] | None:
        """Return what a key stands for, None when it has gone."""
        group, plural = key[0].split(_SEPARATOR)
        namespace, name = key[1].split(_SEPARATOR)
        kind = self._followed[GroupResource(group, plural)]
        stored = self.context.versions.read(kind.resource, (namespace, name))
        return (kind, stored) if stored is not None else None


class _Observer:
    """Tells the collector of the changes of one kind."""

    def __init__(self, collector: GarbageCollector, resource: GroupResource) -> None:
        self._collector = collector
        self._resource = resource

    def __call__(self, change: Change) -> None:
        """Pass a change on."""
        self._collector.observe(self._resource, change)


def _owner_uids(body: JsonObject) -> list[str]:
    """Return the uids of an object's owners."""
    return [text(row, "uid") for row in rows(body, "metadata", "ownerReferences")]


def finalizers_of(body: JsonObject) -> list[str]:
    """Return an object's finalizers."""
    return texts(body, "metadata", "finalizers")


def _blocks(body: JsonObject, uid: str) -> bool:
    """Say whether an owner that is to go last has to wait for an object."""
    references = rows(body, "metadata", "ownerReferences")
    return any(text(row, "uid") == uid and row.get("blockOwnerDeletion") is True for row in references)


def _without(uids: Sequence[str]) -> Modify:
    """Return the change that lets an object forget some of its owners."""

    def change(body: JsonObject) -> JsonObject:
        kept = [row for row in rows(body, "metadata", "ownerReferences") if text(row, "uid") not in uids]
        return _with_metadata(body, "ownerReferences", kept)

    return change


def _released(propagation: Propagation) -> Modify:
    """Return the change that takes the finalizer of a policy away."""

    def change(body: JsonObject) -> JsonObject:
        kept = [finalizer for finalizer in finalizers_of(body) if finalizer != propagation.finalizer]
        return _with_metadata(body, "finalizers", kept)

    return change


def _with_metadata(body: JsonObject, field: str, value: Sequence[object]) -> JsonObject:
    """Return an object with another list in its metadata, or without it where it is empty."""
    changed = copy_of(body)
    metadata = ensure(changed, "metadata")
    metadata.pop(field, None)
    if value:
        metadata[field] = list(value)
    return changed


def _key(resource: GroupResource, stored: Stored) -> Key:
    """Return the collector's key of an object."""
    return _SEPARATOR.join((resource.group, resource.plural)), _SEPARATOR.join(stored.key)
