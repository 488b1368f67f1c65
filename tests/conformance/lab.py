"""The words that the resize scenarios are written in: pods, resizes, and what is waited for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, number, rows, text
from evenkeel.simulator.kubelet.accounting import requests_of
from evenkeel.simulator.kubelet.settings import Amounts
from tests.conformance.bench import IDLE, Answer, Bench, Doing, Seen

T = TypeVar("T")
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
MEBIBYTE = 2**20
SECOND = timedelta(seconds=1)
MOMENT = timedelta(milliseconds=100)
RESTARTS: list[JsonObject] = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
_REASONS = ("ResizeStarted", "ResizeCompleted", "ResizeDeferred", "ResizeInfeasible", "ResizeError")
_SHORT = dict(zip(_REASONS, "SCDIE", strict=True))


def amounts(cpu: str = "", memory: str = "") -> JsonObject:
    """Return requests or limits."""
    return {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}


def sized(requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
    """Return the resources of a container."""
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


BURSTABLE = sized(amounts("100m", "128Mi"), amounts("200m", "256Mi"))
GUARANTEED = sized(amounts("500m", "256Mi"), amounts("500m", "256Mi"))


def change(
    requests: JsonObject | None = None,
    limits: JsonObject | None = None,
    *,
    container: str = "app",
    group: str = "containers",
) -> JsonObject:
    """Return a strategic merge patch of one container's resources."""
    return {"spec": {group: [{"name": container, "resources": sized(requests, limits)}]}}


@dataclass(frozen=True, slots=True)
class Told:
    """One event about a pod.

    Args:
        reason: Its reason.
        type: Normal or Warning.
        message: Its message.
        count: How often it was told.
        generation: The generation in a resize event.
        error: The error in a resize event.
        summary: All that a resize event says.
    """

    reason: str
    type: str
    message: str
    count: int
    generation: int
    error: str
    summary: JsonObject


class Lab:
    """One scenario's view of a bench.

    Args:
        bench: The cluster.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    # Objects

    def pod(self, name: str, *containers: JsonObject, **spec: object) -> JsonObject:
        """Return a pod for the bench's node, by default with one Burstable container."""
        held = list(containers) or [self.container(BURSTABLE)]
        whole = {"nodeName": self.bench.node, "terminationGracePeriodSeconds": 1, "dnsPolicy": "Default"}
        whole |= {"containers": held} | spec
        metadata = {"name": name, "namespace": self.bench.namespace, "labels": {"app": name}}
        kept = {key: value for key, value in whole.items() if value is not None}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": kept}

    def container(self, resources: JsonObject, name: str = "app", does: Doing = IDLE, **fields: object) -> JsonObject:
        """Return a container."""
        return self.bench.container(name, copy_of(resources), does) | fields

    def path(self, name: str, subresource: str = "") -> str:
        """Return the path of a pod."""
        whole = f"/api/v1/namespaces/{self.bench.namespace}/pods/{name}"
        return f"{whole}/{subresource}" if subresource else whole

    def create(self, obj: JsonObject, plural: str = "pods", group: str = "/api/v1") -> Answer:
        """Create a namespaced object."""
        return self.bench.call("POST", f"{group}/namespaces/{self.bench.namespace}/{plural}", obj)

    def run(self, obj: JsonObject) -> JsonObject:
        """Create a pod, wait until it is ready, and leave it alone until it is quiet."""
        answer = self.create(obj)
        assert answer.code == 201, answer
        name = text(obj, "metadata", "name")
        self.wait(lambda: condition(self.read(name), "Ready", "True"), f"{name} ready")
        self.bench.pass_time(3 * SECOND)
        return self.read(name)

    def read(self, name: str) -> JsonObject:
        """Return a pod as it is stored."""
        answer = self.bench.call("GET", self.path(name))
        assert answer.code == 200, answer
        return answer.body

    def find(self, name: str) -> JsonObject | None:
        """Return a pod as it is stored, None where it is not there, as it may cease to be at any moment."""
        answer = self.bench.call("GET", self.path(name))
        assert answer.code in {200, 404}, answer
        return answer.body if answer.code == 200 else None

    def exists(self, name: str) -> bool:
        """Say whether a pod's object is there."""
        return self.find(name) is not None

    def delete(self, name: str) -> None:
        """Delete a pod and wait until its object has gone."""
        assert self.bench.call("DELETE", self.path(name)).code == 200
        self.wait(lambda: not self.exists(name), f"{name} gone")

    def patch(self, name: str, patch: JsonObject, *, subresource: str = "resize", kind: str = STRATEGIC) -> Answer:
        """Patch a pod."""
        return self.bench.call("PATCH", self.path(name, subresource), patch, kind)

    def resize(self, name: str, requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
        """Resize the container ``app``, which the API server accepts, and return the pod from its answer."""
        answer = self.patch(name, change(requests, limits))
        assert answer.code == 200, answer
        return answer.body

    # Waiting

    def wait(self, check: Callable[[], T | None], what: str, seconds: float = 30) -> T:
        """Let time pass until something is so."""
        return self.bench.wait_until(check, what, timedelta(seconds=seconds))

    def settle(self, name: str, seconds: float = 10) -> JsonObject:
        """Wait until a pod's newest resize is complete by its status, and return the pod."""

        def settled() -> JsonObject | None:
            pod = self.read(name)
            return pod if is_settled(pod) else None

        return self.wait(settled, f"{name} converged", seconds)

    def acknowledged(self, name: str, generation: int) -> JsonObject:
        """Wait until the kubelet has seen a generation, and return the pod."""

        def seen() -> JsonObject | None:
            pod = self.read(name)
            return pod if number(pod, "status", "observedGeneration") >= generation else None

        return self.wait(seen, f"{name} observed at generation {generation}", 5)

    def put_off(self, name: str, generation: int, reason: str) -> JsonObject:
        """Wait until a resize waits, or is refused, for the given generation; return the condition."""

        def waiting() -> JsonObject | None:
            row = condition(self.read(name), PENDING)
            return row if row and number(row, "observedGeneration") == generation else None

        found = self.wait(waiting, f"{name} pending at generation {generation}", 5)
        assert text(found, "reason") == reason, found
        return found

    def failing(self, name: str) -> JsonObject:
        """Wait until a failed attempt shows in a pod's status, and return the condition."""

        def error() -> JsonObject | None:
            row = condition(self.read(name), IN_PROGRESS)
            return row if row and text(row, "reason") == "Error" else None

        return self.wait(error, f"{name} shows the error")

    # What was told and counted

    def events(self, name: str) -> list[Told]:
        """Return all events about a pod, oldest first."""
        answer = self.bench.call("GET", f"/api/v1/namespaces/{self.bench.namespace}/events")
        found = [row for row in rows(answer.body, "items") if text(row, "involvedObject", "name") == name]
        found.sort(key=lambda row: int(text(row, "metadata", "resourceVersion")))
        return [_told(row) for row in found]

    def resize_events(self, name: str) -> str:
        """Return the resize events of a pod in short: letter and generation, such as ``S2 C2``."""
        told = [event for event in self.events(name) if event.reason in _SHORT]
        return " ".join(f"{_SHORT[event.reason]}{event.generation}" for event in told)

    def told(self, name: str, letters: str) -> None:
        """Wait until exactly these resize events were told, and see that no more come."""
        self.wait(lambda: self.resize_events(name) == letters, f"{name}: {letters}", 5)
        self.bench.pass_time(SECOND)
        assert self.resize_events(name) == letters

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of one series of the kubelet, 0 when it is not there."""
        for line in self.bench.metrics_text().splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if match and match[1] == name and dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")) == labels:
                return float(match[3])
        return 0.0

    def free(self) -> Amounts:
        """Return what the node has left for pods."""
        answer = self.bench.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={self.bench.node}")
        left = self.bench.allocatable
        for pod in rows(answer.body, "items"):
            if text(pod, "status", "phase") not in {"Succeeded", "Failed"}:
                left = left.minus(requests_of(pod))
        return left

    def versions(self, name: str, since: int = 0) -> list[Seen]:
        """Return the versions of a pod that were seen, from a generation on."""
        return [s for s in self.bench.history(name) if number(s.pod, "metadata", "generation") >= since]


def _told(row: JsonObject) -> Told:
    """Read an event."""
    message = text(row, "message")
    start = message.find("{")
    summary: JsonObject = {}
    if text(row, "reason") in _SHORT and start >= 0:
        summary = as_object(json.loads(message[start:]))
    return Told(
        text(row, "reason"),
        text(row, "type"),
        message,
        max(1, number(row, "count")),
        number(summary, "generation"),
        text(summary, "error"),
        summary,
    )


def condition(pod: JsonObject, kind: str, status: str = "") -> JsonObject | None:
    """Return a condition of a pod, if it is there with such a status."""
    found = (row for row in rows(pod, "status", "conditions") if text(row, "type") == kind)
    return next((row for row in found if status in {"", text(row, "status")}), None)


def status_of(pod: JsonObject, name: str = "app") -> JsonObject:
    """Return the status of one container."""
    listed = [*rows(pod, "status", "containerStatuses"), *rows(pod, "status", "initContainerStatuses")]
    return next(row for row in listed if text(row, "name") == name)


def spec_of(pod: JsonObject, name: str = "app") -> JsonObject:
    """Return the spec of one container."""
    listed = [*rows(pod, "spec", "containers"), *rows(pod, "spec", "initContainers")]
    return next(row for row in listed if text(row, "name") == name)


def actual(pod: JsonObject, name: str = "app") -> JsonObject:
    """Return the actual resources of a container."""
    return child(status_of(pod, name), "resources")


def shown(pod: JsonObject, section: str, resource: str, name: str = "app") -> str:
    """Return one actual amount."""
    return text(actual(pod, name), section, resource)


def same_amounts(left: JsonObject, right: JsonObject) -> bool:
    """Say whether two resources are the same as numbers."""
    return all(_numbers(left, section) == _numbers(right, section) for section in ("requests", "limits"))


def _numbers(resources: JsonObject, section: str) -> dict[str, int]:
    """Return requests or limits as numbers."""
    return {key: Quantity.parse(str(value)).nano for key, value in child(resources, section).items()}


def is_settled(pod: JsonObject) -> bool:
    """Say whether a pod's newest resize is complete, by generation, conditions and resources."""
    generation = number(pod, "metadata", "generation")
    if number(pod, "status", "observedGeneration") < generation:
        return False
    if condition(pod, PENDING) or condition(pod, IN_PROGRESS):
        return False
    names = [text(c, "name") for c in rows(pod, "spec", "containers")]
    return all(same_amounts(actual(pod, name), child(spec_of(pod, name), "resources")) for name in names)


def generation_of(pod: JsonObject) -> int:
    """Return a pod's generation."""
    return number(pod, "metadata", "generation")


def restarts(pod: JsonObject, name: str = "app") -> int:
    """Return how often a container was restarted."""
    return number(status_of(pod, name), "restartCount")


def causes(answer: Answer) -> list[tuple[str, str]]:
    """Return type and field of every cause of a refusal."""
    return [(text(cause, "reason"), text(cause, "field")) for cause in rows(answer.body, "details", "causes")]


def refused(answer: Answer, *wanted: tuple[str, str]) -> None:
    """See that a request was found invalid for these causes."""
    assert (answer.code, causes(answer)) == (422, list(wanted)), answer
