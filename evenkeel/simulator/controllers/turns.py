"""One thing at a time: the steps of all controllers in the order in which they fell due.

A step may call admission webhooks, which are other programs, and so it is a coroutine. Steps run strictly one after
the other, so that the outcome depends on the order in which they fell due alone, and not on how fast a webhook
answers. While no webhook is registered nothing is waited for, and a step is over when ``take`` returns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import TypeAlias

from evenkeel.simulator.api.builtin import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from evenkeel.simulator.api.store import Store
from evenkeel.simulator.clock import ManualClock

Step: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""Begins one step; it is called when the step's turn has come."""


class Turns:
    """Runs steps in order.

    Args:
        versions: Where the configurations of webhooks are stored.
    """

    def __init__(self, versions: Store) -> None:
        self._versions = versions
        self._waiting: deque[Step] = deque()
        self._worker: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether no step is under way or waiting."""
        return self._worker is None or self._worker.done()

    def take(self, step: Step) -> None:
        """Run a step when its turn comes: at once, unless a webhook may have to be asked or others are waiting.

        Raises:
            RuntimeError: Webhooks are registered, and no event loop runs in this thread.
        """
        if not self.idle:
            self._waiting.append(step)
        elif self._may_wait():
            self._raise_failure()
            self._waiting.append(step)
            self._worker = _running_loop().create_task(self._work())
        else:
            _run_through(step())

    async def settled(self) -> None:
        """Return once every step that has fallen due is over; what a step raised is raised here."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])
        self._raise_failure()

    async def close(self) -> None:
        """Drop the steps that wait and end the one that is under way."""
        self._waiting.clear()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
            self._worker = None

    async def _work(self) -> None:
        """Run the waiting steps until there are none."""
        while self._waiting:
            await self._waiting.popleft()()

    def _raise_failure(self) -> None:
        """Raise what ended the last worker early, once."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.result()

    def _may_wait(self) -> bool:
        """Say whether some write might have to wait for an answer from outside."""
        return any(self._versions.count(resource) for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS))


async def advance(clock: ManualClock, turns: Turns, until: datetime) -> None:
    """Move a clock to a moment from timer to timer, and let time stand still while steps are under way."""
    await turns.settled()
    while (due := clock.next_timer()) is not None and due <= until:
        clock.set(max(due, clock.now()))
        await turns.settled()
    clock.set(until)
    await turns.settled()


def _run_through(step: Coroutine[None, None, None]) -> None:
    """Run a step that has nothing to wait for."""
    try:
        step.send(None)
    except StopIteration:
        return
    step.close()
    raise RuntimeError("a controller waits although no webhook is registered; only calls to webhooks may wait")


def _running_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        message = "admission webhooks are registered, and asking them needs an event loop; move the clock inside one"
        raise RuntimeError(message) from None
