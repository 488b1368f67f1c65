"""The clock, the pauses and the dice that every class here is given, so that tests need none of them."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Pacing(Protocol):
    """Time as one process sees it."""

    def now(self) -> datetime:
        """Wall clock, aware and in UTC: for what is written into objects."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards: for how long something took."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Pause the calling task."""
        ...

    def random(self) -> float:
        """A number from 0 up to 1, for jitter."""
        ...


class SystemPacing:
    """The machine's clock and dice."""

    __slots__ = ("_dice",)

    def __init__(self, seed: int | None = None) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - spreads retries, guards no secret

    def now(self) -> datetime:
        """Wall clock in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Pause the calling task."""
        await asyncio.sleep(seconds)

    def random(self) -> float:
        """A number from 0 up to 1."""
        return self._dice.random()


SYSTEM_PACING = SystemPacing()
