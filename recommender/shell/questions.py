"""Asking in a thread, again where that may help, and for less where it was too much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog

from autoscaling.kube.pacing import Pacing
from autoscaling.kube.retry import Patience
from recommender.history.errors import HistoryError, Trouble
from recommender.history.pieces import Piece

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks.

    Args:
        thread: Where calls that block are run.
        pacing: The clock for pauses.
        patience: How often a question is asked.
    """

    thread: Executor
    pacing: Pacing
    patience: Patience

    async def ask(self, call: Callable[[], T]) -> T:
        """Run a call in the thread, again after a pause where that may help."""
        loop, failures, started = asyncio.get_running_loop(), 0, self.pacing.monotonic()
        while True:
            try:
                return await loop.run_in_executor(self.thread, call)
            except HistoryError as error:
                failures += 1
                pause = self.patience.pause(failures, 0.0)
                late = self.pacing.monotonic() + pause - started > self.patience.total_seconds
                if error.trouble is not Trouble.TRANSIENT or failures >= self.patience.attempts or late:
                    raise
                log.warning("history asked again", error=error.problem, seconds=pause, failures=failures)
                await self.pacing.sleep(pause)

    async def in_parts(self, fetch: Callable[[Piece], T], whole: Piece) -> AsyncGenerator[T, None]:
        """Fetch a piece, or the halves of it where it is too much, the oldest first."""
        waiting = [whole]
        while waiting:
            piece = waiting.pop(0)
            try:
                yield await self.ask(partial(fetch, piece))
            except HistoryError as error:
                halves = piece.halves() if error.trouble is Trouble.TOO_MUCH else ()
                if not halves:
                    raise
                log.debug("history halved", error=error.problem)
                waiting[:0] = halves
