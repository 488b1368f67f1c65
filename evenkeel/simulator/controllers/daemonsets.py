"""DaemonSets: one pod on every node that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, labels_of, number, text
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, ChangeType, Key
from evenkeel.simulator.controllers.claims import Owner, adopters, claim, may_be_adopted, owner_keys
from evenkeel.simulator.controllers.context import DAEMON_SETS, NODES
from evenkeel.simulator.controllers.daemon_plan import (
    Allowance,
    DaemonPod,
    Moves,
    Place,
    bound_to,
    managed,
    suits,
    tolerations_for,
    updated,
)
from evenkeel.simulator.controllers.node_fit import target_node
from evenkeel.simulator.controllers.pod_state import (
    LONG_AGO,
    created,
    is_available,
    is_finished,
    is_going,
    is_ready,
    next_availability,
)
from evenkeel.simulator.controllers.proportions import scaled
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.revisions import REVISION_LABEL, Revision, RevisionHistory, label_of_pod
from evenkeel.simulator.controllers.templates import pod_of

MOST_AT_ONCE = 250
"""How many pods one reconciliation creates at most."""


FIRST_PATIENCE, LONGEST_PATIENCE = timedelta(seconds=1), timedelta(minutes=15)
"""How long after an ended pod on a node the next ended one is left there."""


@dataclass(frozen=True, slots=True)
class _Patience:
    """Until when an ended pod stays on a node, and for how long the one after it will."""

    until: datetime = LONG_AGO
    next: timedelta = FIRST_PATIENCE


class DaemonSetController(Reconciler):
    """Keeps the pods of DaemonSets."""

    component: ClassVar[str] = "daemonset-controller"

    def start(self) -> None:
        """Follow DaemonSets, all pods and the nodes."""
        self._kind = self.context.kind(DAEMON_SETS)
        self._history = RevisionHistory(self.context, self.actor)
        self._patience: dict[tuple[str, str], _Patience] = {}
        self.follow_own(DAEMON_SETS)
        self.follow(PODS, self._sets_of)
        self.follow(NODES, self._all_sets)

    async def reconcile(self, key: Key) -> None:
        """Create and delete what is due, and report.

        Raises:
            StatusError: The API server refused something.
        """
        stored = self.context.versions.read(DAEMON_SETS, key)
        if stored is None:
            return
        owner = Owner(self._kind, stored, selector_of(child(stored.body, "spec", "selector")))
        revision, _ = await self._history.update(owner)
        claim(self.context, owner, self.context.kind(PODS), self.context.pods)
        try:
            if not is_going(stored.body):
                await self._act(owner, revision)
        finally:
            self._report(owner, revision)

    def _sets_of(self, change: Change) -> list[Key]:
        """Return the sets that a change of a pod concerns."""
        keys = owner_keys(change, self._kind)
        if not keys and may_be_adopted(change):
            found = self.context.versions.snapshot(DAEMON_SETS, change.after.key[0])
            pairs = ((stored.key, selector_of(child(stored.body, "spec", "selector"))) for stored in found)
            keys = adopters(pairs, change)
        return keys

    def _all_sets(self, change: Change) -> list[Key]:
        """Return all sets when a node has come, gone or begun to suit other pods."""
        before = change.before
        if (
            change.type is ChangeType.MODIFIED
            and before
            and _suitability(before.body) == _suitability(change.after.body)
        ):
            return []
        return [stored.key for stored in self.context.versions.snapshot(DAEMON_SETS)]

    async def _act(self, owner: Owner, revision: Revision) -> None:
        """First give each node what it should have, then go on with an update."""
        body = owner.stored.body
        places = self._places(owner, revision)
        allowance = _allowance(body, sum(1 for place in places if place.run))
        await self._carry_out(owner, revision, managed(places, surges=bool(allowance and allowance.surge)))
        if allowance is not None:
            await self._carry_out(owner, revision, updated(self._places(owner, revision), allowance))

    async def _carry_out(self, owner: Owner, revision: Revision, moves: Moves) -> None:
        """Delete and create pods."""
        pods = {pod.key[1]: pod for pod in self.context.pods.controlled_by(owner.stored.uid)}
        for name in moves.delete:
            if is_finished(pods[name].body):
                if not self._may_replace(owner, text(pods[name].body, "spec", "nodeName")):
                    continue
                self.recorder.warning(owner.about, "FailedDaemonPod", f"pod {name} has ended and is replaced")
            await self.actor.delete(self.context.kind(PODS), pods[name])
            self.recorder.normal(owner.about, "SuccessfulDelete", f"deleted pod {name}")
        for node in moves.create[:MOST_AT_ONCE]:
            await self._create(owner, revision, node)

    def _may_replace(self, owner: Owner, node: str) -> bool:
        """Say whether a pod that has ended on a node may be replaced already; each time it takes twice as long."""
        now, key = self.context.now(), (owner.stored.uid, node)
        patience = self._patience.get(key, _Patience())
        if now < patience.until:
            self.mark_at(owner.stored.key, patience.until)
            return False
        longer = FIRST_PATIENCE if now - patience.until > 2 * LONGEST_PATIENCE else patience.next
        self._patience[key] = _Patience(now + longer, min(2 * longer, LONGEST_PATIENCE))
        return True

    async def _create(self, owner: Owner, revision: Revision, node: str) -> None:
        """Create the pod of one node."""
        namespace, name = owner.stored.key
        labels = {
            REVISION_LABEL: revision.suffix,
            "pod-template-generation": str(number(owner.stored.body, "metadata", "generation")),
        }
        metadata: JsonObject = {"generateName": f"{name}-", "labels": labels}
        template = child(owner.stored.body, "spec", "template")
        pod = pod_of(template, owner.reference(), namespace, metadata)
        ensure(pod, "spec")["tolerations"] = tolerations_for(pod)
        affinity = ensure(pod, "spec", "affinity", "nodeAffinity")
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = bound_to(node)
        try:
            made = await self.actor.create(pod)
        except StatusError as error:
            self.recorder.warning(owner.about, "FailedCreate", f"a pod for node {node} was refused: {error.message}")
            raise
        self.recorder.normal(owner.about, "SuccessfulCreate", f"created pod {made.key[1]}")

    def _places(self, owner: Owner, revision: Revision) -> list[Place]:
        """Return every node with the set's pods on it, and those that have pods but do not exist."""
        now, patience = self.context.now(), number(owner.stored.body, "spec", "minReadySeconds")
        by_node: dict[str, list[DaemonPod]] = {}
        for pod in self.context.pods.controlled_by(owner.stored.uid):
            node = text(pod.body, "spec", "nodeName") or target_node(pod.body)
            by_node.setdefault(node, []).append(
                DaemonPod(
                    pod.key[1],
                    label_of_pod(pod.body) == revision.suffix,
                    created(pod.body),
                    is_finished(pod.body),
                    is_going(pod.body),
                    is_available(pod.body, patience, now),
                )
            )
        sample: JsonObject = {"spec": child(owner.stored.body, "spec", "template", "spec")}
        places: list[Place] = []
        for stored in self.context.versions.snapshot(NODES):
            run, stay = suits(sample, stored.body)
            places.append(Place(stored.key[1], run, stay, tuple(by_node.pop(stored.key[1], ()))))
        return places + [Place(node, run=False, stay=False, pods=tuple(by_node[node])) for node in sorted(by_node)]

    def _report(self, owner: Owner, revision: Revision) -> None:
        """Write a set's status, and come again when a pod will have been ready for long enough."""
        key = owner.stored.key
        current = self.context.versions.read(DAEMON_SETS, key)
        if current is None:
            return
        pods = [pod.body for pod in self.context.pods.controlled_by(current.uid)]
        body = copy_of(current.body)
        ready = {pod["name"] for pod in (child(pod, "metadata") for pod in pods if is_ready(pod))}
        status = _status(self._places(owner, revision), frozenset(str(name) for name in ready))
        status["observedGeneration"] = number(owner.stored.body, "metadata", "generation")
        body["status"] = status
        self.context.objects.replace(self._kind, body, current)
        self._history.clean_up(owner, [revision.name, *(f"{key[1]}-{label_of_pod(pod)}" for pod in pods)])
        moment = next_availability(pods, number(current.body, "spec", "minReadySeconds"), self.context.now())
        if moment is not None:
            self.mark_at(key, moment)


def _suitability(node: JsonObject) -> tuple[object, ...]:
    """Return what of a node decides which pods suit it."""
    spec = child(node, "spec")
    return labels_of(node), spec.get("taints"), spec.get("unschedulable")


def _allowance(body: JsonObject, wanted: int) -> Allowance | None:
    """Return how far an update of a set that should run on so many nodes may go."""
    strategy = child(body, "spec", "updateStrategy")
    if text(strategy, "type") == "OnDelete":
        return None
    rolling = child(strategy, "rollingUpdate")
    surge = scaled(rolling.get("maxSurge", 0), wanted, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 1), wanted, round_up=True)
    return Allowance(unavailable or int(surge == 0), surge)


def _status(places: list[Place], ready: frozenset[str]) -> JsonObject:
    """Return the numbers of a set's status."""
    wanted = [place for place in places if place.run]
    oldest = {
        place.node: min(place.pods, key=lambda pod: (not pod.updated, pod.created)) for place in wanted if place.pods
    }
    available = sum(1 for place in wanted if any(pod.available and not pod.going for pod in place.pods))
    status: JsonObject = {
        "currentNumberScheduled": len(oldest),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": sum(1 for place in places if not place.run and place.pods),
        "numberReady": sum(1 for place in wanted if any(pod.name in ready for pod in place.pods)),
    }
    updated_count = sum(1 for pod in oldest.values() if pod.updated)
    more = {
        "updatedNumberScheduled": updated_count,
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }
    return status | {name: count for name, count in more.items() if count}
