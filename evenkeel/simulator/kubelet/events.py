"""Events about pods and the node, merged and rationed as the client library of Kubernetes does (spec: 3.11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.api.builtin import EVENTS
from evenkeel.simulator.api.fields import JsonObject, as_object, copy_of, encode
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.kubelet.podview import Allocation, PodView, Role, resources_json

NORMAL, WARNING = "Normal", "Warning"
MERGED_PREFIX = "(combined from similar events): "

_SIMILAR, _WITHIN = 10, timedelta(minutes=10)
_BUDGET, _REFILL = 25, timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing to tell.

    Args:
        type: Normal or Warning.
        reason: One word.
        message: In words.
        container: The container it is about, if it is about one.
        annotations: Further facts for programs.
    """

    type: str
    reason: str
    message: str
    container: str = ""
    annotations: tuple[tuple[str, str], ...] = ()


def resize_summary(view: PodView, resources: Allocation, generation: int, error: str = "") -> str:
    """Return the JSON text in a resize event's message."""
    summary: JsonObject = {}
    for field_name, roles in (("initContainers", (Role.INIT, Role.SIDECAR)), ("containers", (Role.REGULAR,))):
        listed = [
            {"name": c.name, "resources": resources_json(resources.get(c.name, c.resources))}
            for c in view.of_role(*roles)
        ]
        if listed:
            summary[field_name] = listed
    summary["generation"] = generation
    if error:
        summary["error"] = error
    return encode(summary).decode()


@dataclass(slots=True)
class _Similar:
    """Events that agree in all but their message."""

    messages: list[str] = field(default_factory=list)
    last: datetime | None = None


@dataclass(slots=True)
class _Budget:
    """How many events about one object may still be written."""

    left: float
    since: datetime


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one event.

    Args:
        message: Its message as written.
        key: What makes it the same event as an earlier one, of which only the count rises then.
        dropped: Whether nothing is written.
    """

    message: str
    key: tuple[str, ...]
    dropped: bool


class Correlator:
    """Merges similar events and drops those beyond the budget of their object."""

    def __init__(self) -> None:
        self._similar: dict[tuple[str, ...], _Similar] = {}
        self._budgets: dict[tuple[str, ...], _Budget] = {}

    def judge(self, subject: tuple[str, ...], event: Event, now: datetime) -> Verdict:
        """Say what becomes of an event about an object.

        From the tenth different message of a kind within ten minutes on, one event stands for all; 25 events about an
        object may be written at once, and one more every five minutes.
        """
        group = (*subject, event.type, event.reason, event.container)
        similar = self._similar.get(group)
        if similar is None or (similar.last is not None and now - similar.last > _WITHIN):
            similar = self._similar[group] = _Similar()
        similar.last = now
        if event.message not in similar.messages:
            similar.messages.append(event.message)
        merged = len(similar.messages) >= _SIMILAR
        if merged:
            del similar.messages[: len(similar.messages) - _SIMILAR + 1]
        key = group if merged else (*group, event.message)
        message = MERGED_PREFIX + event.message if merged else event.message
        return Verdict(message, key, dropped=not self._spend(subject, now))

    def _spend(self, subject: tuple[str, ...], now: datetime) -> bool:
        """Take one event from an object's budget, and say whether there was one."""
        budget = self._budgets.setdefault(subject, _Budget(_BUDGET, now))
        budget.left = min(float(_BUDGET), budget.left + (now - budget.since) / _REFILL)
        budget.since = now
        if budget.left < 1.0:
            return False
        budget.left -= 1.0
        return True

    def forget(self, subject: tuple[str, ...]) -> None:
        """Drop what is known of an object that has gone."""
        self._budgets.pop(subject, None)
        for group in [group for group in self._similar if group[: len(subject)] == subject]:
            del self._similar[group]


class Recorder:
    """Writes the events of one kubelet.

    Args:
        store: Where to.
        host: The node's name.
        later: Calls back after the time that writing takes.
    """

    def __init__(self, store: ObjectStore, host: str, later: Callable[[Callable[[], None]], None]) -> None:
        self._store = store
        self._host = host
        self._later = later
        self._correlator = Correlator()
        self._written: dict[tuple[str, ...], str] = {}
        self._numbers = 0

    def tell(self, view: PodView, event: Event) -> None:
        """Write an event about a pod."""
        involved: JsonObject = {
            "kind": "Pod",
            "namespace": view.namespace,
            "name": view.name,
            "uid": view.uid,
            "apiVersion": "v1",
            "resourceVersion": str(as_object(view.body.get("metadata")).get("resourceVersion") or ""),
        }
        if event.container:
            role = next((c.role for c in view.containers if c.name == event.container), Role.REGULAR)
            group = "containers" if role is Role.REGULAR else "initContainers"
            involved["fieldPath"] = f"spec.{group}{{{event.container}}}"
        self._record((view.namespace, view.name, view.uid), involved, event)

    def tell_of_node(self, uid: str, event: Event) -> None:
        """Write an event about the node."""
        involved: JsonObject = {"kind": "Node", "name": self._host, "uid": uid}
        self._record(("default", self._host, uid), involved, event)

    def forget(self, view: PodView) -> None:
        """Drop what is known of a pod that has gone."""
        subject = (view.namespace, view.name, view.uid)
        self._correlator.forget(subject)
        for key in [key for key in self._written if key[: len(subject)] == subject]:
            del self._written[key]

    def _record(self, subject: tuple[str, ...], involved: JsonObject, event: Event) -> None:
        """Write an event, or raise the count of one that says the same."""
        now = self._store.now()
        verdict = self._correlator.judge(subject, event, now)
        if verdict.dropped:
            return
        namespace, name, _ = subject
        known = self._written.get(verdict.key)
        if known is None:
            self._numbers += 1
            known = f"{name}.{int(now.timestamp() * 1_000_000):x}{self._numbers:04x}"
            self._written[verdict.key] = known
        body: JsonObject = {
            "metadata": {"name": known, "namespace": namespace},
            "involvedObject": involved,
            "type": event.type,
            "reason": event.reason,
            "message": verdict.message,
            "source": {"component": "kubelet", "host": self._host},
            "firstTimestamp": rfc3339(now),
            "lastTimestamp": rfc3339(now),
            "count": 1,
            "eventTime": None,
            "reportingComponent": "kubelet",
            "reportingInstance": self._host,
        }
        if event.annotations:
            as_object(body["metadata"])["annotations"] = dict(event.annotations)
        self._later(lambda: self._write(body))

    def _write(self, body: JsonObject) -> None:
        """Store an event, or count it with the one of that name."""
        kind = self._store.registry.named("v1", "Event")
        assert kind is not None
        metadata = as_object(body["metadata"])
        key = (str(metadata["namespace"]), str(metadata["name"]))
        with self._store.versions.lock:
            current = self._store.versions.read(EVENTS, key)
            if current is None:
                self._store.insert(kind, body)
                return
            counted = copy_of(current.body)
            count = counted.get("count")
            counted["count"] = (count if isinstance(count, int) else 1) + 1
            counted["message"], counted["lastTimestamp"] = body["message"], body["lastTimestamp"]
            self._store.replace(kind, counted, current)
