"""Which objects belong to a controller: it adopts what its selector finds, and frees what it finds no longer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, labels_of, rows, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.selectors import LabelSelector
from evenkeel.simulator.api.store import Change, Key, Stored
from evenkeel.simulator.controllers.context import Context
from evenkeel.simulator.controllers.index import ControlledIndex, controller_of
from evenkeel.simulator.controllers.pod_state import is_going


@dataclass(frozen=True, slots=True)
class Owner:
    """An object that controls others.

    Args:
        kind: Its kind.
        stored: Its present version.
        selector: Finds what belongs to it.
    """

    kind: Kind
    stored: Stored
    selector: LabelSelector

    @property
    def about(self) -> tuple[Kind, Stored]:
        """What events about it name."""
        return self.kind, self.stored

    def reference(self) -> JsonObject:
        """Return the owner reference that its objects bear."""
        return owner_reference(self.kind, self.stored)


def owner_reference(kind: Kind, stored: Stored) -> JsonObject:
    """Return the reference that marks an object as controlled by another one."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": stored.key[1],
        "uid": stored.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def claim(context: Context, owner: Owner, kind: Kind, index: ControlledIndex) -> list[Stored]:
    """Return what an owner controls, after adopting and releasing what its selector demands.

    Args:
        context: The cluster.
        owner: The controlling object; while it is going it adopts nothing.
        kind: Kind of the controlled objects.
        index: Where they are found.

    Raises:
        StatusError: One of them was written meanwhile.
    """
    claimed: list[Stored] = []
    for stored in index.controlled_by(owner.stored.uid):
        if owner.selector.matches(labels_of(stored.body)):
            claimed.append(stored)
        elif not is_going(owner.stored.body):
            _set_references(context, kind, stored, _without(stored.body, owner.stored.uid))
    if is_going(owner.stored.body):
        return claimed
    for stored in index.uncontrolled(owner.stored.key[0]):
        if not is_going(stored.body) and owner.selector.matches(labels_of(stored.body)):
            references = [*rows(stored.body, "metadata", "ownerReferences"), owner.reference()]
            claimed.append(_set_references(context, kind, stored, references))
    return sorted(claimed, key=lambda stored: stored.key)


def owner_keys(change: Change, kind: Kind) -> list[Key]:
    """Return the objects of a kind that control what has changed, before and after."""
    found: list[Key] = []
    for side in (change.before, change.after):
        reference = controller_of(side.body) if side else None
        if reference and text(reference, "kind") == kind.kind and text(reference, "apiVersion") == kind.api_version:
            key = (change.after.key[0], text(reference, "name"))
            if key not in found:
                found.append(key)
    return found


def may_be_adopted(change: Change) -> bool:
    """Say whether something without a controller has appeared or got other labels."""
    if is_going(change.after.body) or controller_of(change.after.body):
        return False
    before = change.before
    return before is None or bool(controller_of(before.body)) or labels_of(before.body) != labels_of(change.after.body)


def adopters(owners: Iterable[tuple[Key, LabelSelector]], change: Change) -> list[Key]:
    """Return the owners whose selector finds what has changed."""
    labels = labels_of(change.after.body)
    return [key for key, selector in owners if selector.requirements and selector.matches(labels)]


def _without(body: JsonObject, uid: str) -> list[JsonObject]:
    """Return an object's owner references without one owner's."""
    return [row for row in rows(body, "metadata", "ownerReferences") if row.get("uid") != uid]


def _set_references(context: Context, kind: Kind, stored: Stored, references: list[JsonObject]) -> Stored:
    """Write an object's owner references."""
    body = copy_of(stored.body)
    ensure(body, "metadata")["ownerReferences"] = references
    if not references:
        del ensure(body, "metadata")["ownerReferences"]
    return context.objects.replace(kind, body, stored)
