"""Looks at each change that an updater makes to a plant's pods, and at all of them after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from autoscaling.node import Node
from autoscaling.pod import Pod
from autoscaling.wire.nodes import decode_node
from autoscaling.wire.objects import decode_limit_range
from autoscaling.wire.pods import decode_pod
from autoscaling.wire.quotas import decode_quota
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.faults import Fault, Refuse
from tests.chaos.plant import UPDATER, Plant
from tests.chaos.workloads import Workload
from tests.updater.model_amounts import (
    NAMES,
    asked_of_node,
    charged,
    class_of,
    grows,
    held,
    is_live,
    is_ready,
    nano,
    out_of_limit_ranges,
    restarts_for,
)
from tests.updater.model_rules import Tokens, serves

LEAST_REPLICAS: Final = 2
"""The updater's own minReplicas."""
_BURST: Final = {"cluster": 20, "namespace": 10, "node": 10}
_CALLS: Final = r"/pods/[^/]+/(resize|eviction)$"


@dataclass
class Watchman:
    """Follows one plant.

    Args:
        plant: With its server.
        workloads: All that have a VPA.
        problems: What was done that may not be.
        counted: What was done.
    """

    plant: Plant
    workloads: dict[str, Workload]
    problems: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    _before: dict[tuple[str, str], Pod] = field(default_factory=dict)
    _evicted: set[str] = field(default_factory=set)
    _resized: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    _tokens: dict[str, Tokens] = field(default_factory=dict)
    _seen: int = 0

    def begin(self) -> None:
        """Look at every call from now on."""
        server = self.plant.cluster.server
        self._seen = sum(server.requests.total.values())
        # It strikes nothing: it only sees each call before that is carried out.
        server.faults.add(Fault(Refuse(500), path=_CALLS, count=None, when=self._arrives))
        server.requests.observe(self._answered)

    def _arrives(self, path: str, _query: dict[str, str]) -> bool:
        if (pod := self._pod(path)) is not None:
            self._before[path, pod.uid] = pod
        return False

    def _answered(self) -> None:
        call = self.plant.cluster.server.requests.entries[-1]
        if call.resource not in {"pods/resize", "pods/eviction"} or not call.caller.startswith(UPDATER):
            return
        found = [key for key in self._before if key[0] == call.path]
        for key in found:
            before, after = self._before.pop(key), self._pod(call.path)
            is_same = after is not None and after.uid == before.uid
            if call.resource == "pods/resize" and after is not None and is_same:
                if after.generation > before.generation:
                    self._note(call, before, self._faults_of_resize(call, before, after))
            elif not before.is_terminating and (after is None or not is_same or after.is_terminating):
                self._note(call, before, self._faults_of_eviction(before))

    def _note(self, call: RecordedCall, pod: Pod, problems: Iterator[str]) -> None:
        """Note a change that was carried out."""
        kind = call.resource.removeprefix("pods/")
        self.counted[kind] += 1
        told = [*problems]
        if self.plant.leader(UPDATER) != call.caller:
            told.append(f"{self.plant.leader(UPDATER) or 'nobody'} led")
        self.problems += [f"{call.at}: {kind} of {pod.name} by {call.caller}: {one}" for one in told]

    def _faults_of_resize(self, call: RecordedCall, before: Pod, after: Pod) -> Iterator[str]:
        at, by = self._resized.get(before.uid, (None, call.caller))
        if at is not None and by != call.caller and (call.at - at).total_seconds() < 50:
            yield f"{by} has resized it at {at}"
        self._resized[before.uid] = call.at, call.caller
        if class_of(after.containers) != before.qos_class:
            yield f"its QoS class was {before.qos_class}"
        for limits in self._stored("v1", "LimitRange"):
            yield from out_of_limit_ranges(after, decode_limit_range(limits).items)
        yield from self._beyond_quota()
        is_growing, restarts = grows(before, after), restarts_for(after)
        if is_growing:
            yield from self._beyond_node(after)
        if is_growing or restarts:
            yield from self._beyond_storm(before, call.at)
        if set(restarts) - set(restarts_for(before)):
            yield from self._faults_of_disruption(before)

    def _faults_of_eviction(self, pod: Pod) -> Iterator[str]:
        if pod.uid in self._evicted:
            yield "it was evicted before"
        self._evicted.add(pod.uid)
        yield from self._beyond_storm(pod, self.plant.cluster.clock.now())
        yield from self._faults_of_disruption(pod)

    def _faults_of_disruption(self, pod: Pod) -> Iterator[str]:
        """Yield what should have kept a pod from being taken down: minReplicas, group budget, disruption budget."""
        workload = self.workloads[pod.labels["app"]]
        others = [p for p in self._pods() if p.labels == pod.labels and p.uid != pod.uid]
        live, serving = sum(is_live(p) for p in others) + 1, sum(serves(p) for p in others if p.statuses)
        least = LEAST_REPLICAS if workload.min_replicas is None else workload.min_replicas
        if live < least:
            yield f"{live} live pods are fewer than minReplicas {least}"
        if not is_ready(pod):
            return
        if workload.replicas > 1 and serving < workload.replicas - workload.replicas // 2:
            yield f"of {workload.replicas} pods {serving} are left"
        if serving < workload.least_available:
            yield f"its disruption budget wants {workload.least_available}, and {serving} are left"

    def _beyond_quota(self) -> Iterator[str]:
        pods = [p for p in self._pods() if p.statuses]
        for raw in self._stored("v1", "ResourceQuota"):
            for name, hard in decode_quota(raw).hard.items():
                used = sum(charged(p, name) for p in pods)
                if used > hard.nano:
                    yield f"{used} of {name} are more than the quota's {hard}"

    def _beyond_node(self, pod: Pod) -> Iterator[str]:
        node = next((n for n in self._nodes() if n.name == pod.node_name), None)
        if node is None:
            yield "its node is not known"
            return
        there = [p for p in self._pods() if p.node_name == node.name]
        for name in NAMES:
            used = sum(held(p, name) if p.statuses else asked_of_node(p, name) for p in there)
            if used > nano(node.allocatable, name):
                yield f"its node has no room for {used} {name}"

    def _beyond_storm(self, pod: Pod, now: datetime) -> Iterator[str]:
        for scope, name in (("cluster", ""), ("namespace", pod.namespace), ("node", pod.node_name)):
            if not self._tokens.setdefault(f"{scope} {name}", Tokens(_BURST[scope])).take(now):
                yield f"the {scope} {name} had no token left"

    def _pod(self, path: str) -> Pod | None:
        found = self.plant.cluster.server.store.find("v1", "Pod", path.split("/")[-2], "default")
        return None if found is None else decode_pod(msgspec.json.encode(found))

    def _pods(self) -> list[Pod]:
        return [decode_pod(raw) for raw in self._stored("v1", "Pod")]

    def _nodes(self) -> list[Node]:
        return [decode_node(raw) for raw in self._stored("v1", "Node", "")]

    def _stored(self, version: str, kind: str, namespace: str = "default") -> list[bytes]:
        found = self.plant.cluster.server.store.list(version, kind, namespace)
        return [msgspec.json.encode(one) for one in found]


@dataclass
class History:
    """Follows the stored checkpoints of a plant: none may ever have less in it than it had.

    Attributes:
        losses: Checkpoints that had fewer samples than before, or went away.
    """

    plant: Plant
    losses: list[str] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Look after every call from now on."""
        self.plant.cluster.server.requests.observe(self._look)

    def _look(self) -> None:
        call = self.plant.cluster.server.requests.entries[-1]
        if "checkpoints" not in call.resource or call.verb in {"list", "watch", "get"}:
            return
        now = {text(one, "metadata", "name"): _samples(one) for one in self._stored()}
        self.losses += [
            f"{call.at}: {name} fell from {count} samples to {now.get(name)}"
            for name, count in self._counts.items()
            if now.get(name, 0) < count
        ]
        self._counts = now

    @property
    def counts(self) -> dict[str, int]:
        """Samples by checkpoint."""
        return dict(self._counts)

    def _stored(self) -> list[JsonObject]:
        kind = "VerticalPodAutoscalerCheckpoint"
        return self.plant.cluster.server.store.list("autoscaling.evenkeel.dev/v1", kind, "default")


def _samples(checkpoint: JsonObject) -> int:
    status = checkpoint.get("status")
    count = status.get("totalSamplesCount", 0) if isinstance(status, dict) else 0
    return count if isinstance(count, int) else 0
