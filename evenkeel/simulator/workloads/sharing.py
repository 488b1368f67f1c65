"""A load that the pods of a workload bear together: as a Service does, it goes to those that are ready."""

from __future__ import annotations

from typing import Protocol

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.store import Change, ChangeType, Store
from evenkeel.simulator.controllers.pod_state import is_going, is_ready
from evenkeel.simulator.workloads.choices import chosen_names


class Sharing(Protocol):
    """Whoever knows how a load is divided."""

    def share(self, name: str, pod: JsonObject) -> float:
        """Return which share, 0 to 1, of the load of a behaviour a pod bears."""


class Alone:
    """Every pod bears the whole load, as there are no others."""

    def share(self, name: str, pod: JsonObject) -> float:
        """Return the whole."""
        del name, pod
        return 1.0


class ReadyPods:
    """Divides a load evenly among the pods that name its behaviour, are ready and are not being deleted.

    While none is ready the load goes nowhere.

    Args:
        versions: Where the pods are stored.
    """

    def __init__(self, versions: Store) -> None:
        self._versions = versions
        self._names: dict[str, tuple[str, ...]] = {}
        self._serving: dict[str, dict[str, None]] = {}
        with versions.lock:
            for stored in versions.snapshot(PODS):
                self._note(stored.uid, _served(stored.body))
            versions.observe(PODS, self._follow)

    def share(self, name: str, pod: JsonObject) -> float:
        """Return one part of as many as there are pods that serve; nothing for a pod that does not."""
        with self._versions.lock:
            serving = self._serving.get(name, {})
            return 1.0 / len(serving) if text(pod, "metadata", "uid") in serving else 0.0

    def _follow(self, change: Change) -> None:
        """Take one write in; what was before is known here and need not be read again."""
        gone = change.type is ChangeType.DELETED
        self._note(change.after.uid, () if gone else _served(change.after.body))

    def _note(self, uid: str, names: tuple[str, ...]) -> None:
        """Note for which behaviours a pod serves from now on."""
        before = self._names.pop(uid, ())
        if names:
            self._names[uid] = names
        if names == before:
            return
        for name in before:
            del self._serving[name][uid]
        for name in names:
            self._serving.setdefault(name, {})[uid] = None


def _served(pod: JsonObject) -> tuple[str, ...]:
    """Return the behaviours for which a pod serves."""
    return chosen_names(pod) if is_ready(pod) and not is_going(pod) else ()
