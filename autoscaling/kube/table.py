"""Objects of one collection in memory, and what each new state changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, str]
"""Namespace and name; the namespace is empty for cluster-wide kinds."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """What became of one object.

    Args:
        key: Namespace and name.
        old: What was known before; None when the object is new to us.
        new: What is known now; None when the object is gone or can no longer be read.

    An object deleted and created again between two looks is one change; who minds compares the UIDs.
    """

    key: Key
    old: T | None
    new: T | None


class ObjectTable(Generic[T]):
    """The last known state of every object; written by one task, read by anyone between two awaits.

    A complete list is taken in between ``begin_list`` and ``forget``. Each object bears the number of the list that was
    the latest when it last came: nothing has to be copied or compared as a whole, which would hold up other work and
    would be gone through by the garbage collector while it is new.
    """

    __slots__ = ("_list", "_lists", "_objects", "_snapshot", "_unreadable", "_version", "_versions")

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._versions: dict[Key, str] = {}
        self._unreadable: dict[Key, str] = {}
        self._lists: dict[Key, int] = {}
        self._list = 0
        self._snapshot: tuple[T, ...] | None = ()
        self._version = 0

    @property
    def version(self) -> int:
        """Counts the changes so far."""
        return self._version

    @property
    def unreadable(self) -> Mapping[Key, str]:
        """Objects that exist but could not be decoded, with the problem."""
        return MappingProxyType(self._unreadable)

    def items(self) -> Mapping[Key, T]:
        """Read-only view that follows every change; do not keep it over an await."""
        return MappingProxyType(self._objects)

    def snapshot(self) -> tuple[T, ...]:
        """All objects as they are now; the same tuple until something changes."""
        if self._snapshot is None:
            self._snapshot = tuple(self._objects.values())
        return self._snapshot

    def find(self, key: Key) -> T | None:
        """One object, or None."""
        return self._objects.get(key)

    def put(self, key: Key, resource_version: str, value: T) -> Change[T] | None:
        """Take in the state of one object.

        Returns:
            The change, or None when this very version is known already.
        """
        self._lists[key] = self._list
        if resource_version and self._versions.get(key) == resource_version:
            return None
        old = self._objects.get(key)
        self._objects[key] = value
        self._versions[key] = resource_version
        if self._unreadable:
            self._unreadable.pop(key, None)
        self._note()
        return Change(key, old, value)

    def drop(self, key: Key) -> Change[T] | None:
        """Forget an object that was deleted.

        Returns:
            The change, or None when nothing readable was known of it.
        """
        self._lists.pop(key, None)
        self._unreadable.pop(key, None)
        self._versions.pop(key, None)
        old = self._objects.pop(key, None)
        if old is None:
            return None
        self._note()
        return Change(key, old, None)

    def refuse(self, key: Key, problem: str) -> Change[T] | None:
        """Note that an object exists but cannot be read; what was known of it no longer holds.

        Returns:
            The change, or None when nothing readable was known of it.
        """
        change = self.drop(key)
        self._unreadable[key] = problem
        self._lists[key] = self._list
        return change

    def begin_list(self) -> None:
        """Expect every object that is known to come once more; what has come since an earlier call counts for nothing.

        Nothing is forgotten by this.
        """
        self._list += 1

    def unlisted(self, slice_size: int) -> Iterator[list[Key]]:
        """Look for objects that did not come since ``begin_list``; nothing may be written until that is done.

        Args:
            slice_size: Objects to look at before other work gets its turn.

        Yields:
            Those of each slice.
        """
        entries = iter(self._lists.items())
        for _ in range(0, len(self._lists), slice_size):
            yield [key for key, number in islice(entries, slice_size) if number != self._list]

    def forget(self, gone: Iterable[Key]) -> list[Change[T]]:
        """Forget objects, all of them at once: nobody sees some of them without the others.

        Returns:
            What changed.
        """
        return [change for change in map(self.drop, gone) if change is not None]

    def _note(self) -> None:
        self._version += 1
        self._snapshot = None
