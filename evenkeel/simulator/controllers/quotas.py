"""The status of ResourceQuotas: what is used, counted anew whenever something is given back."""

from __future__ import annotations

from typing import ClassVar

from autoscaling.quantity import ZERO
from evenkeel.simulator.api.builtin import PODS, RESOURCE_QUOTAS
from evenkeel.simulator.api.containers import amounts
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows
from evenkeel.simulator.api.kinds import GroupResource, Kind
from evenkeel.simulator.api.pod_amounts import Amounts, add, is_infeasible
from evenkeel.simulator.api.quota_usage import counts, usage_of
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.controllers.pod_state import is_finished
from evenkeel.simulator.controllers.reconciler import Reconciler


class QuotaController(Reconciler):
    """Keeps the status of ResourceQuotas (spec: in-place-resize 1.6).

    What is added is charged at admission. What is given back shows here: when an object goes, when a pod ends, when a
    pod's status shows smaller resources; anything else at the next full count.
    """

    component: ClassVar[str] = "resourcequota-controller"

    def start(self) -> None:
        """Follow quotas and everything in namespaces that they may count."""
        self._kind = self.context.kind(RESOURCE_QUOTAS)
        self.follow_own(RESOURCE_QUOTAS)
        resources = {kind.resource: kind for kind in self.context.server.registry.all() if kind.namespaced}
        for resource in sorted(resources):
            if resource != RESOURCE_QUOTAS:
                self.follow(resource, self._given_back)

    async def reconcile(self, key: Key) -> None:
        """Count what is used, and come again after a while.

        Raises:
            StatusError: The quota was written meanwhile.
        """
        stored = self.context.versions.read(RESOURCE_QUOTAS, key)
        if stored is None:
            return
        hard = amounts(child(stored.body, "spec"), "hard")
        used = self._used(stored, list(hard))
        body = copy_of(stored.body)
        body["status"] = {
            "hard": dict(child(stored.body, "spec", "hard")),
            "used": {name: str(used.get(name, ZERO)) for name in hard},
        }
        self.context.objects.replace(self._kind, body, stored)
        self.mark(key, self.context.settings.quota_sync_period)

    def _given_back(self, change: Change) -> list[Key]:
        """Return the quotas of a namespace where something has been given back."""
        if change.type is not ChangeType.DELETED and not _shows_less(change):
            return []
        return [quota.key for quota in self.context.versions.snapshot(RESOURCE_QUOTAS, change.after.key[0])]

    def _used(self, quota: Stored, names: list[str]) -> Amounts:
        """Return what all objects that a quota counts add up to."""
        total: Amounts = {}
        for kind in self._counted_kinds(names):
            for stored in self.context.versions.snapshot(kind.resource, quota.key[0]):
                if counts(quota.body, kind, stored.body):
                    usage = usage_of(kind, stored.body, self.context.now())
                    add(total, {name: amount for name, amount in usage.items() if name in names})
        return total

    def _counted_kinds(self, names: list[str]) -> list[Kind]:
        """Return the kinds that a quota's names are about, each once."""
        found: dict[GroupResource, Kind] = {}
        for kind in self.context.server.registry.all():
            by_name = f"count/{kind.resource}" in names or (not kind.group and kind.plural in names)
            is_pods = kind.resource == PODS and any(not name.startswith("count/") for name in names)
            if kind.namespaced and kind.view is None and (by_name or is_pods):
                found.setdefault(kind.resource, kind)
        return list(found.values())


def _shows_less(change: Change) -> bool:
    """Say whether a pod has just ended, or its status shows other resources than before."""
    before = change.before
    if before is None or "containers" not in child(change.after.body, "spec"):
        return False
    if is_finished(change.after.body) != is_finished(before.body):
        return True
    return _shown(before.body) != _shown(change.after.body)


def _shown(pod: JsonObject) -> list[object]:
    """Return the resources that a pod's status shows, and whether its spec has stopped counting."""
    shown: list[object] = [is_infeasible(pod)]
    for group in ("containerStatuses", "initContainerStatuses"):
        for row in rows(pod, "status", group):
            shown += [row.get("resources"), row.get("allocatedResources")]
    return shown
