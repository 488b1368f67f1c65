"""Two pieces of work of which neither needs what the other one does.

Spec: performance R-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Pair(Protocol):
    """Does two pieces of work, in which order ever or both at a time."""

    def __call__(self, first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]:
        """Return what both pieces come to, once both are done."""
        ...


def in_turn(first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]:
    """Do one piece after the other."""
    return first(), second()
