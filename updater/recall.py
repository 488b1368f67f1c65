"""What rounds have reckoned and later ones need not reckon again, as nothing has changed that it depends on.

The only part of a plan that changes while it is used. Nobody can tell by decisions: a value is found again only for
the very inputs from which the same value would come once more. Between two rounds of a minute most pods stay as they
are, and the caches hand out the same frozen object for each of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from autoscaling.objectref import ObjectRef
from updater.settings import Settings

if TYPE_CHECKING:
    from updater.opening import Opening
    from updater.resize_draft import Draft
    from updater.selection import Placed

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values of this round and of the one before; what nobody asks for in a whole round is forgotten.

    Attributes:
        former: Those of the round before.
        present: Those of this round.
    """

    __slots__ = ("former", "present")

    def __init__(self, earlier: Kept[K, V] | None = None) -> None:
        self.former: dict[K, V] = earlier.present if earlier is not None else {}
        self.present: dict[K, V] = {}

    def find(self, key: K) -> V | None:
        """Return a value of this round or of the one before."""
        found = self.present.get(key)
        return self.former.get(key) if found is None else found

    def keep(self, key: K, value: V) -> None:
        """Keep a value for this round and the next one."""
        self.present[key] = value


class Recall:
    """What one round hands to the next besides what decisions depend on.

    Args:
        earlier: That of the round before.

    Attributes:
        placed: Where pods belong, by identity of the pod.
        openings: What the work on a VPA begins with.
        drafts: What a resize sends if no rule changes it, by identity of the candidate.
    """

    __slots__ = ("_at", "_settings", "drafts", "openings", "placed")

    def __init__(self, earlier: Recall | None = None) -> None:
        self._settings: Settings | None = None
        self._at: datetime | None = None
        self.placed: Kept[int, Placed] = Kept(earlier.placed if earlier else None)
        self.openings: Kept[ObjectRef, Opening] = Kept(earlier.openings if earlier else None)
        self.drafts: Kept[int, Draft] = Kept(earlier.drafts if earlier else None)

    def next_round(self, settings: Settings, now: datetime) -> Recall:
        """Return what a round may go by: nothing under other settings or after the clock has gone backwards."""
        is_good = self._at is not None and self._at <= now and self._settings == settings
        begun = Recall(self if is_good else None)
        begun._settings, begun._at = settings, now
        return begun
