"""Pods leave nodes whose NoExecute taints they do not tolerate, or no longer: PodDisruptionBudgets are not asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure, rows, text
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.context import NODES
from evenkeel.simulator.controllers.pod_state import is_finished, is_going
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.taint_patience import driving_taints, patience

_DISRUPTED = "DisruptionTarget"


class TaintEvictionController(Reconciler):
    """Deletes pods whose patience with the NoExecute taints of their node has ended.

    Patience begins when the controller first sees that it will end, and begins anew once the taints had gone. Taints
    that stand for conditions of a node have the effect NoSchedule here, so that they drive nobody away.
    """

    component: ClassVar[str] = "taint-eviction-controller"

    def start(self) -> None:
        """Follow nodes and pods."""
        self._taints: dict[str, list[JsonObject]] = {}
        self._since: dict[str, datetime] = {}
        self.follow(NODES, self._driven_away)
        self.follow(PODS, self._on_tainted)
        for node in self.context.versions.snapshot(NODES):
            for key in self._take_in(node):
                self.mark(key)

    async def reconcile(self, key: Key) -> None:
        """Delete a pod whose patience has ended, and come again for one whose patience will.

        Raises:
            StatusError: The API server refused it.
        """
        stored = self.context.versions.read(PODS, key)
        if stored is None or is_going(stored.body) or is_finished(stored.body):
            return
        taints = self._taints.get(text(stored.body, "spec", "nodeName"), [])
        limit = patience(taints, rows(stored.body, "spec", "tolerations"))
        if limit is None:
            self._stay(stored)
            return
        due = self._since.setdefault(stored.uid, self.context.now()) + limit
        if due > self.context.now():
            self.mark_at(key, due)
        else:
            await self._evict(stored)

    def _driven_away(self, change: Change) -> list[Key]:
        """Return the pods of a node whose NoExecute taints have changed."""
        if change.type is ChangeType.DELETED:
            self._taints.pop(change.after.key[1], None)
            return []
        return list(self._take_in(change.after))

    def _take_in(self, node: Stored) -> Iterator[Key]:
        """Note a node's NoExecute taints, and yield the keys of its pods if they are others than before."""
        name, taints = node.key[1], driving_taints(rows(node.body, "spec", "taints"))
        if taints == self._taints.get(name, []):
            return
        self._taints[name] = taints
        if not taints:
            del self._taints[name]
        for pod in self.context.versions.snapshot(PODS):
            if text(pod.body, "spec", "nodeName") == name:
                yield pod.key

    def _on_tainted(self, change: Change) -> list[Key]:
        """Return a pod that has changed, if its node drives pods away."""
        if change.type is ChangeType.DELETED:
            self._since.pop(change.after.uid, None)
            return []
        # Mostly no node is tainted, and then no pod has to be looked into.
        if not self._taints or text(change.after.body, "spec", "nodeName") not in self._taints:
            return []
        return [change.after.key]

    def _stay(self, pod: Stored) -> None:
        """Let a pod stay for as long as nothing changes."""
        if self._since.pop(pod.uid, None) is not None:
            message = f"pod {pod.key[1]} may stay: its node does not drive it away any more"
            self.recorder.normal((self.context.kind(PODS), pod), "TaintManagerEviction", message)

    async def _evict(self, pod: Stored) -> None:
        """Delete a pod, and say why in its status."""
        kind = self.context.kind(PODS)
        node = text(pod.body, "spec", "nodeName")
        message = f"pod {pod.key[1]} has to leave node {node}, whose taints it does not tolerate any longer"
        body = copy_of(pod.body)
        status = ensure(body, "status")
        others = [row for row in rows(status, "conditions") if text(row, "type") != _DISRUPTED]
        condition: JsonObject = {
            "type": _DISRUPTED,
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": message,
            "lastTransitionTime": rfc3339(self.context.now()),
        }
        status["conditions"] = [*others, condition]
        marked = self.context.objects.replace(kind, body, pod)
        self.recorder.normal((kind, marked), "TaintManagerEviction", message)
        await self.actor.delete(kind, marked)
