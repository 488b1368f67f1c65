"""Garbage collection: what all owners of have gone goes too, in the background."""

from __future__ import annotations

from typing import ClassVar

from evenkeel.simulator.api.builtin import DEFINITIONS, METRICS
from evenkeel.simulator.api.fields import JsonObject, rows, text
from evenkeel.simulator.api.kinds import GroupResource, Kind
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.controllers.pod_state import is_going
from evenkeel.simulator.controllers.reconciler import Reconciler

_SEPARATOR = "/"


class GarbageCollector(Reconciler):
    """Deletes objects that have owners, none of which exists any more.

    Its keys are a resource, written as one word, in the first place, and namespace and name in the second.
    """

    component: ClassVar[str] = "generic-garbage-collector"

    def start(self) -> None:
        """Follow everything that is stored, also kinds that are defined later."""
        self._followed: dict[GroupResource, Kind] = {}
        self._living: set[str] = set()
        self._dependents: dict[str, dict[Key, None]] = {}
        self._follow_kinds()
        self._stops.append(self.context.versions.observe(DEFINITIONS, lambda _: self._follow_kinds()))

    async def reconcile(self, key: Key) -> None:
        """Delete an object if it has owners and all have gone.

        Raises:
            StatusError: The API server refused it.
        """
        found = self._read(key)
        if found is None:
            return
        kind, stored = found
        owners = _owner_uids(stored.body)
        if owners and not is_going(stored.body) and not any(uid in self._living for uid in owners):
            await self.actor.delete(kind, stored)

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
        self._living.discard(change.after.uid)
        for dependent in sorted(self._dependents.get(change.after.uid, {})):
            self.mark(dependent)

    def _take_in(self, resource: GroupResource, stored: Stored, before: Stored | None) -> None:
        """Note an object and whom it belongs to."""
        self._living.add(stored.uid)
        owners, former = _owner_uids(stored.body), _owner_uids(before.body) if before else []
        if owners == former:
            return
        key = _key(resource, stored)
        for uid in former:
            if uid not in owners:
                self._drop(uid, key)
        for uid in owners:
            self._dependents.setdefault(uid, {})[key] = None
        self.mark(key)

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


def _key(resource: GroupResource, stored: Stored) -> Key:
    """Return the collector's key of an object."""
    return _SEPARATOR.join((resource.group, resource.plural)), _SEPARATOR.join(stored.key)
