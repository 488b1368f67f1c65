"""Clocks for tests: one whose pauses pass at once, one that stands still until it is moved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class InstantPacing:
    """Every pause passes at once and is written down; the dice always show the same number."""

    def __init__(self, dice: float = 0.0) -> None:
        self.slept: list[float] = []
        self.dice = dice
        self.seconds = 0.0

    def now(self) -> datetime:
        return T0 + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        return self.dice


class HeldPacing(InstantPacing):
    """Pauses last until the test moves the clock past their end."""

    def __init__(self, dice: float = 0.0) -> None:
        super().__init__(dice)
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self._fell_asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self.slept.append(seconds)
        self._sleepers.append((self.seconds + seconds, woken))
        self._fell_asleep.set()
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Move the clock and wake whoever is due."""
        self.seconds += seconds
        due = [woken for end, woken in self._sleepers if end <= self.seconds]
        self._sleepers = [(end, woken) for end, woken in self._sleepers if end > self.seconds]
        for woken in due:
            woken.set()
        await asyncio.sleep(0)

    async def asleep(self, sleepers: int = 1) -> None:
        """Wait until so many tasks are pausing."""
        async with asyncio.timeout(10):
            while len(self._sleepers) < sleepers:
                self._fell_asleep.clear()
                await self._fell_asleep.wait()
