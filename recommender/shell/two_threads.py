"""Two pieces of work on two processors (spec: performance:R-1).

Compiled kernels, and numpy with long columns, let other threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class TwoThreads:
    """Does two pieces of work at a time, one of them in a thread that lives on for the next pair."""

    def __init__(self) -> None:
        self._other = ThreadPoolExecutor(1, thread_name_prefix="pair")

    def __call__(self, first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]:
        """Return what both pieces come to, once both are done.

        Raises:
            Exception: What the first one has raised, else what the second one has.
        """
        running = self._other.submit(second)
        try:
            found = first()
        finally:
            # Whoever catches the failure of one piece finds none of the other one under way.
            wait([running])
        return found, running.result()
