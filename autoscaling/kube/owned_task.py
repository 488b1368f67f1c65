"""A task that whoever starts it can also end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


class OwnedTask:
    """At most one task, which whoever supervises the process watches.

    Args:
        work: What it does.
        name: What it is called.
    """

    def __init__(self, work: Callable[[], Coroutine[object, object, None]], name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        """Start the task, or return the one that runs."""
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name=self._name)
        return self._task

    async def stop(self) -> None:
        """End the task that ``start`` made; raises what the task had died of."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
            if not task.cancelled():
                task.result()
