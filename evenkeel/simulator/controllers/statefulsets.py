"""StatefulSets: pods with a number each, made, updated and given up in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, text
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, Key, Stored
from evenkeel.simulator.controllers.claims import Owner, adopters, claim, may_be_adopted, owner_keys
from evenkeel.simulator.controllers.context import STATEFUL_SETS
from evenkeel.simulator.controllers.ordinals import Act, Order, PodState, next_acts, revision_for
from evenkeel.simulator.controllers.pod_state import (
    is_available,
    is_finished,
    is_going,
    is_ready,
    next_availability,
)
from evenkeel.simulator.controllers.proportions import scaled
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.revisions import (
    REVISION_LABEL,
    Revision,
    RevisionHistory,
    label_of_pod,
    revision_named,
)
from evenkeel.simulator.controllers.templates import pod_of

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
HASH_LABEL = "controller.kubernetes.io/hash"
_NAME = re.compile(r"(?P<set>.+)-(?P<ordinal>0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class _View:
    """A StatefulSet in one moment."""

    owner: Owner
    order: Order
    current: Revision
    revisions: list[Revision]
    pods: dict[int, Stored]


class StatefulSetController(Reconciler):
    """Keeps the pods of StatefulSets; volumes are not simulated."""

    component: ClassVar[str] = "statefulset-controller"

    def start(self) -> None:
        """Follow StatefulSets and all pods."""
        self._kind = self.context.kind(STATEFUL_SETS)
        self._history = RevisionHistory(self.context, self.actor, HASH_LABEL)
        self.follow_own(STATEFUL_SETS)
        self.follow(PODS, self._sets_of)

    async def reconcile(self, key: Key) -> None:
        """Take the next steps that the order allows, and report.

        Raises:
            StatusError: The API server refused something.
        """
        stored = self.context.versions.read(STATEFUL_SETS, key)
        if stored is None:
            return
        owner = Owner(self._kind, stored, selector_of(child(stored.body, "spec", "selector")))
        update, revisions = await self._history.update(owner)
        claimed = claim(self.context, owner, self.context.kind(PODS), self.context.pods)
        current = revision_named(revisions, text(stored.body, "status", "currentRevision")) or update
        view = _View(owner, _order_of(stored.body, update), current, revisions, _by_ordinal(stored, claimed))
        try:
            if not is_going(stored.body):
                await self._act(view)
        finally:
            self._report(view)

    def _sets_of(self, change: Change) -> list[Key]:
        """Return the sets that a change of a pod concerns."""
        keys = owner_keys(change, self._kind)
        if not keys and may_be_adopted(change):
            found = self.context.versions.snapshot(STATEFUL_SETS, change.after.key[0])
            pairs = ((stored.key, selector_of(child(stored.body, "spec", "selector"))) for stored in found)
            keys = [key for key in adopters(pairs, change) if _ordinal(key[1], change.after.key[1]) is not None]
        return keys

    async def _act(self, view: _View) -> None:
        """Create and delete what the order allows now."""
        now, patience = self.context.now(), number(view.owner.stored.body, "spec", "minReadySeconds")
        states = {
            ordinal: PodState(
                label_of_pod(pod.body),
                is_finished(pod.body),
                is_going(pod.body),
                text(pod.body, "status", "phase") == "Running" and is_available(pod.body, patience, now),
            )
            for ordinal, pod in view.pods.items()
        }
        for ordinal, act in next_acts(view.order, states):
            if act is Act.CREATE:
                await self._create(view, ordinal)
            else:
                await self._delete(view, view.pods[ordinal])

    async def _create(self, view: _View, ordinal: int) -> None:
        """Create the pod of an ordinal."""
        owner = view.owner
        namespace, name = owner.stored.key
        revision = revision_named(view.revisions, revision_for(view.order, view.current.name, ordinal)) or view.current
        pod_name = f"{name}-{ordinal}"
        labels = {POD_NAME_LABEL: pod_name, POD_INDEX_LABEL: str(ordinal), REVISION_LABEL: revision.name}
        pod = pod_of(revision.template, owner.reference(), namespace, {"name": pod_name, "labels": labels})
        spec = ensure(pod, "spec")
        spec["hostname"] = pod_name
        if text(owner.stored.body, "spec", "serviceName"):
            spec["subdomain"] = text(owner.stored.body, "spec", "serviceName")
        try:
            await self.actor.create(pod)
        except StatusError as error:
            self.recorder.warning(owner.about, "FailedCreate", f"pod {pod_name} was refused: {error.message}")
            raise
        self.recorder.normal(owner.about, "SuccessfulCreate", f"created pod {pod_name}")

    async def _delete(self, view: _View, pod: Stored) -> None:
        """Delete a pod."""
        about = view.owner.about
        if is_finished(pod.body):
            self.recorder.warning(about, "RecreatingFailedPod", f"pod {pod.key[1]} has ended and is replaced")
        await self.actor.delete(self.context.kind(PODS), pod)
        self.recorder.normal(about, "SuccessfulDelete", f"deleted pod {pod.key[1]}")

    def _report(self, view: _View) -> None:
        """Write a set's status, and come again when a pod will have been ready for long enough."""
        key = view.owner.stored.key
        current = self.context.versions.read(STATEFUL_SETS, key)
        if current is None:
            return
        now, patience = self.context.now(), number(current.body, "spec", "minReadySeconds")
        pods = [pod.body for pod in _by_ordinal(current, self.context.pods.controlled_by(current.uid)).values()]
        body = copy_of(current.body)
        body["status"] = _status(view, pods, sum(1 for pod in pods if is_available(pod, patience, now)))
        self.context.objects.replace(self._kind, body, current)
        status = child(body, "status")
        live = [text(status, "currentRevision"), text(status, "updateRevision"), *(label_of_pod(pod) for pod in pods)]
        self._history.clean_up(view.owner, live)
        moment = next_availability(pods, patience, now)
        if moment is not None:
            self.mark_at(key, moment)


def _order_of(body: JsonObject, update: Revision) -> Order:
    """Return what a StatefulSet asks for."""
    replicas = number(body, "spec", "replicas", default=1)
    strategy = child(body, "spec", "updateStrategy")
    rolling = child(strategy, "rollingUpdate")
    unavailable = scaled(rolling.get("maxUnavailable", 1), replicas, round_up=False)
    return Order(
        start=number(body, "spec", "ordinals", "start"),
        replicas=replicas,
        ordered=text(body, "spec", "podManagementPolicy") != "Parallel",
        update=update.name,
        partition=None if text(strategy, "type") == "OnDelete" else number(rolling, "partition"),
        unavailable=max(1, unavailable),
    )


def _ordinal(set_name: str, pod_name: str) -> int | None:
    """Return the ordinal in a pod's name, None when it is not one of this set's names."""
    found = _NAME.fullmatch(pod_name)
    return int(found["ordinal"]) if found and found["set"] == set_name else None


def _by_ordinal(stored: Stored, pods: list[Stored]) -> dict[int, Stored]:
    """Return a set's pods by ordinal."""
    pairs = ((_ordinal(stored.key[1], pod.key[1]), pod) for pod in pods)
    return dict(sorted(((found, pod) for found, pod in pairs if found is not None), key=lambda pair: pair[0]))


def _status(view: _View, pods: list[JsonObject], available: int) -> JsonObject:
    """Return the status of a set with these pods, of which so many are available."""
    staying = [pod for pod in pods if not is_going(pod)]
    ready = sum(1 for pod in pods if text(pod, "status", "phase") == "Running" and is_ready(pod))
    updated = sum(1 for pod in staying if label_of_pod(pod) == view.order.update)
    current = view.current.name
    done = view.order.partition is not None and updated == ready == len(pods) == view.order.replicas
    if done:
        current = view.order.update
    at_current = sum(1 for pod in staying if label_of_pod(pod) == current)
    status: JsonObject = {"replicas": len(pods)}
    numbers = {"readyReplicas": ready, "currentReplicas": at_current, "updatedReplicas": updated}
    status |= {name: count for name, count in numbers.items() if count}
    status["availableReplicas"] = available
    status["currentRevision"], status["updateRevision"] = current, view.order.update
    status["observedGeneration"] = number(view.owner.stored.body, "metadata", "generation")
    status["collisionCount"] = 0
    return status
