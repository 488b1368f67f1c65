"""What has to change so that every one of upstream's autoscalers has its twin, and nothing else does.

Spec: beyond:B-35.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from autoscaling.objectref import ObjectRef
from evenkeel.crd.schema import Json, Schema
from evenkeel.shadow.twins import SHADOW_LABEL, SHADOW_VALUE, Autoscaler, Twin, relevant_annotations


class Verb(Enum):
    """What is done about one object of our own group."""

    CREATE = "create"
    PATCH = "patch"
    DELETE = "delete"
    LEAVE = "leave"
    """Nothing: there should be a twin, and there cannot be one."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Args:
        verb: What is done.
        ref: To which object.
        reason: Why.
        body: The parts of a new object beside kind, name and namespace, or a merge patch.
        uid: Of the object that is meant; empty for a new one.
        resource_version: Of the object when it was looked at; nothing is done to one that has changed since.
    """

    verb: Verb
    ref: ObjectRef
    reason: str
    body: Schema = field(default_factory=dict)
    uid: str = ""
    resource_version: str = ""


def plan(originals: Iterable[Autoscaler], own: Iterable[Autoscaler]) -> tuple[Change, ...]:
    """Return the changes that bring the twins up to date, by namespace and name.

    Only objects with the mark of a twin are changed or removed. An object of our own that has no such mark keeps its
    name, and its target gets no twin: two autoscalers of one group for one workload would contradict each other.

    Args:
        originals: All of upstream's autoscalers that should have twins.
        own: All autoscalers of our own group in the same namespaces.
    """
    wanted = {original.ref: original for original in originals}
    existing = {each.ref: each for each in own}
    taken = {each.target: each.ref for each in existing.values() if not each.is_twin}
    changes = [change for ref in wanted if (change := _change_of(wanted[ref], existing.get(ref), taken)) is not None]
    gone = (each for ref, each in existing.items() if each.is_twin and ref not in wanted)
    changes += [_deletion(each, "upstream's object is gone") for each in gone]
    return tuple(sorted(changes, key=lambda change: change.ref))


def removal(own: Iterable[Autoscaler]) -> tuple[Change, ...]:
    """Return the changes that remove every twin and nothing else, by namespace and name."""
    deletions = [_deletion(each, "shadow mode ends") for each in own if each.is_twin]
    return tuple(sorted(deletions, key=lambda change: change.ref))


def _change_of(
    original: Autoscaler, existing: Autoscaler | None, taken: Mapping[tuple[str, Json, Json], ObjectRef]
) -> Change | None:
    """Return what has to be done about the twin of one autoscaler, None for nothing."""
    twin = Twin.of(original)
    if existing is not None and not existing.is_twin:
        return Change(
            Verb.LEAVE,
            original.ref,
            f"our own group has an object of this name without the label {SHADOW_LABEL}={SHADOW_VALUE}; it is compared "
            "as it is, or rename it",
        )
    rival = taken.get(original.target)
    if rival is not None:
        reason = f"{rival} of our own group is for the same workload; remove it to have a twin in its place"
        return Change(Verb.LEAVE, original.ref, reason) if existing is None else _deletion(existing, reason)
    if existing is None:
        metadata: Schema = {"labels": dict(twin.labels)}
        if twin.annotations:
            metadata["annotations"] = dict(twin.annotations)
        return Change(
            Verb.CREATE, original.ref, "upstream's object has no twin", {"metadata": metadata, "spec": twin.spec}
        )
    patch = _patch(existing, twin)
    if not patch:
        return None
    return Change(
        Verb.PATCH, original.ref, "upstream's object has changed", patch, existing.uid, existing.resource_version
    )


def _patch(existing: Autoscaler, twin: Twin) -> Schema:
    """Return the merge patch that makes an object a twin, empty for one that is."""
    labels: Schema = {name: value for name, value in twin.labels.items() if existing.labels.get(name) != value}
    annotations = merge_patch(dict(relevant_annotations(existing.annotations)), dict(twin.annotations))
    metadata = _without_empty({"labels": labels, "annotations": annotations})
    return _without_empty({"metadata": metadata, "spec": merge_patch(existing.spec, twin.spec)})


def _without_empty(parts: Mapping[str, Schema]) -> Schema:
    """Return those parts of a patch that say anything."""
    return {name: part for name, part in parts.items() if part}


def merge_patch(old: Schema, new: Schema) -> Schema:
    """Return the JSON merge patch from one object to another, empty where they are the same.

    Args:
        old: What there is.
        new: What there should be, without nulls.
    """
    patch: Schema = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = merge_patch(before, value)
            if inner:
                patch[name] = inner
        elif name not in old or before != value:
            patch[name] = value
    return patch


def _deletion(twin: Autoscaler, reason: str) -> Change:
    """Return the removal of one twin."""
    return Change(Verb.DELETE, twin.ref, reason, uid=twin.uid, resource_version=twin.resource_version)
