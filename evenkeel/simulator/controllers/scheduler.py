"""The scheduler: pods that wait are put on nodes, the more important ones first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, rows, text
from evenkeel.simulator.api.pod_amounts import spec_requests
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, ChangeType, Key, Stored
from evenkeel.simulator.api.subresources import assign
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.context import NODES, Context
from evenkeel.simulator.controllers.node_fit import UNSCHEDULABLE_TAINT, Effect, accepts, untolerated
from evenkeel.simulator.controllers.node_scores import best_node
from evenkeel.simulator.controllers.node_usage import PODS_RESOURCE, NodeState, NodeUsage, Share
from evenkeel.simulator.controllers.pod_state import is_finished, is_going
from evenkeel.simulator.controllers.reconciler import Reconciler
from evenkeel.simulator.controllers.scheduling_queue import SchedulingQueue, Waiting

NAME = "default-scheduler"
_CYCLE: Key = ("", "cycle")
_ENOUGH_NODES = 100
"""After how many fitting nodes a search ends, so that in larger clusters not every node is looked at for every pod."""


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a pod asks of a node."""

    pod: JsonObject
    requests: dict[str, int]
    tolerations: list[JsonObject]
    choosy: bool


@dataclass(frozen=True, slots=True)
class _Search:
    """What a search for a node has found: nodes that fit, and why the others do not."""

    fitting: list[NodeState]
    obstacles: dict[str, int]
    lacking: frozenset[str]


class Scheduler(Reconciler):
    """Puts pods on nodes (spec: in-place-resize 2 and 6.2); it never removes a pod to make room for another."""

    component: ClassVar[str] = NAME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.usage = NodeUsage()
        self._queue = SchedulingQueue()
        self._start_at = 0

    def start(self) -> None:
        """Take nodes and pods in, and follow them."""
        with self.context.versions.lock:
            for node in self.context.versions.snapshot(NODES):
                self.usage.put_node(node)
            for pod in self.context.versions.snapshot(PODS):
                self.usage.put_pod(pod)
                self._consider(pod, None)
            self._stops.append(self.context.versions.observe(NODES, self._node_changed))
            self._stops.append(self.context.versions.observe(PODS, self._pod_changed))

    async def reconcile(self, key: Key) -> None:
        """Try every pod whose time has come, in order.

        Raises:
            StatusError: A pod was written meanwhile in a way that its next attempt does not mend.
        """
        del key
        now = self.context.now()
        with self.context.versions.lock:
            due = self._queue.ready(now)
        for pod in due:
            self._try(pod)
        with self.context.versions.lock:
            moment = self._queue.next_moment()
        if moment is not None:
            self.mark_at(_CYCLE, moment)

    def _node_changed(self, change: Change) -> None:
        """Take a node's change in; whatever may help a pod wakes those that wait."""
        if change.type is ChangeType.DELETED:
            self.usage.drop_node(change.after.key[1])
            return
        self.usage.put_node(change.after)
        before = change.before
        if before is None or _offer(before.body) != _offer(change.after.body):
            self._wake(lambda _: True)

    def _pod_changed(self, change: Change) -> None:
        """Take a pod's change in; what it gives back wakes the pods that lack it."""
        before, after = self.usage.apply(change)
        freed = _freed(before, after)
        if freed:
            self._wake(lambda waiting: bool(waiting.lacking & freed))
        self._consider(change.after, change)

    def _wake(self, concerned: Callable[[Waiting], bool]) -> None:
        """Have parked pods tried again."""
        self._queue.wake(concerned)
        self.mark(_CYCLE)

    def _consider(self, pod: Stored, change: Change | None) -> None:
        """Let a pod wait when it needs a node, and let it go when it does not any more."""
        if (change is not None and change.type is ChangeType.DELETED) or not _needs_node(pod.body):
            self._queue.remove(pod.key)
            return
        before = change.before if change is not None else None
        if pod.key in self._queue and before is not None and child(before.body, "spec") == child(pod.body, "spec"):
            return
        self._queue.add(pod.key, number(pod.body, "spec", "priority"), self.context.now())
        self.mark(_CYCLE)

    def _try(self, key: Key) -> None:
        """Put one pod on a node, or say why that is not possible."""
        pod = self.context.versions.read(PODS, key)
        if pod is None or not _needs_node(pod.body):
            self._queue.remove(key)
            return
        requests = {name: amount.nano for name, amount in spec_requests(pod.body).items()}
        found = self._search(pod.body, requests)
        if not found.fitting:
            message = _explain(found, len(self.usage.nodes()))
            self._park(pod, found.lacking, message)
            self.recorder.warning((self.context.kind(PODS), pod), "FailedScheduling", message)
            return
        node = best_node(pod.body, requests, found.fitting)
        bound = assign(self.context.objects, self.context.kind(PODS), key, node.name)
        message = f"put {key[0]}/{key[1]} on node {node.name}"
        self.recorder.normal((self.context.kind(PODS), bound), "Scheduled", message)

    def _search(self, pod: JsonObject, requests: dict[str, int]) -> _Search:
        """Return the nodes that fit a pod, all or enough of them, beginning where the last search ended."""
        nodes = self.usage.nodes()
        needs = _Needs(pod, requests, rows(pod, "spec", "tolerations"), _is_choosy(pod))
        found = _Search([], {}, frozenset())
        lacking: set[str] = set()
        start = self._start_at % len(nodes) if nodes else 0
        looked_at = 0
        for node in nodes[start:] + nodes[:start]:
            looked_at += 1
            obstacles, short = _obstacles(needs, node)
            lacking.update(short)
            for obstacle in obstacles:
                found.obstacles[obstacle] = found.obstacles.get(obstacle, 0) + 1
            if not obstacles:
                found.fitting.append(node)
            if len(found.fitting) >= _ENOUGH_NODES:
                break
        self._start_at = start + looked_at if len(nodes) > _ENOUGH_NODES else 0
        return _Search(sorted(found.fitting, key=lambda node: node.name), found.obstacles, frozenset(lacking))

    def _park(self, pod: Stored, lacking: frozenset[str], message: str) -> None:
        """Let a pod wait for something to happen, and show why in its status."""
        with self.context.versions.lock:
            if pod.key in self._queue:
                self._queue.park(pod.key, lacking, self.context.now())
        body = copy_of(pod.body)
        condition: JsonObject = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "observedGeneration": number(body, "metadata", "generation"),
            "lastTransitionTime": rfc3339(self.context.now()),
        }
        earlier = rows(body, "status", "conditions")
        for row in earlier:
            if text(row, "type") == "PodScheduled" and text(row, "status") == "False":
                condition["lastTransitionTime"] = text(row, "lastTransitionTime")
        others = [row for row in earlier if text(row, "type") != "PodScheduled"]
        ensure(body, "status")["conditions"] = [*others, condition]
        # A pod that was written meanwhile is looked at again anyway.
        with suppress(StatusError):
            self.context.objects.replace(self.context.kind(PODS), body, pod)


def _needs_node(pod: JsonObject) -> bool:
    """Say whether this scheduler has to find a node for a pod; not while a scheduling gate is closed."""
    if text(pod, "spec", "nodeName") or is_finished(pod) or is_going(pod) or rows(pod, "spec", "schedulingGates"):
        return False
    return text(pod, "spec", "schedulerName") in {"", NAME}


def _offer(node: JsonObject) -> tuple[object, ...]:
    """Return what of a node decides which pods fit it."""
    spec, status = child(node, "spec"), child(node, "status")
    labels = child(node, "metadata", "labels")
    return labels, spec.get("taints"), spec.get("unschedulable"), status.get("allocatable"), status.get("capacity")


def _freed(before: Share | None, after: Share | None) -> frozenset[str]:
    """Return the resources of which a pod takes less than before, the place of a pod among them."""
    if before is None:
        return frozenset()
    if after is None or after.node != before.node:
        return frozenset({*before.requests, PODS_RESOURCE})
    return frozenset(name for name, amount in before.requests.items() if after.requests.get(name, 0) < amount)


def _is_choosy(pod: JsonObject) -> bool:
    """Say whether a pod asks for certain nodes."""
    spec = child(pod, "spec")
    return bool(spec.get("nodeSelector") or child(spec, "affinity", "nodeAffinity"))


def _obstacles(needs: _Needs, node: NodeState) -> tuple[list[str], list[str]]:
    """Return why a node does not fit a pod, empty when it does, and the resources that are lacking there."""
    if node.taints:
        taints = untolerated(node.taints, needs.tolerations, Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
        if taints:
            key = text(taints[0], "key")
            return ["cordoned" if key == text(UNSCHEDULABLE_TAINT, "key") else f"taint {key} not tolerated"], []
    if needs.choosy and not accepts(needs.pod, node.body or {}):
        return ["node selector or affinity not met"], []
    short = node.lacks(needs.requests)
    return ["too many pods" if name == PODS_RESOURCE else f"insufficient {name}" for name in short], short


def _explain(found: _Search, nodes: int) -> str:
    """Return why no node fits, with how many nodes each reason holds for."""
    if not nodes:
        return "there are no nodes"
    listed = ", ".join(f"{count} {obstacle}" for obstacle, count in sorted(found.obstacles.items()))
    return f"none of {nodes} nodes fits: {listed}"
