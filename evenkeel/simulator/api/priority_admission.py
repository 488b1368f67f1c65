"""PriorityClasses at work: a new pod gets the number that the class it names stands for."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, child, ensure, number, text
from evenkeel.simulator.api.kinds import GroupResource, Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.status import forbidden
from evenkeel.simulator.api.store import Stored

PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(slots=True)
class Priorities:
    """The priority classes of one server.

    Args:
        objects: Where they are stored.
    """

    objects: ObjectStore

    def resolve(self, kind: Kind, pod: JsonObject) -> None:
        """Set a new pod's priority by the class it names, or by the default class when it names none.

        Raises:
            StatusError: It names a class that does not exist (403).
        """
        name = text(pod, "spec", "priorityClassName")
        if name in _SYSTEM_CLASSES:
            ensure(pod, "spec")["priority"] = _SYSTEM_CLASSES[name]
            return
        found = self.objects.versions.read(PRIORITY_CLASSES, ("", name)) if name else self._default()
        if found is not None:
            spec = ensure(pod, "spec")
            spec["priorityClassName"], spec["priority"] = found.key[1], number(found.body, "value")
            spec.setdefault("preemptionPolicy", text(found.body, "preemptionPolicy") or "PreemptLowerPriority")
        elif name:
            why = f"there is no PriorityClass {name!r}; create it or leave spec.priorityClassName out"
            raise forbidden(kind.subject(text(child(pod, "metadata"), "name")), why)

    def _default(self) -> Stored | None:
        """Return the class of pods that name none: the lowest one that is marked as default."""
        marked = [
            stored
            for stored in self.objects.versions.snapshot(PRIORITY_CLASSES)
            if stored.body.get("globalDefault") is True
        ]
        return min(marked, key=lambda stored: number(stored.body, "value"), default=None)
