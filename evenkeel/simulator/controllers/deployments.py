"""Deployments: one ReplicaSet per template, and the way from one to the next."""

from __future__ import annotations

from typing import ClassVar

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, labels_of, number, rows, text
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, Key, Stored
from evenkeel.simulator.controllers.claims import Owner, adopters, claim, may_be_adopted, owner_keys
from evenkeel.simulator.controllers.context import DEPLOYMENTS, REPLICA_SETS
from evenkeel.simulator.controllers.deployment_status import Rollout, is_complete, status_of
from evenkeel.simulator.controllers.pod_state import created, is_finished, is_going
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.revision_annotations import (
    DESIRED,
    MOST,
    REVISION,
    annotated_number,
    note_revision,
    note_size,
    revision_of,
)
from evenkeel.simulator.controllers.rollout import Bounds, SetState, grown, rescaled, shrunk
from evenkeel.simulator.controllers.templates import HASH_LABEL, digest, same_template, with_hash

_FOUND, _CREATED = "FoundNewReplicaSet", "NewReplicaSetCreated"


class DeploymentController(Reconciler):
    """Keeps the ReplicaSets of Deployments."""

    component: ClassVar[str] = "deployment-controller"

    def start(self) -> None:
        """Follow Deployments and all ReplicaSets."""
        self._kind = self.context.kind(DEPLOYMENTS)
        self._set_kind = self.context.kind(REPLICA_SETS)
        self.follow_own(DEPLOYMENTS)
        self.follow(REPLICA_SETS, self._deployments_of)

    async def reconcile(self, key: Key) -> None:
        """Take the next step of a rollout, and report.

        Raises:
            StatusError: The API server refused something.
        """
        stored = self.context.versions.read(DEPLOYMENTS, key)
        if stored is None:
            return
        owner = Owner(self._kind, stored, selector_of(child(stored.body, "spec", "selector")))
        sets = claim(self.context, owner, self._set_kind, self.context.replica_sets)
        new, old = _divided(stored.body, sets)
        event = ""
        if not is_going(stored.body):
            event = await self._step(owner, new, old)
        self._report(key, event)

    def _deployments_of(self, change: Change) -> list[Key]:
        """Return the Deployments that a change of a ReplicaSet concerns."""
        keys = owner_keys(change, self._kind)
        if not keys and may_be_adopted(change):
            found = self.context.versions.snapshot(DEPLOYMENTS, change.after.key[0])
            pairs = ((stored.key, selector_of(child(stored.body, "spec", "selector"))) for stored in found)
            keys = adopters(pairs, change)
        return keys

    async def _step(self, owner: Owner, new: Stored | None, old: list[Stored]) -> str:
        """Take one step, and return the event that the Progressing condition should tell of, if any."""
        body = owner.stored.body
        bounds, rolling = bounds_of(body), text(body, "spec", "strategy", "type") != "Recreate"
        every = ([new] if new else []) + old
        active = [stored for stored in every if number(stored.body, "spec", "replicas")]
        paused = child(body, "spec").get("paused") is True
        if paused or (_was_rescaled(bounds, active) and (rolling or len(active) == 1)):
            if rolling or len(active) <= 1:
                states = [_state(stored) for stored in old]
                self._resize(owner, every, rescaled(bounds, _state(new) if new else None, states), bounds)
            return ""
        if not rolling and self._resize(owner, old, {stored.key[1]: 0 for stored in old}, bounds):
            return ""
        if not rolling and self._any_pod_lives(old):
            return ""
        return await self._continue(owner, new, old, bounds)

    async def _continue(self, owner: Owner, new: Stored | None, old: list[Stored], bounds: Bounds) -> str:
        """See that the set of the present template is there; then let it grow, or else the others shrink."""
        revision = max((revision_of(stored.body) for stored in old), default=0) + 1
        states = [_state(stored) for stored in old]
        event = ""
        if new is None:
            new, event = await self._create(owner, states, bounds, revision), _CREATED
        else:
            new = self._revised(owner, new, revision)
            known = any(text(row, "type") == "Progressing" for row in rows(owner.stored.body, "status", "conditions"))
            event = "" if known else _FOUND
        self._note_on_deployment(owner, revision_of(new.body))
        wanted = grown(bounds, _state(new), states)
        if not self._resize(owner, [new], {new.key[1]: wanted}, bounds):
            self._resize(owner, old, shrunk(bounds, _state(new), states), bounds)
        return event

    async def _create(self, owner: Owner, old: list[SetState], bounds: Bounds, revision: int) -> Stored:
        """Create the set of the present template."""
        namespace, name = owner.stored.key
        template = child(owner.stored.body, "spec", "template")
        collisions = number(owner.stored.body, "status", "collisionCount")
        suffix = digest(template, collisions)
        labelled = with_hash(template, suffix)
        selector = copy_of(child(owner.stored.body, "spec", "selector"))
        ensure(selector, "matchLabels")[HASH_LABEL] = suffix
        empty = SetState(f"{name}-{suffix}", 0, 0, 0, self.context.now())
        replica_set: JsonObject = {
            "apiVersion": self._set_kind.api_version,
            "kind": self._set_kind.kind,
            "metadata": {
                "name": empty.name,
                "namespace": namespace,
                "labels": dict(labels_of(labelled)),
                "ownerReferences": [owner.reference()],
            },
            "spec": {"replicas": grown(bounds, empty, old), "selector": selector, "template": labelled},
        }
        patience = number(owner.stored.body, "spec", "minReadySeconds")
        if patience:
            ensure(replica_set, "spec")["minReadySeconds"] = patience
        note_size(replica_set, bounds)
        note_revision(replica_set, owner.stored.body, revision)
        try:
            stored = await self.actor.create(replica_set)
        except StatusError as error:
            if error.reason == "AlreadyExists":
                self._count_collision(owner)
            raise
        self._tell_size(owner, empty.name, 0, number(stored.body, "spec", "replicas"))
        return stored

    def _count_collision(self, owner: Owner) -> None:
        """Note that the name for the new set is taken, so that the next try uses another one."""
        current = self.context.objects.existing(self._kind, owner.stored.key)
        body = copy_of(current.body)
        status = ensure(body, "status")
        status["collisionCount"] = number(status, "collisionCount") + 1
        self.context.objects.replace(self._kind, body, current)

    def _revised(self, owner: Owner, stored: Stored, revision: int) -> Stored:
        """Give a set its revision, the Deployment's annotations and how long its pods must be ready."""
        body = copy_of(stored.body)
        note_revision(body, owner.stored.body, revision)
        patience = number(owner.stored.body, "spec", "minReadySeconds")
        if patience != number(body, "spec", "minReadySeconds"):
            ensure(body, "spec")["minReadySeconds"] = patience
        return self.context.objects.replace(self._set_kind, body, stored)

    def _note_on_deployment(self, owner: Owner, revision: int) -> None:
        """Write the present revision on the Deployment."""
        current = self.context.objects.existing(self._kind, owner.stored.key)
        body = copy_of(current.body)
        ensure(body, "metadata", "annotations")[REVISION] = str(revision)
        self.context.objects.replace(self._kind, body, current)

    def _resize(self, owner: Owner, sets: list[Stored], sizes: dict[str, int], bounds: Bounds) -> bool:
        """Give sets other sizes, and return whether any has got one."""
        resized = False
        for stored in sets:
            before = number(stored.body, "spec", "replicas")
            size = sizes.get(stored.key[1], before)
            if not before and not size:
                continue
            body = copy_of(stored.body)
            ensure(body, "spec")["replicas"] = size
            note_size(body, bounds)
            self.context.objects.replace(self._set_kind, body, stored)
            if size != before:
                self._tell_size(owner, stored.key[1], before, size)
                resized = True
        return resized

    def _tell_size(self, owner: Owner, name: str, before: int, after: int) -> None:
        """Record that a set has got another size."""
        self.recorder.normal(
            owner.about,
            "ScalingReplicaSet",
            f"scaled ReplicaSet {name} {'up' if after > before else 'down'} to {after} from {before}",
        )

    def _any_pod_lives(self, old: list[Stored]) -> bool:
        """Say whether a pod of an earlier template has not ended yet."""
        pods = [pod for stored in old for pod in self.context.pods.controlled_by(stored.uid)]
        return any(not is_finished(pod.body) for pod in pods)

    def _report(self, key: Key, event: str) -> None:
        """Write a Deployment's status, and once it is complete remove what history need not keep."""
        current = self.context.versions.read(DEPLOYMENTS, key)
        if current is None:
            return
        new, old = _divided(current.body, self.context.replica_sets.controlled_by(current.uid))
        old_bodies = [stored.body for stored in old]
        rollout = Rollout(current.body, bounds_of(current.body), new.body if new else None, old_bodies)
        body = copy_of(current.body)
        status = body["status"] = status_of(rollout, event, self.context.now())
        self.context.objects.replace(self._kind, body, current)
        if is_complete(rollout, child({"status": status}, "status")) and not is_going(current.body):
            self._clean_up(current.body, old)

    def _clean_up(self, deployment: JsonObject, old: list[Stored]) -> None:
        """Remove the oldest empty sets beyond the limit of history."""
        keep = number(deployment, "spec", "revisionHistoryLimit", default=10)
        empty = [stored for stored in old if _is_empty(stored.body)]
        for stored in sorted(empty, key=lambda each: revision_of(each.body))[: max(0, len(empty) - keep)]:
            self.context.versions.remove(REPLICA_SETS, stored.key, expected=stored)


def bounds_of(deployment: JsonObject) -> Bounds:
    """Return a Deployment's size and how far its updates may go."""
    replicas = number(deployment, "spec", "replicas", default=1)
    if text(deployment, "spec", "strategy", "type") == "Recreate":
        return Bounds(replicas, 0, 0)
    values = child(deployment, "spec", "strategy", "rollingUpdate")
    return Bounds.of(replicas, values.get("maxSurge", "25%"), values.get("maxUnavailable", "25%"))


def _was_rescaled(bounds: Bounds, active: list[Stored]) -> bool:
    """Say whether the Deployment's own size has changed since its active sets got theirs."""
    noted = [annotated_number(stored.body, DESIRED) for stored in active]
    return any(desired is not None and desired != bounds.replicas for desired in noted)


def _divided(deployment: JsonObject, sets: list[Stored]) -> tuple[Stored | None, list[Stored]]:
    """Return the set of a Deployment's present template, the oldest if several, and all others."""
    template = child(deployment, "spec", "template")
    oldest_first = sorted(sets, key=lambda stored: (created(stored.body), stored.key))
    new = next((s for s in oldest_first if same_template(child(s.body, "spec", "template"), template)), None)
    return new, [stored for stored in sets if stored is not new]


def _state(stored: Stored) -> SetState:
    """Return the numbers of one set."""
    body = stored.body
    status = child(body, "status")
    numbers = (number(body, "spec", "replicas"), number(status, "replicas"), number(status, "availableReplicas"))
    notes = (annotated_number(body, MOST), annotated_number(body, DESIRED))
    return SetState(stored.key[1], *numbers, created(body), *notes)


def _is_empty(replica_set: JsonObject) -> bool:
    """Say whether a set has no pods, asks for none and says so."""
    observed = number(replica_set, "status", "observedGeneration") >= number(replica_set, "metadata", "generation")
    sizes = number(replica_set, "spec", "replicas") + number(replica_set, "status", "replicas")
    return observed and not sizes and not is_going(replica_set)
