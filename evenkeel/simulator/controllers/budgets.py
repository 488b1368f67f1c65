"""The status of PodDisruptionBudgets, which the eviction API spends."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from evenkeel.simulator.api.builtin import BUDGETS, PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, labels_of, number, rows, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.selectors import LabelSelector, selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.clock import parse_rfc3339, rfc3339
from evenkeel.simulator.controllers.budget_plan import (
    DELETION_PATIENCE,
    Health,
    count_healthy,
    desired_healthy,
    needs_scale,
    still_disrupted,
)
from evenkeel.simulator.controllers.context import (
    DEPLOYMENTS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from evenkeel.simulator.controllers.pod_state import is_going, is_ready
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.scales import NoScaleError, expected_by_controllers

_SCALED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)


class BudgetController(Reconciler):
    """Keeps the status of PodDisruptionBudgets (spec: in-place-resize 4)."""

    component: ClassVar[str] = "disruption-controller"

    def start(self) -> None:
        """Follow budgets, pods, and what asks for pods."""
        self._kind = self.context.kind(BUDGETS)
        self.follow_own(BUDGETS)
        self.follow(PODS, self._budgets_of)
        for resource in _SCALED:
            self._follow_scale(resource)

    async def reconcile(self, key: Key) -> None:
        """Count, and write what may be disrupted.

        Raises:
            StatusError: The budget was written meanwhile.
        """
        stored = self.context.versions.read(BUDGETS, key)
        if stored is None or is_going(stored.body):
            return
        pods = self._pods_of(stored)
        now = self.context.now()
        bodies = {pod.key[1]: pod.body for pod in pods}
        disrupted = still_disrupted(self._disrupted(stored, bodies), bodies, now)
        try:
            expected = self._expected(stored, pods)
        except NoScaleError as error:
            self.recorder.warning((self._kind, stored), "CalculateExpectedPodCountFailed", str(error))
            self._write_failure(stored, str(error))
            return
        current = count_healthy(list(bodies.values()), disrupted)
        self._write(stored, Health(expected, desired_healthy(stored.body, expected), current), disrupted)
        if disrupted:
            self.mark_at(key, min(disrupted.values()) + DELETION_PATIENCE)

    def _budgets_of(self, change: Change) -> list[Key]:
        """Return the budgets that a change of a pod concerns, if it changes what they count."""
        before = change.before
        if change.type is ChangeType.MODIFIED and before and _counted(before.body) == _counted(change.after.body):
            return []
        sides = [labels_of(side.body) for side in (before, change.after) if side is not None]
        found: list[Key] = []
        for budget in self.context.versions.snapshot(BUDGETS, change.after.key[0]):
            selector = _selector(budget.body)
            if selector is not None and any(selector.matches(labels) for labels in sides):
                found.append(budget.key)
        return found

    def _follow_scale(self, resource: GroupResource) -> None:
        """Mark all budgets of a namespace when something there asks for another number of pods."""

        def budgets(change: Change) -> list[Key]:
            if change.type is ChangeType.MODIFIED and change.before is not None:
                sizes = [number(side.body, "spec", "replicas") for side in (change.before, change.after)]
                if sizes[0] == sizes[1]:
                    return []
            return [budget.key for budget in self.context.versions.snapshot(BUDGETS, change.after.key[0])]

        self.follow(resource, budgets)

    def _pods_of(self, budget: Stored) -> list[Stored]:
        """Return the pods that a budget's selector finds."""
        selector = _selector(budget.body)
        if selector is None:
            return []
        pods = self.context.versions.snapshot(PODS, budget.key[0])
        return [pod for pod in pods if selector.matches(labels_of(pod.body))]

    def _expected(self, budget: Stored, pods: list[Stored]) -> int:
        """Return how many pods a budget reckons with."""
        return expected_by_controllers(self.context, pods) if needs_scale(budget.body) else len(pods)

    def _disrupted(self, budget: Stored, pods: dict[str, JsonObject]) -> dict[str, datetime]:
        """Return which pods were evicted when, and tell of those that are still there after too long."""
        found = {
            name: parse_rfc3339(str(moment)) for name, moment in child(budget.body, "status", "disruptedPods").items()
        }
        for name, moment in sorted(found.items()):
            late = moment + DELETION_PATIENCE <= self.context.now()
            if late and name in pods and not is_going(pods[name]):
                message = f"pod {name} was evicted and is still there; it counts again"
                self.recorder.warning((self._kind, budget), "NotDeleted", message)
        return found

    def _write(self, budget: Stored, health: Health, disrupted: dict[str, datetime]) -> None:
        """Write what a budget has and allows."""
        enough = health.allowed > 0
        reason = "SufficientPods" if enough else "InsufficientPods"
        status: JsonObject = {
            "currentHealthy": health.current,
            "desiredHealthy": health.desired,
            "expectedPods": health.expected,
            "disruptionsAllowed": health.allowed,
            "observedGeneration": number(budget.body, "metadata", "generation"),
        }
        if disrupted:
            status["disruptedPods"] = {name: rfc3339(moment) for name, moment in disrupted.items()}
        status["conditions"] = self._conditions(budget, reason, "", holds=enough)
        self._replace(budget, status)

    def _write_failure(self, budget: Stored, message: str) -> None:
        """Allow nothing while it is not known how many pods there should be."""
        conditions = self._conditions(budget, "SyncFailed", message, holds=False)
        earlier = child(budget.body, "status")
        self._replace(budget, {**earlier, "disruptionsAllowed": 0, "conditions": conditions})

    def _replace(self, budget: Stored, status: JsonObject) -> None:
        """Write a budget's status."""
        body = copy_of(budget.body)
        body["status"] = status
        self.context.objects.replace(self._kind, body, budget)

    def _conditions(self, budget: Stored, reason: str, message: str, *, holds: bool) -> list[JsonObject]:
        """Return a budget's conditions with the one that says whether disruptions are allowed."""
        earlier = rows(budget.body, "status", "conditions")
        value = "True" if holds else "False"
        condition: JsonObject = {
            "type": "DisruptionAllowed",
            "status": value,
            "reason": reason,
            "message": message,
            "observedGeneration": number(budget.body, "metadata", "generation"),
            "lastTransitionTime": rfc3339(self.context.now()),
        }
        for row in earlier:
            if text(row, "type") == "DisruptionAllowed" and text(row, "status") == value:
                condition["lastTransitionTime"] = text(row, "lastTransitionTime")
        return [row for row in earlier if text(row, "type") != "DisruptionAllowed"] + [condition]


def _selector(budget: JsonObject) -> LabelSelector | None:
    """Return what finds a budget's pods; None when it finds none or cannot be read."""
    selector = child(budget, "spec").get("selector")
    if not isinstance(selector, dict):
        return None
    try:
        return selector_of(child(budget, "spec", "selector"))
    except StatusError:
        return None


def _counted(pod: JsonObject) -> tuple[object, ...]:
    """Return what of a pod decides how budgets count it."""
    return labels_of(pod), is_going(pod), is_ready(pod), child(pod, "metadata").get("ownerReferences")
