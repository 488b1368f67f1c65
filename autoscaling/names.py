"""Finding things by name where there may be thousands: whoever writes an object decides how many it has.

Spec: beyond:B-32.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

T = TypeVar("T")

_FEW: Final = 16
"""So many are looked through faster than an index is found."""

_KEPT: Final = 32
"""Indexes of as many tuples are kept: those of the one object that is looked at, and of a few before it."""

_indexes: OrderedDict[tuple[int, int], tuple[object, Callable[..., str], Mapping[str, object]]] = OrderedDict()


def first_named(items: tuple[T, ...], name: str, name_of: Callable[[T], str]) -> T | None:
    """Return the first of some items with a name, None where there is none.

    Args:
        items: To look through; the same tuple is indexed once, however often it is asked about.
        name: Wanted.
        name_of: Tells an item's name; the same function for the same tuple.
    """
    if len(items) <= _FEW:
        for item in items:
            if name_of(item) == name:
                return item
        return None
    return _index(items, name_of).get(name)


def _index(items: tuple[T, ...], name_of: Callable[[T], str]) -> Mapping[str, T]:
    """Return the first item of each name."""
    key = id(items), id(name_of)
    known = _indexes.get(key)
    # What is known holds the tuple, so that no other one can have its identity meanwhile.
    if known is not None and known[0] is items:
        return known[2]  # type: ignore[return-value]
    index = {name_of(item): item for item in reversed(items)}
    _indexes[key] = (items, name_of, index)
    while len(_indexes) > _KEPT:
        _indexes.popitem(last=False)
    return index
