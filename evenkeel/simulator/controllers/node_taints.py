"""Taints that follow the conditions of nodes, so that nothing is scheduled where it would not run."""

from __future__ import annotations

from typing import ClassVar

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, rows, text
from evenkeel.simulator.api.store import Key
from evenkeel.simulator.controllers.context import NODES
from evenkeel.simulator.controllers.reconciler import Reconciler

_BY_CONDITION = {
    ("Ready", "False"): "node.kubernetes.io/not-ready",
    ("Ready", "Unknown"): "node.kubernetes.io/unreachable",
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_NO_SCHEDULE = "NoSchedule"
_OWN = (*_BY_CONDITION.values(), _UNSCHEDULABLE)


class NodeTaintController(Reconciler):
    """Keeps the NoSchedule taints that stand for conditions; NoExecute taints are left to whoever sets them."""

    component: ClassVar[str] = "node-lifecycle-controller"

    def start(self) -> None:
        """Follow nodes."""
        self.follow_own(NODES)

    async def reconcile(self, key: Key) -> None:
        """Write the taints that a node should have.

        Raises:
            StatusError: The node was written meanwhile.
        """
        stored = self.context.versions.read(NODES, key)
        if stored is None:
            return
        present = rows(stored.body, "spec", "taints")
        wanted = wanted_taints(stored.body)
        if present == wanted:
            return
        body = copy_of(stored.body)
        ensure(body, "spec")["taints"] = wanted
        if not wanted:
            del ensure(body, "spec")["taints"]
        self.context.objects.replace(self.context.kind(NODES), body, stored)


def wanted_taints(node: JsonObject) -> list[JsonObject]:
    """Return the taints that a node should have: those of others, and one for each condition that keeps pods away."""
    keys = [
        taint
        for row in rows(node, "status", "conditions")
        if (taint := _BY_CONDITION.get((text(row, "type"), text(row, "status"))))
    ]
    if child(node, "spec").get("unschedulable") is True:
        keys.append(_UNSCHEDULABLE)
    present = rows(node, "spec", "taints")
    kept = [taint for taint in present if not _is_own(taint) or text(taint, "key") in keys]
    named = [text(taint, "key") for taint in kept if _is_own(taint)]
    return kept + [{"key": key, "effect": _NO_SCHEDULE} for key in sorted(set(keys)) if key not in named]


def _is_own(taint: JsonObject) -> bool:
    """Say whether a taint is one that stands for a condition."""
    return text(taint, "effect") == _NO_SCHEDULE and text(taint, "key") in _OWN
