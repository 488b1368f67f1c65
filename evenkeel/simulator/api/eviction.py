"""The ``eviction`` subresource of pods: disruption budgets are asked, spent, and only then is the pod deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenkeel.simulator.api.builtin import BUDGETS
from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.deletes import DeleteOptions, Deleter, check_preconditions
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, labels_of, number, rows, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.selectors import selector_of
from evenkeel.simulator.api.status import (
    Cause,
    CauseType,
    StatusError,
    bad_request,
    forbidden,
    success,
    too_many_requests,
)
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.clock import rfc3339

_NO_BUDGET_NEEDED = ("Pending", "Succeeded", "Failed")
_MOST_DISRUPTED = 2000


@dataclass(slots=True)
class Evictions:
    """Evictions of one server (spec: in-place-resize 4).

    Args:
        objects: Where pods and budgets are stored.
        deleter: Deletes what may be evicted.
    """

    objects: ObjectStore
    deleter: Deleter

    def evict(self, call: Call) -> JsonObject:
        """Evict the pod that a call names.

        Raises:
            StatusError: It does not exist, a budget protects it, or a precondition fails.
        """
        request = call.object()
        name = call.target.name
        named = text(request, "metadata", "name")
        if named and named != name:
            raise bad_request(f"metadata.name is {named!r} in the eviction and {name!r} in the path")
        given = child(request, "deleteOptions")
        options = DeleteOptions.of(given)
        if given.get("dryRun") and call.query.get("dryRun") and not options.dry_run:
            raise bad_request("dryRun of the query and of deleteOptions must not differ")
        dry_run = options.dry_run or call.dry_run
        with self.objects.versions.lock:
            self._carry_out(call, replace(options, dry_run=dry_run))
        return success(code=201)

    def _carry_out(self, call: Call, options: DeleteOptions) -> None:
        """Ask and spend the budget, then check the preconditions, then delete."""
        kind = call.target.kind
        pod = self.objects.existing(kind, call.target.key)
        if not _needs_no_budget(pod.body):
            self._spend_budget(kind, pod, dry_run=options.dry_run)
        check_preconditions(kind, pod, options)
        if not options.dry_run:
            self._mark(kind, pod)
        unconditional = replace(options, uid="", resource_version="")
        self.deleter.carry_out(kind, call.target.name, call.target.namespace, unconditional)

    def _spend_budget(self, kind: Kind, pod: Stored, *, dry_run: bool) -> None:
        """Take one disruption from the pod's budget, if it has one that must be asked."""
        budgets = self._budgets_of(pod)
        if len(budgets) > 1:
            raise StatusError(500, "", f"the pod has {len(budgets)} PodDisruptionBudgets; eviction supports only one")
        if not budgets or _is_exempt(pod.body, budgets[0].body):
            return
        budget_kind = self.objects.registry.at(BUDGETS.group, "v1", BUDGETS.plural)
        assert budget_kind is not None
        budget = self.objects.existing(budget_kind, budgets[0].key)
        refusal = _refusal(kind, pod, budget.body)
        if refusal is not None:
            raise refusal
        if not dry_run:
            self.objects.replace(budget_kind, self._spent(budget, pod), budget)

    def _budgets_of(self, pod: Stored) -> list[Stored]:
        """Return the budgets whose selector finds a pod; one that cannot be read finds nothing."""
        found: list[Stored] = []
        for budget in self.objects.versions.snapshot(BUDGETS, pod.key[0]):
            try:
                selector = selector_of(child(budget.body, "spec", "selector"))
            except StatusError:
                continue
            if selector.matches(labels_of(pod.body)):
                found.append(budget)
        return found

    def _spent(self, budget: Stored, pod: Stored) -> JsonObject:
        """Return a budget with one disruption less and the pod among the disrupted."""
        body = copy_of(budget.body)
        status = ensure(body, "status")
        status["disruptionsAllowed"] = number(status, "disruptionsAllowed") - 1
        ensure(status, "disruptedPods")[pod.key[1]] = rfc3339(self.objects.now())
        return body

    def _mark(self, kind: Kind, pod: Stored) -> None:
        """Put the condition on a pod that says why it goes away."""
        current = self.objects.existing(kind, pod.key)
        body = copy_of(current.body)
        conditions = [row for row in rows(body, "status", "conditions") if text(row, "type") != "DisruptionTarget"]
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "the pod is being evicted through the eviction API",
            "lastTransitionTime": rfc3339(self.objects.now()),
        }
        ensure(body, "status")["conditions"] = [*conditions, condition]
        self.objects.replace(kind, body, current)


def _needs_no_budget(body: JsonObject) -> bool:
    """Say whether a pod serves nobody: not yet, no longer, or already going."""
    return text(body, "status", "phase") in _NO_BUDGET_NEEDED or bool(text(body, "metadata", "deletionTimestamp"))


def _is_ready(body: JsonObject) -> bool:
    """Say whether a pod's Ready condition holds."""
    conditions = rows(body, "status", "conditions")
    return any(text(row, "type") == "Ready" and text(row, "status") == "True" for row in conditions)


def _is_exempt(pod: JsonObject, budget: JsonObject) -> bool:
    """Say whether a pod that is not ready may go without spending the budget."""
    if _is_ready(pod):
        return False
    if text(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = number(budget, "status", "desiredHealthy")
    return desired > 0 and number(budget, "status", "currentHealthy") >= desired


def _refusal(kind: Kind, pod: Stored, budget: JsonObject) -> StatusError | None:
    """Return why a budget does not allow an eviction now, None when it does."""
    name, status = text(budget, "metadata", "name"), child(budget, "status")
    subject = kind.subject(pod.key[1])
    if number(status, "observedGeneration") < number(budget, "metadata", "generation"):
        return _protected(kind, pod, f"disruption budget {name} has changed and is not evaluated yet").retry_after(10)
    allowed = number(status, "disruptionsAllowed")
    if allowed < 0:
        return forbidden(subject, "its disruption budget allows less than no disruption")
    if len(child(status, "disruptedPods")) > _MOST_DISRUPTED:
        return forbidden(subject, f"its disruption budget waits for more than {_MOST_DISRUPTED} earlier evictions")
    if allowed:
        return None
    needs, has = number(status, "desiredHealthy"), number(status, "currentHealthy")
    return _protected(kind, pod, f"disruption budget {name} needs {needs} healthy pods and has {has}")


def _protected(kind: Kind, pod: Stored, cause: str) -> StatusError:
    """Return the refusal of an eviction that a budget does not allow now."""
    causes = (Cause(CauseType.DISRUPTION_BUDGET, "", cause),)
    message = "the pod's disruption budget allows no eviction now"
    return too_many_requests(kind.subject(pod.key[1]), message, causes)
