"""Reading and changing objects of a running cluster, as tests do it: by kubectl and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, is_condition_true, number_at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.waiting import wait_for

T = TypeVar("T")
_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Event:
    """One Event about an object."""

    kind: str
    name: str
    type: str
    reason: str
    message: str
    count: int
    source: str


@dataclass(frozen=True, slots=True)
class Kube:
    """Objects of one namespace of a running cluster.

    Args:
        cluster: The cluster.
        namespace: Where namespaced objects are.
        kubeconfig: With whose rights; the administrator's if None.
    """

    cluster: Cluster
    namespace: str = "default"
    kubeconfig: Path | None = None

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the namespace.

        Raises:
            ClusterError: It ends with an error; the message holds what it said.
        """
        return self.cluster.kubectl("-n", self.namespace, *arguments, stdin=stdin, kubeconfig=self.kubeconfig)

    def as_user(self, service_account: str) -> Kube:
        """Return the same with a service account's rights."""
        kubeconfig = self.cluster.token_kubeconfig(self.namespace, service_account)
        return Kube(self.cluster, self.namespace, kubeconfig)

    def read(self, kind: str, name: str) -> JsonObject:
        """Read one object.

        Raises:
            ClusterError: It is not there, or may not be read.
        """
        return _loaded(self.run("get", kind, name, "-o", "json"))

    def find(self, kind: str, name: str) -> JsonObject | None:
        """Read one object; None if it is not there."""
        answer = self.run("get", kind, name, "--ignore-not-found", "-o", "json")
        return _loaded(answer) if answer.strip() else None

    def objects(self, kind: str, selector: str = "") -> list[JsonObject]:
        """Read the objects of a kind that a label selector fits, in the order of their names."""
        return objects_at(_loaded(self.run("get", kind, "-l", selector, "-o", "json")), "items")

    def pods(self, selector: str = "") -> list[JsonObject]:
        """Read the pods that are not being deleted."""
        return [pod for pod in self.objects("pods", selector) if not text_at(pod, "metadata", "deletionTimestamp")]

    def apply(self, *documents: JsonObject) -> None:
        """Create or change objects."""
        bundle: JsonObject = {"apiVersion": "v1", "kind": "List", "items": list[JsonValue](documents)}
        self.run("apply", "-f", "-", stdin=json.dumps(bundle))

    def patch(self, kind: str, name: str, patch: JsonValue, *, subresource: str = "", style: str = "strategic") -> None:
        """Patch an object.

        Args:
            kind: Kind or resource.
            name: Its name.
            patch: The patch document.
            subresource: Such as ``resize`` or ``status``.
            style: ``strategic``, ``merge`` or ``json``.

        Raises:
            ClusterError: The API server refuses it; the message holds why.
        """
        target = ["--subresource", subresource] if subresource else []
        self.run("patch", kind, name, *target, "--type", style, "--patch", json.dumps(patch))

    def resize(self, pod: str, container: str, resources: JsonObject) -> None:
        """Patch the resources of one container through the resize subresource."""
        change: JsonObject = {"name": container, "resources": resources}
        self.patch("pod", pod, {"spec": {"containers": [change]}}, subresource="resize")

    def delete(self, kind: str, name: str, *, wait: bool = True) -> None:
        """Delete an object; harmless if it is not there."""
        self.run("delete", kind, name, "--ignore-not-found", f"--wait={'true' if wait else 'false'}")

    def events(self, name: str = "", reason: str = "") -> list[Event]:
        """Read the events, oldest first, of all objects or of one name, with any reason or this one."""
        found = objects_at(_loaded(self.run("get", "events", "--sort-by=.lastTimestamp", "-o", "json")), "items")
        events = [_event(document) for document in found]
        return [event for event in events if name in {"", event.name} and reason in {"", event.reason}]

    def wait_for(self, check: Callable[[], T | None], what: str, *, timeout_seconds: float = _WAIT_SECONDS) -> T:
        """Wait until ``check`` returns something true; see ``waiting.wait_for``."""
        return wait_for(check, timeout_seconds, what, every_seconds=0.5)

    def wait_for_pods(
        self, selector: str, count: int = 1, *, timeout_seconds: float = _WAIT_SECONDS
    ) -> list[JsonObject]:
        """Wait until exactly so many pods fit the selector and all are Ready."""

        def ready() -> list[JsonObject] | None:
            pods = self.pods(selector)
            assert len(pods) == count, f"{len(pods)} pods"
            waiting = [text_at(pod, "metadata", "name") for pod in pods if not is_condition_true(pod, "Ready")]
            assert not waiting, f"not Ready: {', '.join(waiting)}"
            return pods

        return self.wait_for(ready, f"{count} ready pods {selector}", timeout_seconds=timeout_seconds)


def is_refused(error: ClusterError, code: str) -> bool:
    """Say whether kubectl's words name this kind of refusal, such as ``Forbidden`` or ``NotFound``."""
    return f"({code})" in error.problem


def _loaded(text: str) -> JsonObject:
    document: JsonObject = json.loads(text)
    return document


def _event(document: JsonObject) -> Event:
    return Event(
        kind=text_at(document, "involvedObject", "kind"),
        name=text_at(document, "involvedObject", "name"),
        type=text_at(document, "type"),
        reason=text_at(document, "reason"),
        message=text_at(document, "message"),
        count=max(number_at(document, "count"), 1),
        source=text_at(document, "source", "component") or text_at(document, "reportingComponent"),
    )
