"""Events that controllers write, and their end after an hour."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from evenkeel.simulator.api.fields import JsonObject, child, ensure, number, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.clock import rfc3339


class EventType(StrEnum):
    """The two types of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Recorder:
    """Writes events; one that says the same of the same object as an earlier one raises that one's count.

    Args:
        objects: Where events are stored.
        component: Who writes them.
    """

    def __init__(self, objects: ObjectStore, component: str) -> None:
        self._objects = objects
        self._component = component

    def normal(self, about: tuple[Kind, Stored], reason: str, message: str) -> None:
        """Record that something happened as it should."""
        self._record(about, EventType.NORMAL, reason, message)

    def warning(self, about: tuple[Kind, Stored], reason: str, message: str) -> None:
        """Record that something went wrong."""
        self._record(about, EventType.WARNING, reason, message)

    def _record(self, about: tuple[Kind, Stored], kind: EventType, reason: str, message: str) -> None:
        """Write an event, or count it once more."""
        involved = _reference(*about)
        namespace = text(involved, "namespace") or "default"
        said = "\0".join((self._component, text(involved, "uid"), kind, reason, message))
        name = f"{text(involved, 'name')}.{hashlib.sha256(said.encode()).hexdigest()[:16]}"
        now = rfc3339(self._objects.now())
        with self._objects.versions.lock:
            earlier = self._objects.find("v1", "Event", name, namespace)
            if earlier is not None:
                earlier["count"], earlier["lastTimestamp"] = number(earlier, "count", default=1) + 1, now
                ensure(earlier, "metadata").pop("resourceVersion", None)
                self._objects.update(earlier)
                return
            self._objects.create(
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": name, "namespace": namespace},
                    "involvedObject": involved,
                    "reason": reason,
                    "message": message,
                    "type": kind.value,
                    "source": {"component": self._component},
                    "reportingComponent": self._component,
                    "reportingInstance": "",
                    "firstTimestamp": now,
                    "lastTimestamp": now,
                    "eventTime": None,
                    "count": 1,
                }
            )


def _reference(kind: Kind, stored: Stored) -> JsonObject:
    """Return how an event names the object that it is about."""
    metadata = child(stored.body, "metadata")
    reference: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version}
    for field in ("namespace", "name", "uid", "resourceVersion"):
        if text(metadata, field):
            reference[field] = metadata[field]
    return reference
