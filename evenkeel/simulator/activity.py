"""What is under way in an embedded cluster, so that its clock does not move in the middle of it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from evenkeel.simulator.clock import Clock


class Activity:
    """Counts work that ends by itself, and apart from it what waits for the clock.

    Attributes:
        running: Requests and calls that will end without the clock moving.
    """

    def __init__(self) -> None:
        self.running = 0
        self._parked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._observers: list[Callable[[], None]] = []

    def observe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call back after each change; returns how to stop that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def parked(self, owner: str) -> int:
        """Return how much of what somebody asked for waits for the clock."""
        return self._parked[owner]

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold the clock while something is done."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    async def wait_until(self, clock: Clock, when: datetime, owner: str = "") -> None:
        """Wait for the clock inside of work, which does not hold it meanwhile.

        Args:
            clock: It may be moved from another thread.
            when: What to wait for.
            owner: Who asked for the work.
        """
        loop, reached, is_parked = asyncio.get_running_loop(), asyncio.Event(), True

        def go_on() -> None:
            # Counted as running in the very moment the clock gets there, or it would move on before the task does.
            nonlocal is_parked
            if is_parked:
                is_parked = False
                self._count(1, owner, -1)
                if not loop.is_closed():
                    loop.call_soon_threadsafe(reached.set)

        self._count(-1, owner, 1)
        timer = clock.call_at(when, go_on)
        try:
            await reached.wait()
        finally:
            timer.cancel()
            go_on()

    def _count(self, running: int, owner: str = "", parked: int = 0) -> None:
        with self._lock:
            self.running += running
            if parked:
                self._parked[owner] += parked
        for observer in list(self._observers):
            observer()
