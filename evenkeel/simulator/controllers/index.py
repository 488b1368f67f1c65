"""Objects of one kind by the object that controls them, kept up to date with every write."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, rows, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.store import Change, ChangeType, Key, Store, Stored


def controller_of(body: JsonObject) -> JsonObject | None:
    """Return the owner reference of the object that controls another one, None when nothing does."""
    return next((row for row in rows(body, "metadata", "ownerReferences") if row.get("controller") is True), None)


def controller_uid(body: JsonObject) -> str:
    """Return the uid of the object that controls another one, empty when nothing does."""
    reference = controller_of(body)
    return text(reference, "uid") if reference else ""


class ControlledIndex:
    """Finds what an object controls without looking at everything.

    Args:
        versions: The store.
        resource: The kind that is found.
    """

    def __init__(self, versions: Store, resource: GroupResource) -> None:
        self._versions = versions
        self._resource = resource
        self._by_controller: dict[str, dict[Key, Stored]] = {}
        self._free: dict[str, dict[Key, Stored]] = {}

    def start(self) -> None:
        """Take in what is there, and follow it from now on."""
        with self._versions.lock:
            for stored in self._versions.snapshot(self._resource):
                self._place(stored)[stored.key] = stored
            self._versions.observe(self._resource, self._follow)

    def controlled_by(self, uid: str) -> list[Stored]:
        """Return the objects with that controller, by namespace and name."""
        with self._versions.lock:
            return _sorted(self._by_controller.get(uid))

    def uncontrolled(self, namespace: str) -> list[Stored]:
        """Return the objects of a namespace that nothing controls, by name."""
        with self._versions.lock:
            return _sorted(self._free.get(namespace))

    def _follow(self, change: Change) -> None:
        """Take one write in."""
        if change.before is not None:
            self._take_out(change.before)
        if change.type is not ChangeType.DELETED:
            self._place(change.after)[change.after.key] = change.after

    def _place(self, stored: Stored) -> dict[Key, Stored]:
        """Return where an object is kept."""
        uid = controller_uid(stored.body)
        return self._by_controller.setdefault(uid, {}) if uid else self._free.setdefault(stored.key[0], {})

    def _take_out(self, stored: Stored) -> None:
        """Forget a version, and its place when that has become empty."""
        uid = controller_uid(stored.body)
        places, name = (self._by_controller, uid) if uid else (self._free, stored.key[0])
        place = places.get(name, {})
        place.pop(stored.key, None)
        if not place:
            places.pop(name, None)


def _sorted(place: dict[Key, Stored] | None) -> list[Stored]:
    """Return the objects of one place by namespace and name."""
    return [place[key] for key in sorted(place)] if place else []
