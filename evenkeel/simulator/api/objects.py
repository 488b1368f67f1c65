"""Whole objects over the versioned store: identity, generations, and the form that each version shows.

This is what tests and simulated controllers write through directly; it checks nothing that only the HTTP surface
checks (admission, validation, permissions).
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import cache

from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, encode, ensure, number, text
from evenkeel.simulator.api.kinds import Kind, KindRegistry
from evenkeel.simulator.api.merging import merge_patch
from evenkeel.simulator.api.status import StatusError, already_exists, bad_request, conflict, not_found
from evenkeel.simulator.api.store import Key, Store, Stored, WriteConflictError
from evenkeel.simulator.clock import Clock, rfc3339

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_NOT_SPEC = ("metadata", "status")


class ObjectStore:
    """Create, read, update and delete objects given whole, with kind and apiVersion.

    Args:
        registry: The kinds that exist.
        clock: Gives creationTimestamp.
        store: Where the objects lie.
        set_defaults: Gives an object written directly the defaults of its kind, which real servers add on reading.
        seed: Makes uids and generated names repeatable.
    """

    def __init__(
        self,
        registry: KindRegistry,
        clock: Clock,
        store: Store,
        *,
        set_defaults: Callable[[Kind, JsonObject], object],
        seed: int = 0,
    ) -> None:
        self.registry = registry
        self.clock = clock
        self.versions = store
        self._set_defaults = set_defaults
        self._random = random.Random(seed)  # noqa: S311 - names and ids of a simulation, no secrets

    def create(self, obj: JsonObject) -> JsonObject:
        """Store a new object and return it as stored; uid, times and generation are filled in where absent.

        Raises:
            StatusError: Its kind is not served, or an object of that name exists.
        """
        kind = self.kind_of(obj)
        return self.shown(kind, self.insert(kind, self._completed(kind, copy_of(obj))))

    def update(self, obj: JsonObject) -> JsonObject:
        """Replace an object, spec and status alike, and return it; a resourceVersion in it must be the present one.

        Raises:
            StatusError: It does not exist, or the resourceVersion is out of date.
        """
        kind = self.kind_of(obj)
        with self.versions.lock:
            current = self.existing(kind, self._key(kind, obj))
            wanted = text(obj, "metadata", "resourceVersion")
            if wanted and wanted != str(current.revision):
                why = f"its resourceVersion is not {wanted} any more"
                raise conflict(kind.subject(text(obj, "metadata", "name")), why)
            return self.shown(kind, self.replace(kind, self._completed(kind, copy_of(obj)), current))

    def merge(self, obj: JsonObject) -> JsonObject:
        """Merge a partial object, which names apiVersion, kind and metadata, into the stored one and return that.

        Raises:
            StatusError: It does not exist.
        """
        kind = self.kind_of(obj)
        with self.versions.lock:
            current = self.existing(kind, self._key(kind, obj))
            merged = as_object(merge_patch(self.shown(kind, current), copy_of(obj)))
            return self.shown(kind, self.replace(kind, self._completed(kind, merged), current))

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "") -> JsonObject:
        """Remove an object at once, whatever its finalizers, and return its last state.

        Raises:
            StatusError: It does not exist.
        """
        found = self._served(api_version, kind)
        removed = self.versions.remove(found.resource, (namespace, name))
        if removed is None:
            raise not_found(found.subject(name))
        return self.shown(found, removed)

    def read(self, api_version: str, kind: str, name: str, namespace: str = "") -> JsonObject:
        """Return an object.

        Raises:
            StatusError: It does not exist.
        """
        found = self._served(api_version, kind)
        return self.shown(found, self.existing(found, (namespace, name)))

    def find(self, api_version: str, kind: str, name: str, namespace: str = "") -> JsonObject | None:
        """Return an object, None when it does not exist."""
        found = self._served(api_version, kind)
        stored = self.versions.read(found.resource, (namespace, name))
        return self.shown(found, stored) if stored else None

    def list(self, api_version: str, kind: str, namespace: str = "") -> list[JsonObject]:
        """Return all objects of a kind, of one namespace if given, by namespace and name."""
        found = self._served(api_version, kind)
        return [self.shown(found, stored) for stored in self.versions.snapshot(found.resource, namespace)]

    def kind_of(self, obj: JsonObject) -> Kind:
        """Return the kind that an object names.

        Raises:
            StatusError: No such kind is served.
        """
        return self._served(text(obj, "apiVersion"), text(obj, "kind"))

    def existing(self, kind: Kind, key: Key) -> Stored:
        """Return the stored state of an object.

        Raises:
            StatusError: It does not exist.
        """
        stored = self.versions.read(kind.resource, key)
        if stored is None:
            raise not_found(kind.subject(key[1]))
        return stored

    def insert(self, kind: Kind, body: JsonObject) -> Stored:
        """Store a new body, which becomes the store's own, filling in what identifies it.

        Raises:
            StatusError: An object of that name exists.
        """
        self.identify(kind, body)
        try:
            return self.versions.put(kind.resource, body, expected=None)
        except WriteConflictError:
            raise already_exists(kind.subject(text(body, "metadata", "name"))) from None

    def replace(self, kind: Kind, body: JsonObject, current: Stored) -> Stored:
        """Store a changed body over the state it was made from; a body that changes nothing writes nothing.

        Raises:
            StatusError: The object has changed meanwhile.
        """
        self.carry_over(kind, body, current)
        if body == current.body:
            return current
        try:
            return self.versions.put(kind.resource, body, expected=current)
        except WriteConflictError:
            why = "it has changed since it was read; read it again and repeat the change"
            raise conflict(kind.subject(text(body, "metadata", "name")), why) from None

    def identify(self, kind: Kind, body: JsonObject) -> None:
        """Give a new body its namespace, uid, time and generation where absent."""
        metadata = ensure(body, "metadata")
        if not kind.namespaced:
            metadata.pop("namespace", None)
        elif not metadata.get("namespace"):
            metadata["namespace"] = "default"
        metadata.setdefault("uid", self.new_uid())
        if "creationTimestamp" not in metadata:
            metadata["creationTimestamp"] = rfc3339(self.clock.now())
        if kind.generation:
            metadata.setdefault("generation", 1)

    def carry_over(self, kind: Kind, body: JsonObject, current: Stored) -> None:
        """Give a changed body the identity of its predecessor, and the generation that its changes call for."""
        metadata, before = ensure(body, "metadata"), child(current.body, "metadata")
        for field in ("namespace", "uid", "creationTimestamp"):
            if field in before:
                metadata[field] = before[field]
        metadata["resourceVersion"] = str(current.revision)
        if not kind.generation:
            return
        held = number(before, "generation", default=1)
        if metadata.get("generation", held) == held:
            metadata["generation"] = held + int(spec_differs(body, current.body))

    def shown(self, kind: Kind, stored: Stored) -> JsonObject:
        """Return a copy of an object as a version shows it."""
        body = stored.copy()
        return {"kind": kind.kind, "apiVersion": kind.api_version} | (
            kind.view.from_stored(body) if kind.view else body
        )

    def new_uid(self) -> str:
        """Return a fresh uid."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def generated_name(self, prefix: str) -> str:
        """Return a name that begins with a prefix."""
        return prefix[:58] + "".join(self._random.choices(_SUFFIX_ALPHABET, k=5))

    def now(self) -> datetime:
        """Return the present moment."""
        return self.clock.now()

    def _served(self, api_version: str, kind: str) -> Kind:
        """Return a kind by the names objects use."""
        found = self.registry.named(api_version, kind)
        if found is None:
            raise _unknown_kind(api_version, kind)
        return found

    def _completed(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """Return an object, which is written into, in stored form with the defaults of its kind."""
        body = _bare(kind, obj)
        self._set_defaults(kind, body)
        return body

    def _key(self, kind: Kind, obj: JsonObject) -> Key:
        """Return where an object given whole is stored."""
        namespace = (text(obj, "metadata", "namespace") or "default") if kind.namespaced else ""
        return namespace, text(obj, "metadata", "name")


def _unknown_kind(api_version: str, kind: str) -> StatusError:
    """Refuse a kind that is not served."""
    return bad_request(f"kind {kind!r} of {api_version!r} is not served; create its CustomResourceDefinition first")


def stored_form(kind: Kind, obj: JsonObject) -> JsonObject:
    """Return a copy of an object in the form it is stored in: without kind and apiVersion."""
    return _bare(kind, copy_of(obj))


def _bare(kind: Kind, obj: JsonObject) -> JsonObject:
    """Return the same of an object that may be written into."""
    body = {key: value for key, value in obj.items() if key not in {"kind", "apiVersion"}}
    return kind.view.to_stored(body) if kind.view else body


def spec_differs(new: JsonObject, old: JsonObject) -> bool:
    """Say whether anything but metadata and status differs."""
    return {k: v for k, v in new.items() if k not in _NOT_SPEC} != {k: v for k, v in old.items() if k not in _NOT_SPEC}


def shown_raw(kind: Kind, stored: Stored, *, typed: bool = True) -> bytes:
    """Return an object as JSON text, with its kind and apiVersion unless it stands in a typed list."""
    raw = encode(kind.view.from_stored(stored.body)) if kind.view else stored.raw()
    return _type_prefix(kind.kind, kind.api_version) + raw[1:] if typed else raw


@cache
def _type_prefix(kind: str, api_version: str) -> bytes:
    """Return how the JSON text of an object begins that names its kind and apiVersion."""
    return b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), api_version.encode())
