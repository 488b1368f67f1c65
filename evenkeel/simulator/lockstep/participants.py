"""A process that lives by the simulator's clock, as the clock knows it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from autoscaling.runtime.lockstep_channel import Moment, Report


@dataclass(slots=True, eq=False)
class Participant:
    """One process.

    Args:
        name: As it joined.
        until: When it wants its next turn; None for never.
        turns: How many it has had.
        calls: Its requests without an answer, by its last report.
        lines: Lines that it has seen of each of its watches.
        dismissed: Set when nobody waits for it any more.
        report: Number of its last report.
        objection: Number of the last report that it has objected to.
    """

    name: str
    until: datetime | None = None
    turns: int = 0
    calls: int = 0
    lines: dict[str, int] = field(default_factory=dict)
    dismissed: asyncio.Event = field(default_factory=asyncio.Event)
    report: int = -1
    objection: int = -1
    _resting: asyncio.Future[Moment] | None = None

    @property
    def is_resting(self) -> bool:
        """Whether it has nothing to do before its next turn, by its last word."""
        return self._resting is not None

    def rest(self, report: Report) -> asyncio.Future[Moment]:
        """Take in what it says when it has nothing left to do; returns when it goes on."""
        self.report = report.number
        self.until = report.until
        self.calls = report.calls
        self.lines.update(report.lines)
        for mark in report.ended:
            self.lines.pop(mark, None)
        self._resting = asyncio.get_running_loop().create_future()
        return self._resting

    def take_turn(self, now: datetime) -> None:
        """Let it do what is due."""
        self.turns += 1
        self.go_on(now)

    def go_on(self, now: datetime) -> None:
        """Tell it the time, if it rests, and let it work."""
        if self._resting is not None and not self._resting.done():
            self._resting.set_result(Moment(now, self.turns))
        self._resting = None

    def object(self, number: int, now: datetime) -> None:
        """Take in that a report no longer holds; one that is yet to come will not hold either."""
        self.objection = number
        if self.report == number:
            self.go_on(now)

    def dismiss(self) -> None:
        """Have done with it."""
        self.dismissed.set()
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None


def seed_of(seed: int, name: str) -> int:
    """Return the seed of one process's dice, its own for each name."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big")
