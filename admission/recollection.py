"""Results that were worked out before, found again by the very objects they were worked out of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Recollection(Generic[V]):
    """Remembers results of a pure function of objects that are never changed and are cheaper to tell than to compare.

    An object counts as the same only if it is the same one in memory; all that results hang on are kept alive, so none
    can be mistaken for another. The oldest result makes room for a new one.

    Args:
        size: Most results to remember.
    """

    __slots__ = ("_results", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._results: dict[tuple[Hashable, ...], tuple[tuple[object, ...], V]] = {}

    def recall(self, objects: tuple[object, ...], also: Hashable = None) -> V | None:
        """Return what was remembered of these objects, None where that is nothing.

        Args:
            objects: What the result was worked out of.
            also: What it hangs on beside, compared by value.
        """
        found = self._results.get((also, *map(id, objects)))
        return None if found is None else found[1]

    def keep(self, result: V, objects: tuple[object, ...], also: Hashable = None) -> V:
        """Remember a result, and return it; see ``recall`` for the arguments."""
        if len(self._results) >= self._size:
            del self._results[next(iter(self._results))]
        self._results[also, *map(id, objects)] = objects, result
        return result
