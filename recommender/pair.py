"""Two pieces of work of which neither needs what the other one does.

Spec: performance R-1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")

Rest = Callable[[], object]
"""Work that nobody waits for before the whole is done."""

Later = Callable[[Rest], None]
"""Leaves work for later, to whoever is done first with the piece at hand; nothing that is left may need another."""


class Pair(Protocol):
    """Does two pieces of work, in which order ever or both at a time, and what they leave for later."""

    def __call__(self, first: Callable[[Later], A], second: Callable[[Later], B], /) -> tuple[A, B]:
        """Return what both pieces come to, once all is done."""
        ...


def in_turn(first: Callable[[Later], A], second: Callable[[Later], B], /) -> tuple[A, B]:
    """Do one piece after the other, then what is left."""
    left: deque[Rest] = deque()
    found = first(left.append), second(left.append)
    do_all(left)
    return found


def do_all(left: deque[Rest]) -> None:
    """Do what is left, the oldest first, as long as there is anything.

    Args:
        left: Several threads may take from it.
    """
    while left:
        try:
            rest = left.popleft()
        except IndexError:
            # Another thread has taken the last one in between.
            return
        rest()
