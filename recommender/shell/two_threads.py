"""Two pieces of work on two processors (spec: performance:R-1).

Compiled kernels, and numpy with long columns, let other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from recommender.pair import Later, Rest, do_all

A = TypeVar("A")
B = TypeVar("B")


class TwoThreads:
    """Does two pieces of work at a time, one of them in a thread that lives on for the next pair."""

    def __init__(self) -> None:
        self._other = ThreadPoolExecutor(1, thread_name_prefix="pair")
        self._thread = self._other.submit(threading.get_native_id)
        self._elsewhere = Elsewhere.on_this_system()

    def __call__(self, first: Callable[[Later], A], second: Callable[[Later], B], /) -> tuple[A, B]:
        """Return what both pieces come to, once all is done.

        Whoever is done with a piece takes of what was left for later, until nothing is.

        Raises:
            Exception: What the first one has raised, or what was left and done after it, else what the second one has.
                What is left then stays undone.
        """
        if self._elsewhere is not None:
            self._elsewhere.place(self._thread.result())
        left: deque[Rest] = deque()
        running = self._other.submit(_done, second, left)
        try:
            found = _done(first, left)
        except BaseException:
            left.clear()
            raise
        finally:
            # Whoever catches the failure of one piece finds none of the other one under way.
            wait([running])
        return found, running.result()


def _done(piece: Callable[[Later], A], left: deque[Rest]) -> A:
    """Return what a piece comes to, and do of what is left as much as comes to hand."""
    found = piece(left.append)
    do_all(left)
    return found


class Elsewhere:
    """Keeps a thread off the processor that the calling one is on.

    The two hand Python's lock to each other many times while they work. Where all processors were busy of late, Linux
    does not look for a free one for a thread that it wakes up, and leaves it to wait behind the one that woke it.

    Args:
        present: Tells the number of the processor that the calling thread is on.
    """

    def __init__(self, present: Callable[[], int]) -> None:
        self._present = present
        self._avoided = -1

    @classmethod
    def on_this_system(cls) -> Elsewhere | None:
        """Return one, or None where the system has no such thing, or this process has one processor only."""
        if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
            return None
        present = getattr(ctypes.CDLL(None), "sched_getcpu", None)
        return None if present is None else cls(present)

    def place(self, thread: int) -> None:
        """Let a thread run on all processors of this process but the present one; where that is refused it stays.

        Args:
            thread: Its number in the system.
        """
        present = self._present()
        allowed = os.sched_getaffinity(0)
        if present != self._avoided and allowed - {present}:
            # It is for speed only, so that no round may fail for it.
            with suppress(OSError):
                os.sched_setaffinity(thread, allowed - {present})
            self._avoided = present
