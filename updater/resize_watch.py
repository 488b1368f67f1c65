"""Since when each pod has been seen in the middle of a resize, as a reducer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from autoscaling.objectref import ObjectRef


@dataclass(frozen=True, slots=True)
class ResizeWatch:
    """When a round first asked how long a pod has been mid-resize (updater C-5).

    An entry is named after the pod, is never refreshed and never goes away: a later resize of the same pod, or of
    its successor of the same name, counts from the first one (updater K-1, W-13).
    """

    first_seen: Mapping[ObjectRef, datetime] = field(default_factory=dict)

    def seeing(self, pods: Iterable[ObjectRef], now: datetime) -> ResizeWatch:
        """Return the watch with the pods that it does not know yet."""
        new = {pod: now for pod in pods if pod not in self.first_seen}
        return ResizeWatch({**self.first_seen, **new}) if new else self

    def waited(self, pod: ObjectRef, now: datetime) -> timedelta:
        """Return the time since a pod was first seen, nothing for one that is seen now."""
        return now - self.first_seen.get(pod, now)
