"""Create, update and patch: the path of an object from the wire into the store."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import jsonpatch
import jsonpointer

from evenkeel.simulator.api.admission import Webhooks
from evenkeel.simulator.api.admission_request import Operation, Review
from evenkeel.simulator.api.builtin import NAMESPACES
from evenkeel.simulator.api.calls import Call, Target, refuse_mismatch
from evenkeel.simulator.api.codec import PatchType, read_patch
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, ensure, rows, text, texts
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.merging import merge_patch, strategic_merge
from evenkeel.simulator.api.objects import ObjectStore, stored_form
from evenkeel.simulator.api.ownership import UPDATE, Entries, Manager, Write, settled, update_entries
from evenkeel.simulator.api.policies import Policies
from evenkeel.simulator.api.reading import read_typed
from evenkeel.simulator.api.status import (
    Cause,
    CauseType,
    StatusError,
    UndecodableError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
    unprocessable,
)
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.strategies import Strategy
from evenkeel.simulator.clock import rfc3339

PATCH_ATTEMPTS = 5
"""How often a patch without a resourceVersion is repeated against a newer state."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LOOSE_NAMES = "rbac.authorization.k8s.io"
_SERVER_OWNED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_LONGEST_MANAGER = 128
_BAD_PATCH = "the JSON patch does not fit the object"

Modify = Callable[[JsonObject], JsonObject]
"""Turns the object as it is shown into the object as it is wanted."""


@dataclass(slots=True)
class Writer:
    """Writes of one server.

    Args:
        objects: Where objects are stored.
        webhooks: Asked about every write.
        strategies: What each kind does to its objects.
        policies: The admission that is built in.
    """

    objects: ObjectStore
    webhooks: Webhooks
    strategies: Callable[[Kind], Strategy]
    policies: Policies

    async def create(self, call: Call) -> Stored:
        """Store the object in the body of a call.

        Raises:
            StatusError: The object, a webhook or the state of the store forbids it.
        """
        return await self.insert(call, call.object(), None)

    async def insert(self, call: Call, obj: JsonObject, entries: Entries | None) -> Stored:
        """Store a new object, whose managedFields may be decided already.

        Raises:
            StatusError: The object, a webhook or the state of the store forbids it.
        """
        kind, body = call.target.kind, stored_form(call.target.kind, fit_to_path(call.target, obj))
        metadata = ensure(body, "metadata")
        if metadata.get("resourceVersion"):
            raise bad_request("a new object cannot have a resourceVersion; leave metadata.resourceVersion out")
        for field in _SERVER_OWNED:
            metadata.pop(field, None)
        strategy = self.strategies(kind)
        self._set_defaults(call, strategy, body)
        self._check_namespace(call)
        owned = update_entries(kind, None, body, self._write_of(call)) if entries is None else entries
        body = await self._mutated(call, Operation.CREATE, body, None)
        metadata = ensure(body, "metadata")
        if kind.generation:
            metadata["generation"] = 1
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self.objects.generated_name(text(metadata, "generateName"))
        self.objects.identify(kind, body)
        strategy.prepare_create(body)
        _set_entries(body, owned, None)
        causes = _name_causes(kind, metadata) + strategy.validate_create(body)
        if causes:
            raise invalid(kind.kind_subject(text(metadata, "name")), causes)
        self.policies.check(call, Operation.CREATE, body)
        await self.webhooks.validate(self._review(call, Operation.CREATE, body, None))
        self.policies.charge(call, body, None)
        if not call.dry_run:
            return self.objects.insert(kind, body)
        if self.objects.versions.read(kind.resource, (text(metadata, "namespace"), text(metadata, "name"))):
            raise already_exists(kind.subject(text(metadata, "name")))
        return Stored(body, 0)

    async def update(self, call: Call) -> Stored:
        """Replace an object by the one in the body of a call.

        Raises:
            StatusError: The object, a webhook or the state of the store forbids it.
        """
        obj = fit_to_path(call.target, call.object())
        return await self.modify(
            call, lambda _: obj, attempts=1 if text(obj, "metadata", "resourceVersion") else PATCH_ATTEMPTS
        )

    async def patch(self, call: Call) -> Stored:
        """Apply the patch in the body of a call.

        Raises:
            StatusError: The patch, a webhook or the state of the store forbids it.
        """
        modify = patch_of(call)

        def attempt(current: JsonObject) -> JsonObject:
            patched = modify(copy_of(current))
            for field in ("apiVersion", "kind"):
                patched.setdefault(field, current[field])
            return patched

        try:
            return await self.modify(call, attempt, attempts=PATCH_ATTEMPTS)
        except UndecodableError as error:
            raise error.in_patch(call.target.kind.kind_subject(call.target.name)) from None

    async def modify(self, call: Call, change: Modify, *, attempts: int) -> Stored:
        """Change an object, again from its newest state when it was written meanwhile.

        Raises:
            StatusError: The change, a webhook or the state of the store forbids it.
        """
        while True:
            attempts -= 1
            current = self.objects.existing(call.target.kind, call.target.key)
            wanted = change(self.objects.shown(call.target.kind, current))
            refuse_stale(call, wanted, current)
            try:
                return await self.write(call, wanted, current, None)
            except StatusError as error:
                if not attempts or error.reason != "Conflict" or not self.is_outdated(call, current):
                    raise

    async def write(self, call: Call, wanted: JsonObject, current: Stored, entries: Entries | None) -> Stored:
        """Take one changed object through defaults, webhooks and validation into the store.

        Args:
            call: The call.
            wanted: The object as the client wants it.
            current: The state it was made from.
            entries: Its managedFields if they are decided already.

        Raises:
            StatusError: The object, a webhook or the state of the store forbids it.
        """
        kind, subresource = call.target.kind, call.target.subresource
        strategy, body = self.strategies(kind), stored_form(kind, fit_to_path(call.target, wanted))
        self._set_defaults(call, strategy, body)
        owned = update_entries(kind, current.body, body, self._write_of(call)) if entries is None else entries
        body = await self._mutated(call, Operation.UPDATE, body, current)
        strategy.prepare_update(body, current.body, subresource)
        keep_metadata(body, current.body, whole=subresource == "status")
        _set_entries(body, owned, current.body)
        causes = strategy.validate_update(body, current.body, subresource)
        if causes:
            raise invalid(kind.kind_subject(call.target.name), causes)
        self.policies.check(call, Operation.UPDATE, body)
        await self.webhooks.validate(self._review(call, Operation.UPDATE, body, current))
        self.policies.charge(call, body, current.body)
        if call.dry_run:
            self.objects.carry_over(kind, body, current)
            return Stored(body, current.revision)
        stored = self.objects.replace(kind, body, current)
        if _was_held_until_now(stored.body, current.body):
            self.objects.versions.remove(kind.resource, stored.key, expected=stored)
        return stored

    def _write_of(self, call: Call) -> Write:
        """Return who writes a plain write, and when."""
        manager = Manager(manager_name(call), UPDATE, call.target.kind.api_version, call.target.subresource)
        return Write(manager, rfc3339(self.objects.now()))

    def _set_defaults(self, call: Call, strategy: Strategy, body: JsonObject) -> None:
        """Prune and default a body; tell the client of unknown fields as it asked."""
        dropped = read_typed(call.target.kind, body) + strategy.set_defaults(body)
        if not dropped:
            return
        listed = ", ".join(f'unknown field "{path}"' for path in dropped)
        match call.query.get("fieldValidation", "Warn"):
            case "Strict" if call.verb == "patch":
                cause = Cause(
                    CauseType.INVALID, "patch", f"Invalid value: strict reading of the object failed: {listed}"
                )
                raise invalid(call.target.kind.kind_subject(call.target.name), [cause])
            case "Strict":
                raise bad_request(f"strict reading of the object failed: {listed}")
            case "Ignore":
                return
            case _:
                call.warnings.append(listed)

    def _check_namespace(self, call: Call) -> None:
        """Refuse a new object in a namespace that does not exist or is going away."""
        name = call.target.namespace
        if not name:
            return
        namespace = self.objects.versions.read(NAMESPACES, ("", name))
        if namespace is None:
            kind = self.objects.registry.at("", "v1", "namespaces")
            assert kind is not None
            raise not_found(kind.subject(name))
        if child(namespace.body, "metadata").get("deletionTimestamp"):
            message = f"namespace {name} is being terminated"
            cause = Cause(CauseType.NAMESPACE_TERMINATING, "metadata.namespace", message)
            raise forbidden(call.target.kind.subject(), f"no new content while {message}", (cause,))

    async def _mutated(self, call: Call, operation: Operation, body: JsonObject, current: Stored | None) -> JsonObject:
        """Return a body as policies and the mutating webhooks leave it, defaulted again."""
        self.policies.complete(call, operation, body)
        changed = await self.webhooks.mutate(self._review(call, operation, body, current))
        if changed is None:
            return body
        mutated = stored_form(call.target.kind, changed)
        self._set_defaults(call, self.strategies(call.target.kind), mutated)
        self.policies.complete(call, operation, mutated)
        return mutated

    def _review(self, call: Call, operation: Operation, body: JsonObject, current: Stored | None) -> Review:
        """Return what webhooks are asked about a write."""
        kind = call.target.kind
        shown = self.objects.shown(kind, Stored(body, 0))
        old = self.objects.shown(kind, current) if current else None
        return Review(call, operation, shown, old)

    def is_outdated(self, call: Call, current: Stored) -> bool:
        """Say whether an object has been written since it was read."""
        return self.objects.versions.read(call.target.kind.resource, call.target.key) is not current


def manager_name(call: Call) -> str:
    """Return the field manager of a plain write: the one it names, or the program that sends it."""
    program = call.request.headers.get("user-agent", "").partition("/")[0]
    return call.query.get("fieldManager", "") or program[:_LONGEST_MANAGER]


def _set_entries(body: JsonObject, entries: Entries, current: JsonObject | None) -> None:
    """Put managedFields on a body, in place."""
    managed = settled(entries, body, current)
    if managed:
        ensure(body, "metadata")["managedFields"] = managed
    else:
        ensure(body, "metadata").pop("managedFields", None)


def fit_to_path(target: Target, obj: JsonObject) -> JsonObject:
    """Return an object once it fits the path it was sent to, with namespace and name filled in from there.

    Raises:
        StatusError: It is of another kind, or names another object (400).
    """
    mismatch = refuse_mismatch(target, obj)
    if mismatch:
        raise mismatch
    metadata = ensure(obj, "metadata")
    for field, expected in (("namespace", target.namespace), ("name", target.name)):
        given = text(metadata, field)
        if given and expected and given != expected:
            raise bad_request(f"metadata.{field} is {given!r} in the body and {expected!r} in the path")
        if expected:
            metadata[field] = expected
    return obj


def refuse_stale(call: Call, wanted: JsonObject, current: Stored) -> None:
    """Refuse a write that was made from another version, or is meant for another object of the same name.

    Raises:
        StatusError: It is (409).
    """
    named, uid = text(wanted, "metadata", "resourceVersion"), text(wanted, "metadata", "uid")
    subject = call.target.kind.subject(call.target.name)
    if named and named != str(current.revision):
        raise conflict(subject, "it has changed since that resourceVersion; read it again and repeat the change")
    if uid and uid != current.uid:
        raise conflict(subject, f"precondition failed: the UID asked for is {uid}, the object has {current.uid}")


def keep_metadata(body: JsonObject, old: JsonObject, *, whole: bool) -> None:
    """Reset the metadata that a writer cannot change; all of it on a status write."""
    before = child(old, "metadata")
    if whole:
        body["metadata"] = copy_of(before)
        return
    metadata = ensure(body, "metadata")
    for field in (*_SERVER_OWNED, "generation", "generateName"):
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)


def patch_of(call: Call) -> Modify:
    """Return the change that the patch in a call's body makes to an object.

    Raises:
        StatusError: Its format is not offered, or it cannot be read.
    """
    kind, patch = read_patch(call.request.content_type, call.request.body, custom=call.target.kind.is_custom)
    match kind:
        case PatchType.MERGE:
            return lambda current: as_object(merge_patch(current, patch))
        case PatchType.STRATEGIC:
            return lambda current: strategic_merge(current, as_object(patch))
        case PatchType.JSON:
            return lambda current: _json_patched(current, patch)


def _json_patched(current: JsonObject, patch: object) -> JsonObject:
    """Apply a JSON patch."""
    try:
        return as_object(jsonpatch.JsonPatch(rows({"patch": patch}, "patch")).apply(current))
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(f"the JSON patch is malformed: {error}") from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise unprocessable(f"{_BAD_PATCH}: {error}") from None


def _was_held_until_now(new: JsonObject, old: JsonObject) -> bool:
    """Say whether an object's deletion waited only for the finalizer that has just gone."""
    metadata = child(new, "metadata")
    released = texts(child(old, "metadata"), "finalizers") and not texts(metadata, "finalizers")
    return bool(released and metadata.get("deletionTimestamp") and not metadata.get("deletionGracePeriodSeconds"))


def _name_causes(kind: Kind, metadata: JsonObject) -> list[Cause]:
    """Return what is wrong with the name of a new object."""
    name = text(metadata, "name")
    if not name:
        return [Cause(CauseType.REQUIRED, "metadata.name", "Required value: name or generateName is required")]
    if kind.group != _LOOSE_NAMES and (len(name) > 253 or not _NAME.fullmatch(name)):
        message = f'Invalid value: "{name}": a name consists of lower-case letters, digits, "-" and "."'
        return [Cause(CauseType.INVALID, "metadata.name", message)]
    return []
