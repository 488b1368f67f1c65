"""Writing pod statuses, and finishing deletions: the kubelet's half of what the API server shows of a pod."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, as_object, child, texts
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.clock import Timer
from evenkeel.simulator.kubelet.podview import PodView
from evenkeel.simulator.kubelet.records import PodRecord
from evenkeel.simulator.kubelet.status import differs, merged_status


class Reports:
    """The status writes of one kubelet process.

    Args:
        store: Where to.
        later: Calls back after a time, as long as the process lives.
        delay: How long a write takes; what is overtaken meanwhile is never seen.
    """

    def __init__(
        self, store: ObjectStore, later: Callable[[timedelta, Callable[[], None]], Timer], delay: timedelta
    ) -> None:
        self._store = store
        self._later = later
        self._delay = delay
        self._on_the_way: set[str] = set()

    def publish(self, record: PodRecord, status: JsonObject) -> None:
        """Write a pod's status soon, if it says anything new."""
        if record.status and not differs(status, record.status):
            return
        record.status = status
        self.rewrite(record)

    def rewrite(self, record: PodRecord) -> None:
        """Write the status that is known already once more."""
        uid = record.view.uid
        if uid not in self._on_the_way:
            self._on_the_way.add(uid)
            self._later(self._delay, lambda: self._write(record))

    def is_overwritten(self, record: PodRecord, body: JsonObject) -> bool:
        """Say whether somebody else has changed what this kubelet reported of a pod."""
        stored = child(body, "status")
        if record.view.uid in self._on_the_way or not record.status:
            return False
        return differs(merged_status(stored, record.status), stored)

    def finish_deletion(self, view: PodView) -> None:
        """Remove a pod's object, or say that only its finalizers hold it now."""
        with self._store.versions.lock:
            current = self._current(view)
            if current is None:
                return
            if texts(current.body, "metadata", "finalizers"):
                metadata = {**child(current.body, "metadata"), "deletionGracePeriodSeconds": 0}
                self._replace(current, {**current.body, "metadata": metadata})
                return
            self._store.versions.remove(PODS, view.key, expected=current)

    def _write(self, record: PodRecord) -> None:
        """Store the newest status of a pod."""
        self._on_the_way.discard(record.view.uid)
        with self._store.versions.lock:
            current = self._current(record.view)
            if current is None:
                return
            status = merged_status(child(current.body, "status"), record.status)
            if differs(status, as_object(current.body.get("status"))):
                metadata = dict(child(current.body, "metadata"))
                self._replace(current, {**current.body, "metadata": metadata, "status": status})

    def _current(self, view: PodView) -> Stored | None:
        """Return a pod as it is stored, if it is still the same pod."""
        current = self._store.versions.read(PODS, view.key)
        return current if current is not None and current.uid == view.uid else None

    def _replace(self, current: Stored, body: JsonObject) -> None:
        """Store a changed pod."""
        kind = self._store.registry.named("v1", "Pod")
        assert kind is not None
        self._store.replace(kind, body, current)
