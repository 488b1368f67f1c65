"""What every namespace has: its default service account and the certificate of the cluster's authority."""

from __future__ import annotations

from typing import ClassVar

from evenkeel.simulator.api.builtin import NAMESPACES
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.store import Change, ChangeType, Key
from evenkeel.simulator.controllers.pod_state import is_going
from evenkeel.simulator.controllers.reconciler import Reconciler

SERVICE_ACCOUNTS = GroupResource("", "serviceaccounts")
CONFIG_MAPS = GroupResource("", "configmaps")
AUTHORITY = "kube-root-ca.crt"


class NamespaceController(Reconciler):
    """Gives namespaces their default objects, and again when somebody removes them."""

    component: ClassVar[str] = "service-account-controller"

    def start(self) -> None:
        """Follow namespaces and the objects that belong in each."""
        self.follow_own(NAMESPACES)
        for resource in (SERVICE_ACCOUNTS, CONFIG_MAPS):
            self.follow(resource, _namespace_of_removed)

    async def reconcile(self, key: Key) -> None:
        """Create what is missing.

        Raises:
            StatusError: The API server refused it.
        """
        stored = self.context.versions.read(NAMESPACES, key)
        if stored is None or is_going(stored.body) or text(stored.body, "status", "phase") == "Terminating":
            return
        wanted: list[JsonObject] = [
            {"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": key[1]}},
            {"kind": "ConfigMap", "metadata": {"name": AUTHORITY, "namespace": key[1]}, "data": {"ca.crt": ""}},
        ]
        for obj in wanted:
            obj["apiVersion"] = "v1"
            if self.context.objects.find("v1", text(obj, "kind"), text(obj, "metadata", "name"), key[1]) is None:
                await self.actor.create(obj)


def _namespace_of_removed(change: Change) -> list[Key]:
    """Return the namespace where something has been removed."""
    return [("", change.after.key[0])] if change.type is ChangeType.DELETED else []
