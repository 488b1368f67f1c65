"""Who owns which field: managedFields, kept over every write, and what server-side apply makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from evenkeel.simulator.api.builtin_schemas import metadata_schema, schema_of
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, decode, rows, text
from evenkeel.simulator.api.fieldsets import FieldSet, Path, field_element, printed
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.status import Cause, CauseType, StatusError, Subject
from evenkeel.simulator.api.typed_values import (
    Comparison,
    UntypedError,
    compare,
    field_set,
    merge,
    with_parents,
    without,
)

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
APPLY, UPDATE = "Apply", "Update"
BEFORE_FIRST_APPLY = "before-first-apply"
"""Owns, at the first apply to an object that nobody's writes were noted on, all that is there."""

_NEVER_OWNED = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
)  # fmt: skip
_METADATA = field_element("metadata")
_STATUS = field_element("status")
_EMPTY: JsonObject = {
    "metadata": {},
    "status": {},
    "spec": {
        "strategy": {},
        "updateStrategy": {},
        "containers": None,
        "template": {"metadata": {}, "spec": {"containers": None}},
        "jobTemplate": {"metadata": {}, "spec": {"template": {"metadata": {}, "spec": {"containers": None}}}},
    },
}
"""What a built-in kind has of these even when nobody writes it; so creating them is no news."""


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes, how and through what.

    Args:
        name: Name of the field manager.
        operation: ``Apply`` or ``Update``.
        api_version: Version that the fields are named in.
        subresource: Subresource that is written through; empty for the main resource.
    """

    name: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """One write, as far as ownership goes.

    Args:
        by: The writer.
        now: When.
        force: Whether an apply takes what others own.
    """

    by: Manager
    now: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager's fields, and when they last changed."""

    manager: Manager
    fields: FieldSet
    time: str


Entries = tuple[Entry, ...]
"""The managedFields of one object."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What an apply comes to: the object as wanted, and who owns what of it."""

    body: JsonObject
    entries: Entries


def entries_of(body: JsonObject) -> Entries:
    """Return an object's managedFields."""
    return tuple(
        Entry(
            Manager(text(row, "manager"), text(row, "operation"), text(row, "apiVersion"), text(row, "subresource")),
            FieldSet(child(row, "fieldsV1")),
            text(row, "time"),
        )
        for row in rows(body, "metadata", "managedFields")
        if row
    )


def written(entries: Entries) -> list[JsonObject]:
    """Return managedFields as objects hold them: applies first, then by time and name."""
    ordered = sorted(entries, key=lambda e: (e.manager.operation, e.time, e.manager.name, e.manager.subresource))
    return [_row(entry) for entry in ordered]


def _row(entry: Entry) -> JsonObject:
    """Return one entry as objects hold it."""
    manager = entry.manager
    row: JsonObject = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields.fields,
    }
    if manager.subresource:
        row["subresource"] = manager.subresource
    return row


def whole_schema(kind: Kind) -> JsonObject:
    """Return the schema of a kind's whole object, metadata included."""
    if kind.schema is None:
        return schema_of(kind.group, kind.version, kind.kind) or {"x-kubernetes-preserve-unknown-fields": True}
    named: JsonObject = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata_schema()}
    return {"type": "object", **kind.schema.source, "properties": child(kind.schema.source, "properties") | named}


def update_entries(kind: Kind, old: JsonObject | None, new: JsonObject, write: Write) -> Entries:
    """Return who owns what after a plain write: what the write changed is the writer's.

    An object that nobody's writes were noted on stays so until the first apply; writes through another version than
    the stored one leave no trace, and so do bodies in which an item of a list lacks its keys.

    Args:
        kind: The object's kind.
        old: The body it had; None for a new object.
        new: The body as it is wanted, with defaults.
        write: The write.
    """
    by = write.by
    before = _base_entries(old, new, by)
    if kind.view is not None or (old is not None and not before):
        return before
    start = old if old is not None else _EMPTY if kind.schema is None else {}
    try:
        changes = _changes(kind, start, new, by)
    except UntypedError:
        return ()
    if not changes:
        return before
    kept = _after(before, changes, by)
    previous = next((entry.fields for entry in kept if entry.manager == by), FieldSet())
    own = previous.union([*changes.modified, *changes.added]).without(changes.removed)
    others = tuple(entry for entry in kept if entry.manager != by)
    gained = bool(changes.modified or changes.added)
    time = write.now if gained else next((entry.time for entry in kept if entry.manager == by), write.now)
    return (*others, Entry(by, own, time)) if own else others


def _base_entries(old: JsonObject | None, new: JsonObject, by: Manager) -> Entries:
    """Return the entries that a write starts from: a writer of the main resource may set or reset them itself."""
    if old is None:
        return ()
    sent = child(new, "metadata").get("managedFields")
    if by.subresource or sent is None:
        return entries_of(old)
    if sent in ([], [{}]):
        return ()
    return entries_of(new) or entries_of(old)


def _owned_part(body: JsonObject) -> JsonObject:
    """Return a body without what nobody owns."""
    metadata = {key: value for key, value in child(body, "metadata").items() if key not in _NEVER_OWNED}
    kept = {key: value for key, value in body.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {**kept, "metadata": metadata}


def _changes(kind: Kind, old: JsonObject, new: JsonObject, by: Manager) -> Comparison:
    """Return what a writer through one (sub)resource changes."""
    found = compare(whole_schema(kind), _owned_part(old), _owned_part(new))
    return Comparison(*(_ownable(kind, by, paths) for paths in (found.added, found.modified, found.removed)))


def _ownable(kind: Kind, by: Manager, paths: Iterable[Path]) -> list[Path]:
    """Return those of some paths that a writer through this (sub)resource can own."""
    if by.subresource == "status":
        return [path for path in paths if path[0] == _STATUS]
    hidden = {_STATUS} if kind.splits_status and not by.subresource else set()
    return [path for path in paths if path != (_METADATA,) and path[0] not in hidden]


def _after(entries: Entries, changes: Comparison, by: Manager) -> Entries:
    """Return entries once others have lost what a writer changed or removed."""
    lost = [*changes.modified, *changes.added, *changes.removed]
    result: list[Entry] = []
    for entry in entries:
        gone = [path for path in lost if path in entry.fields] if entry.manager != by else []
        fields = entry.fields.without(gone) if gone else entry.fields
        if fields:
            result.append(replace(entry, fields=fields))
    return tuple(result)


def create_applied(kind: Kind, config: JsonObject, write: Write) -> Merged:
    """Return what the apply of an object that does not exist comes to.

    Raises:
        UntypedError: The configuration does not fit the kind.
    """
    fields = _configured(kind, config, write.by)
    return Merged(copy_of(config), (Entry(write.by, fields, write.now),) if fields else ())


def _configured(kind: Kind, config: JsonObject, by: Manager) -> FieldSet:
    """Return the fields that a configuration makes its manager's."""
    return FieldSet.of(_ownable(kind, by, field_set(whole_schema(kind), _owned_part(config))))


def apply(kind: Kind, live: JsonObject, config: JsonObject, write: Write) -> Merged:
    """Return what the apply of a configuration to an object comes to.

    What the manager applied earlier and leaves out now is removed unless others own it. The subresource's own rules
    are not applied yet, so that ownership follows what the configuration names (spec: in-place-resize 1.2).

    Args:
        kind: The object's kind.
        live: Its present body.
        config: What is applied.
        write: The apply; by force, other managers lose what differs instead of refusing it.

    Raises:
        UntypedError: The configuration does not fit the kind.
        StatusError: Others own fields that would change (409).
    """
    schema, by = whole_schema(kind), write.by
    before = entries_of(live) or _unknown_owner(kind, live, write)
    fields = _configured(kind, config, by)
    last = next((entry for entry in before if entry.manager == by), None)
    others = tuple(entry for entry in before if entry.manager != by)
    wanted = as_object(merge(schema, live, _owned_part(config)))
    if last is not None:
        wanted = _pruned(schema, wanted, last.fields, [fields, *(entry.fields for entry in others)])
    changes = _changes(kind, live, wanted, by)
    conflicts = _conflicts(others, changes)
    if conflicts and not write.force:
        inherited = inherited_fields(kind, live, by.name)
        conflicts = [(entry, path) for entry, path in conflicts if path not in inherited]
    if conflicts and not write.force:
        raise _refusal(kind.subject(text(live, "metadata", "name")), conflicts)
    time = last.time if last is not None and last.fields == fields and not changes else write.now
    remaining = _after(others, changes, by)
    return Merged(wanted, (*remaining, Entry(by, fields, time)) if fields else remaining)


def _unknown_owner(kind: Kind, live: JsonObject, write: Write) -> Entries:
    """Return the entry that stands for all earlier writers, of whom nothing was noted."""
    manager = replace(write.by, name=BEFORE_FIRST_APPLY, operation=UPDATE)
    changes = _changes(kind, {}, live, manager)
    return (Entry(manager, FieldSet.of(changes.added), write.now),)


def _pruned(schema: JsonObject, wanted: JsonObject, last: FieldSet, current: list[FieldSet]) -> JsonObject:
    """Return an object without what its manager no longer applies and nobody owns."""
    owned: set[Path] = set()
    for fields in current:
        owned.update(with_parents(schema, fields))
    gone = [path for path in with_parents(schema, last) if path not in owned]
    return as_object(without(schema, wanted, FieldSet.of(gone))) if gone else wanted


def inherited_fields(kind: Kind, live: JsonObject, manager: str) -> FieldSet:
    """Return the fields that kubectl may take when it goes over to server-side apply.

    They are those that it applied from its own side before, as far as they still have the value that it gave them.
    """
    raw = text(live, "metadata", "annotations", LAST_APPLIED)
    if manager != KUBECTL or not raw:
        return FieldSet()
    try:
        last = as_object(decode(raw.encode()))
        held = field_set(whole_schema(kind), _owned_part(last))
    except (msgspec.DecodeError, UntypedError):
        return FieldSet()
    return held.without(compare(whole_schema(kind), _owned_part(last), _owned_part(live)).modified)


def settled(entries: Entries, body: JsonObject, current: JsonObject | None) -> list[JsonObject]:
    """Return managedFields to store; those that are there already, when a write changes nothing but times."""
    rows_now = written(entries)
    if current is None:
        return rows_now
    rows_before = rows(current, "metadata", "managedFields")
    if [_timeless(row) for row in rows_now] != [_timeless(row) for row in rows_before]:
        return rows_now
    return rows_before if _without_entries(body) == _without_entries(current) else rows_now


def _timeless(row: JsonObject) -> JsonObject:
    """Return an entry without its time."""
    return {key: value for key, value in row.items() if key != "time"}


def _without_entries(body: JsonObject) -> JsonObject:
    """Return a body without managedFields and revision."""
    metadata = {k: v for k, v in child(body, "metadata").items() if k not in {"managedFields", "resourceVersion"}}
    return {**body, "metadata": metadata}


Conflicts = list[tuple[Entry, Path]]
"""Fields that would change, each with an entry that holds it."""


def _conflicts(others: Entries, changes: Comparison) -> Conflicts:
    """Return which fields that would change belong to whom."""
    changed = [*changes.modified, *changes.added]
    return [(entry, path) for entry in others for path in sorted(changed) if path in entry.fields]


def _refusal(subject: Subject, conflicts: Conflicts) -> StatusError:
    """Return the refusal of an apply that would take other managers' fields (spec: resize R60)."""
    causes = tuple(
        Cause(CauseType.FIELD_MANAGER_CONFLICT, printed(path), f"conflict with {_shown(entry)}")
        for entry, path in conflicts
    )
    listed = "; ".join(f"{cause.message}: {cause.field}" for cause in causes)
    number = "1 conflict" if len(causes) == 1 else f"{len(causes)} conflicts"
    return StatusError(409, "Conflict", f"Apply failed with {number}: {listed}", subject=subject, causes=causes)


def _shown(entry: Entry) -> str:
    """Return an entry as messages print it."""
    manager = entry.manager
    through = f" with subresource {manager.subresource!r}" if manager.subresource else ""
    since = f" at {entry.time}" if manager.operation == UPDATE and entry.time else ""
    return f'"{manager.name}"{through} using {manager.api_version}{since}'
