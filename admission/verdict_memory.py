"""Verdicts on pods, remembered with all that was looked up for them, and good for as long as that stays the same.

A verdict on a pod comes from the pod's own text and from what is looked up in a view of the caches, where objects are
replaced and never changed. So it holds for each pod of the same text as long as every look into the view comes upon the
very same objects again, or workloads like them: these are replaced with each change of their status, of which nothing
is known here. Which looks there were is noted by the view that is shown to whatever decides, so that none can be
forgotten.

Spec: performance A-2.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from admission.verdict import Verdict
from admission.vpa_matching import ClusterView
from autoscaling.ownership import ScaleAnswer
from autoscaling.targets import KnownControllers
from autoscaling.workload import Workload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_COMPARED = (Workload, ScaleAnswer)
"""What may be replaced by its like, which takes longer to tell than whether it is the same in memory."""


class Notes:
    """What was looked up in a view, and what was found.

    Args:
        view: Where it is looked up.
    """

    __slots__ = ("_looks", "_view", "noted_view")

    noted_view: ClusterView
    """The view, with every look into it noted; not to be looked into once the verdict is there."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._looks: list[tuple[Callable[..., object], object, object]] = []
        known = view.controllers
        self.noted_view = ClusterView(
            view.is_complete,
            _NotedMaps(view.vpas, self),
            KnownControllers(_Noted(known.workloads, self), _Noted(known.scales, self), known.runs_match_by_owner),
            _Noted(view.limits, self),
            view.compares_groups,
        )

    def add(self, look: Callable[..., object], key: object, found: object) -> None:
        """Note one look.

        Args:
            look: Finds something by a key.
            found: What it came upon, kept alive by this, as it is told from others by being the same in memory.
        """
        self._looks.append((look, key, found))

    def still_hold(self, view: ClusterView) -> bool:
        """Say whether this is the view that was looked into, and every look would find the same."""
        if view is not self._view:
            return False
        for place, (look, key, found) in enumerate(self._looks):
            now = look(key)
            if now is found:
                continue
            if not isinstance(found, _COMPARED) or now != found:
                return False
            self._looks[place] = look, key, now
        return True


class _Noted(Mapping[K, V], Generic[K, V]):
    """A mapping whose looks are noted, each once; as that is done key by key, it does not tell its keys."""

    __slots__ = ("_found", "_mapping", "_notes")

    def __init__(self, mapping: Mapping[K, V], notes: Notes) -> None:
        self._mapping = mapping
        self._notes = notes
        self._found: dict[K, V | None] = {}

    def __getitem__(self, key: K) -> V:
        if key in self._found:
            found = self._found[key]
        else:
            found = self._found[key] = self._mapping.get(key)
            self._notes.add(self._mapping.get, key, found)
        if found is None:
            raise KeyError(key)
        return found

    def __bool__(self) -> bool:
        is_filled = bool(self._mapping)
        self._notes.add(_is_filled, self._mapping, is_filled)
        return is_filled

    def __iter__(self) -> Iterator[K]:
        raise TypeError("a mapping whose looks are noted can be asked for one key at a time only")

    def __len__(self) -> int:
        raise TypeError("a mapping whose looks are noted does not tell how many keys it has")


def _is_filled(mapping: Mapping[K, V]) -> bool:
    """Say whether a mapping has any key."""
    return bool(mapping)


class _NotedMaps(_Noted[str, Mapping[K, V]]):
    """A mapping to mappings that live on, in which looks are noted, too."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Mapping[K, V]:
        return _Noted(super().__getitem__(key), self._notes)


class VerdictMemory:
    """The latest verdicts by the texts of their pods; all by the same rules.

    Args:
        size: Most verdicts to remember; the oldest makes room for a new one.
    """

    __slots__ = ("_known", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: dict[Hashable, tuple[Verdict, Notes]] = {}

    def recall(self, text: Hashable, view: ClusterView) -> Verdict | None:
        """Return the verdict on pods of this text, None where there is none that still holds."""
        known = self._known.get(text)
        return known[0] if known is not None and known[1].still_hold(view) else None

    def keep(self, text: Hashable, verdict: Verdict, notes: Notes) -> None:
        """Remember a verdict.

        Args:
            text: All that the verdict comes from beside the view.
            notes: What was looked up for it.
        """
        if len(self._known) >= self._size and text not in self._known:
            del self._known[next(iter(self._known))]
        self._known[text] = verdict, notes
