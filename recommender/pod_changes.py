"""Which pods a round has to look at: those that changed since the last round, so that the others cost nothing.

Spec: recommender 6.2 step 2; performance R-9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from autoscaling.pod import Pod

NamespacedName = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class PodChanges:
    """What became of pods since a round looked at them; mutable, written by the watch and read by the rounds.

    A pod that rounds know is in ``doubtful`` unless it is there and can be read: it came to be known in another way, or
    there was a change after which it was gone.

    Attributes:
        waiting: The last state of each pod that changed; None where it is gone or cannot be read any more.
        doubtful: Pods that rounds may know although they are gone.
    """

    waiting: dict[NamespacedName, Pod | None] = field(default_factory=dict)
    doubtful: dict[NamespacedName, None] = field(default_factory=dict)

    def note(self, key: NamespacedName, pod: Pod | None) -> None:
        """Take in the state of a pod; None where it is gone or cannot be read any more."""
        self.waiting[key] = pod

    def look(self) -> Mapping[NamespacedName, Pod | None]:
        """Return what waits; it does so until ``settle`` is told that the round has looked at it."""
        return dict(self.waiting)

    def settle(self, looked: Mapping[NamespacedName, Pod | None]) -> None:
        """Drop what a round has looked at; what has changed again meanwhile goes on waiting."""
        for key, pod in looked.items():
            if key in self.waiting and self.waiting[key] is pod:
                del self.waiting[key]

    def doubt(self, keys: Iterable[NamespacedName]) -> None:
        """Take in that rounds know pods that nobody may ever tell them to be gone."""
        self.doubtful.update(dict.fromkeys(keys))

    def gone(
        self,
        known: Collection[NamespacedName],
        present: Collection[NamespacedName],
        unreadable: Collection[NamespacedName],
    ) -> list[NamespacedName]:
        """Return the pods that rounds know and that are gone; those that cannot be read are not gone.

        Args:
            known: Pods that rounds know.
            present: Pods that are there and can be read.
            unreadable: Pods that are there and cannot be read.
        """
        left = [key for key in self.doubtful if key in known and key not in present]
        self.doubtful = dict.fromkeys(left)
        return [key for key in left if key not in unreadable]
