"""Deletion: preconditions, grace, finalizers, propagation, whole collections, and what goes with a namespace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from evenkeel.simulator.api.admission import Webhooks
from evenkeel.simulator.api.admission_request import Operation, Review
from evenkeel.simulator.api.builtin import NAMESPACES
from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, text, texts
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.propagation import Propagation, asked_propagation, held_by
from evenkeel.simulator.api.selectors import predicate
from evenkeel.simulator.api.status import StatusError, bad_request, conflict
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.strategies import Strategy
from evenkeel.simulator.clock import parse_rfc3339, rfc3339


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a client asks of a deletion."""

    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    propagation: Propagation | None = None

    @classmethod
    def of(cls, options: JsonObject) -> DeleteOptions:
        """Read the object that clients send.

        Raises:
            StatusError: It asks for a propagation that there is not (422).
        """
        preconditions = child(options, "preconditions")
        grace = options.get("gracePeriodSeconds")
        return cls(
            grace if isinstance(grace, int) else None,
            text(preconditions, "uid"),
            text(preconditions, "resourceVersion"),
            "All" in texts(options, "dryRun"),
            asked_propagation(options),
        )

    @classmethod
    def of_call(cls, call: Call) -> DeleteOptions:
        """Read the options from a call's body, or else from its query.

        Raises:
            StatusError: They cannot be read (400), or ask for a propagation that there is not (422).
        """
        options = call.object() if call.request.body else {}
        if options.get("kind") not in {None, "", "DeleteOptions"}:
            raise bad_request(f"the body of a deletion must be DeleteOptions, not {options.get('kind')}")
        read = cls.of(options)
        grace = call.integer("gracePeriodSeconds") if read.grace_seconds is None else read.grace_seconds
        propagation = read.propagation or asked_propagation(_propagation_in_query(call))
        return replace(read, grace_seconds=grace, dry_run=read.dry_run or call.dry_run, propagation=propagation)


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion came to: the object's last or present state, and whether it has gone."""

    stored: Stored
    gone: bool


@dataclass(slots=True)
class Deleter:
    """Deletions of one server.

    Args:
        objects: Where objects are stored.
        webhooks: Asked about every deletion.
        strategies: What each kind says about grace.
    """

    objects: ObjectStore
    webhooks: Webhooks
    strategies: Callable[[Kind], Strategy]

    async def delete(self, call: Call, options: DeleteOptions) -> Deletion:
        """Delete the object that a call names.

        Raises:
            StatusError: It does not exist, a precondition fails or a webhook refuses.
        """
        kind = call.target.kind
        current = self.objects.existing(kind, call.target.key)
        check_preconditions(kind, current, options)
        review = Review(call, Operation.DELETE, None, self.objects.shown(kind, current))
        await self.webhooks.mutate(review)
        await self.webhooks.validate(review)
        return self.carry_out(kind, call.target.name, call.target.namespace, options)

    def carry_out(self, kind: Kind, name: str, namespace: str, options: DeleteOptions) -> Deletion:
        """Delete an object, whatever happens to it at the same time.

        Raises:
            StatusError: It does not exist, or a precondition fails.
        """
        with self.objects.versions.lock:
            current = self.objects.existing(kind, (namespace, name))
            check_preconditions(kind, current, options)
            return self._attempt(kind, current, options)

    async def delete_collection(self, call: Call) -> list[Stored]:
        """Delete every object that a call selects, and return them.

        Raises:
            StatusError: A selector cannot be read, or a webhook refuses.
        """
        kind, options = call.target.kind, DeleteOptions.of_call(call)
        passes = predicate(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), kind.plural)
        deleted: list[Stored] = []
        for stored in self.objects.versions.snapshot(kind.resource, call.target.namespace):
            if passes is not None and not passes.finds(stored):
                continue
            review = Review(call, Operation.DELETE, None, self.objects.shown(kind, stored))
            await self.webhooks.mutate(review)
            await self.webhooks.validate(review)
            namespace, name = stored.key
            deleted.append(self.carry_out(kind, name, namespace, options).stored)
        return deleted

    def _attempt(self, kind: Kind, current: Stored, options: DeleteOptions) -> Deletion:
        """Remove an object, or mark it as going away."""
        metadata, strategy = child(current.body, "metadata"), self.strategies(kind)
        grace = strategy.grace_seconds(current.body, options.grace_seconds)
        held = texts(metadata, "finalizers")
        finalizers = held_by(held, options.propagation, strategy.propagation)
        going, before = text(metadata, "deletionTimestamp"), number(metadata, "deletionGracePeriodSeconds")
        if not grace and not finalizers:
            return self._removed(kind, current, options)
        if going and grace >= before and finalizers == held:
            return Deletion(current, gone=False)
        body = copy_of(current.body)
        marked = ensure(body, "metadata")
        _set_finalizers(marked, finalizers)
        start = self.objects.now()
        if going:
            start, grace = parse_rfc3339(going) - timedelta(seconds=before), min(grace, before)
        marked["deletionTimestamp"] = rfc3339(start + timedelta(seconds=grace))
        marked["deletionGracePeriodSeconds"] = grace
        if not going and "generation" in marked:
            marked["generation"] = number(marked, "generation") + 1
        if options.dry_run:
            return Deletion(Stored(body, current.revision), gone=False)
        return Deletion(self.objects.replace(kind, body, current), gone=False)

    def _removed(self, kind: Kind, current: Stored, options: DeleteOptions) -> Deletion:
        """Remove an object, and with a namespace all that it holds."""
        if options.dry_run:
            return Deletion(current, gone=True)
        if kind.resource == NAMESPACES:
            self._empty(current.key[1])
        removed = self.objects.versions.remove(kind.resource, current.key, expected=current)
        return Deletion(removed or current, gone=True)

    def _empty(self, namespace: str) -> None:
        """Remove everything in a namespace at once, without grace."""
        for kind in self.objects.registry.all():
            if kind.namespaced and kind.view is None:
                for stored in self.objects.versions.snapshot(kind.resource, namespace):
                    self.objects.versions.remove(kind.resource, stored.key)


def _set_finalizers(metadata: JsonObject, finalizers: list[str]) -> None:
    """Give an object's metadata other finalizers."""
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers


def _propagation_in_query(call: Call) -> JsonObject:
    """Return what a call's query says of propagation."""
    found: JsonObject = {}
    if call.query.get("propagationPolicy"):
        found["propagationPolicy"] = call.query["propagationPolicy"]
    if call.query.get("orphanDependents"):
        found["orphanDependents"] = call.flag("orphanDependents")
    return found


def check_preconditions(kind: Kind, current: Stored, options: DeleteOptions) -> None:
    """Refuse to delete another object, or another version of it, than the client means.

    Raises:
        StatusError: It would (409).
    """
    pairs = (("UID", options.uid, current.uid), ("ResourceVersion", options.resource_version, str(current.revision)))
    for what, wanted, found in pairs:
        if wanted and wanted != found:
            raise _failed_precondition(kind, current, f"the {what} asked for is {wanted}, the object has {found}")


def _failed_precondition(kind: Kind, current: Stored, why: str) -> StatusError:
    """Return the refusal of a failed precondition."""
    return conflict(kind.subject(current.key[1]), f"precondition failed: {why}")
