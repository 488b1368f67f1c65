"""Procedures that take time on the simulation's clock, written as generators that yield what they wait for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import timedelta
from typing import TypeAlias

from evenkeel.simulator.clock import Timer


class Gate:
    """Something that procedures wait for, which opens once."""

    def __init__(self) -> None:
        self.is_open = False
        self._waiting: list[Callable[[], None]] = []

    def open(self) -> None:
        """Let everybody pass, now and later."""
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for resume in waiting:
            resume()

    def pass_by(self, resume: Callable[[], None]) -> None:
        """Call back once it is open; at once when it is."""
        if self.is_open:
            resume()
        else:
            self._waiting.append(resume)


Steps: TypeAlias = Generator[timedelta | Gate, None, None]
"""A procedure."""


class Script:
    """One procedure under way.

    Args:
        steps: The procedure.
        later: Calls back after a time.
        done: Called at its end; not when it is called off.
    """

    def __init__(
        self,
        steps: Steps,
        later: Callable[[timedelta, Callable[[], None]], Timer],
        done: Callable[[], None],
    ) -> None:
        self._steps = steps
        self._later = later
        self._done = done
        self._called_off = False

    def run(self) -> None:
        """Go on until the next wait or the end."""
        if self._called_off:
            return
        try:
            wait = next(self._steps)
        except StopIteration:
            if not self._called_off:
                self._done()
            return
        if isinstance(wait, Gate):
            wait.pass_by(self.run)
        else:
            self._later(wait, self.run)

    def call_off(self) -> None:
        """Never go on; what it has done so far stays."""
        self._called_off = True
