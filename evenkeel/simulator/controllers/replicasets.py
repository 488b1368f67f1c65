"""ReplicaSets and ReplicationControllers: as many pods from one template as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, number, rows, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.selectors import LabelSelector, selector_of
from evenkeel.simulator.api.status import CauseType, StatusError
from evenkeel.simulator.api.store import Change, Key, Stored
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.claims import Owner, adopters, claim, may_be_adopted, owner_keys
from evenkeel.simulator.controllers.context import REPLICA_SETS, REPLICATION_CONTROLLERS
from evenkeel.simulator.controllers.deletion_order import deletion_order
from evenkeel.simulator.controllers.index import controller_uid
from evenkeel.simulator.controllers.pod_state import is_active, is_available, is_going, is_ready, next_availability
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.templates import pod_of

MOST_AT_ONCE = 500
"""How many pods one reconciliation creates or deletes at most."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why not all pods could be created or deleted."""

    reason: str
    error: StatusError


class ReplicaSetController(Reconciler):
    """Keeps the pods of ReplicaSets."""

    component: ClassVar[str] = "replicaset-controller"
    resource: ClassVar[GroupResource] = REPLICA_SETS

    def start(self) -> None:
        """Follow the sets and all pods."""
        self._kind = self.context.kind(self.resource)
        self.follow_own(self.resource)
        self.follow(PODS, self._sets_of)

    async def reconcile(self, key: Key) -> None:
        """Create what is missing, delete what is too much, and report.

        Raises:
            StatusError: A pod could not be created or deleted.
        """
        stored = self.context.versions.read(self.resource, key)
        if stored is None:
            return
        owner = Owner(self._kind, stored, self.selector(stored.body))
        pods = claim(self.context, owner, self.context.kind(PODS), self.context.pods)
        failure: _Failure | None = None
        if not is_going(stored.body):
            failure = await self._reach(owner, [pod for pod in pods if is_active(pod.body)])
        self._report(stored, failure)
        if failure is not None:
            raise failure.error

    @staticmethod
    def selector(body: JsonObject) -> LabelSelector:
        """Return what finds a set's pods."""
        return selector_of(child(body, "spec", "selector"))

    def _sets_of(self, change: Change) -> list[Key]:
        """Return the sets that a change of a pod concerns."""
        keys = owner_keys(change, self._kind)
        if not keys and may_be_adopted(change):
            sets = self.context.versions.snapshot(self.resource, change.after.key[0])
            keys = adopters(((stored.key, self.selector(stored.body)) for stored in sets), change)
        return keys

    async def _reach(self, owner: Owner, active: list[Stored]) -> _Failure | None:
        """Get from the present to the wanted number of pods, or as far as it goes."""
        missing = number(owner.stored.body, "spec", "replicas", default=1) - len(active)
        try:
            if missing > 0:
                await self._create(owner, min(missing, MOST_AT_ONCE))
            elif missing < 0:
                await self._delete(owner, active, min(-missing, MOST_AT_ONCE))
        except StatusError as error:
            if any(cause.type is CauseType.NAMESPACE_TERMINATING for cause in error.causes):
                return None
            reason = "FailedCreate" if missing > 0 else "FailedDelete"
            self.recorder.warning(owner.about, reason, f"the API server refused: {error.message}")
            return _Failure(reason, error)
        return None

    async def _create(self, owner: Owner, count: int) -> None:
        """Create pods; the first refusal is not followed by further tries, as all of them are alike."""
        namespace, name = owner.stored.key
        template = child(owner.stored.body, "spec", "template")
        for _ in range(count):
            pod = pod_of(template, owner.reference(), namespace, {"generateName": f"{name}-"})
            created = await self.actor.create(pod)
            self.recorder.normal(owner.about, "SuccessfulCreate", f"created pod {created.key[1]}")

    async def _delete(self, owner: Owner, active: list[Stored], count: int) -> None:
        """Delete the pods that can be given up most easily."""
        for pod in deletion_order(active, self._related(owner, active), self.context.now())[:count]:
            await self.actor.delete(self.context.kind(PODS), pod)
            self.recorder.normal(owner.about, "SuccessfulDelete", f"deleted pod {pod.key[1]}")

    def _related(self, owner: Owner, active: list[Stored]) -> list[Stored]:
        """Return the pods of all sets with the same controller, or the set's own when nothing controls it."""
        uid = controller_uid(owner.stored.body)
        if not uid:
            return active
        siblings = self.context.replica_sets.controlled_by(uid)
        return [pod for sibling in siblings for pod in self.context.pods.controlled_by(sibling.uid)]

    def _report(self, stored: Stored, failure: _Failure | None) -> None:
        """Write a set's status, and come again when a pod will have been ready for long enough."""
        current = self.context.versions.read(self.resource, stored.key)
        if current is None or current.uid != stored.uid:
            return
        pods = [pod.body for pod in self.context.pods.controlled_by(stored.uid)]
        now, patience = self.context.now(), number(current.body, "spec", "minReadySeconds")
        active = [pod for pod in pods if is_active(pod)]
        wanted = labels_of(child(current.body, "spec", "template"))
        status: JsonObject = {"replicas": len(active)}
        counted = {
            "fullyLabeledReplicas": sum(1 for pod in active if wanted.items() <= labels_of(pod).items()),
            "readyReplicas": sum(1 for pod in active if is_ready(pod)),
            "availableReplicas": sum(1 for pod in active if is_available(pod, patience, now)),
        }
        status |= {name: count for name, count in counted.items() if count}
        if self.resource == REPLICA_SETS:
            status["terminatingReplicas"] = sum(1 for pod in pods if is_going(pod))
        status["observedGeneration"] = number(stored.body, "metadata", "generation")
        conditions = self._conditions(current.body, failure)
        if conditions:
            status["conditions"] = conditions
        body = copy_of(current.body)
        body["status"] = status
        self.context.objects.replace(self._kind, body, current)
        moment = next_availability(active, patience, now)
        if moment is not None:
            self.mark_at(stored.key, moment)

    def _conditions(self, body: JsonObject, failure: _Failure | None) -> list[JsonObject]:
        """Return a set's conditions: whether pods could not be created or deleted."""
        others = [row for row in rows(body, "status", "conditions") if text(row, "type") != "ReplicaFailure"]
        if failure is None:
            return others
        earlier = next((row for row in rows(body, "status", "conditions") if row not in others), None)
        if earlier is not None and text(earlier, "reason") == failure.reason:
            return [*others, earlier]
        condition: JsonObject = {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": failure.reason,
            "message": failure.error.message,
            "lastTransitionTime": rfc3339(self.context.now()),
        }
        return [*others, condition]


class ReplicationControllerController(ReplicaSetController):
    """Keeps the pods of ReplicationControllers, whose selector is a plain map of labels."""

    component: ClassVar[str] = "replication-controller"
    resource: ClassVar[GroupResource] = REPLICATION_CONTROLLERS

    @staticmethod
    def selector(body: JsonObject) -> LabelSelector:
        """Return what finds a controller's pods."""
        return selector_of({"matchLabels": child(body, "spec", "selector")})

    def _related(self, owner: Owner, active: list[Stored]) -> list[Stored]:
        """Return a controller's own pods."""
        del owner
        return active
