"""Simulated time for a whole process: its rounds, pauses, time-outs and timers follow a simulator's clock.

The event loop itself lives in that time, so nothing that waits in the process can go by another clock, libraries
included. The loop also knows better than any count when the process is at rest: when nothing is ready to run and no
descriptor can be read. Only then is the clock told, which moves once every process rests (``lockstep_channel``).

When a process is told to end, it leaves: the date stands still for it and pauses are real ones, so that its end never
hangs on a clock that nobody moves.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import partial

from autoscaling.runtime.lockstep_channel import Channel, Report
from autoscaling.runtime.lockstep_loop import LockstepLoop, LockstepSelector
from autoscaling.runtime.lockstep_timeline import Timeline
from autoscaling.runtime.lockstep_traffic import LockstepTraffic
from autoscaling.runtime.process import FailureHandler, Periodic, Process, Rounds


class LockstepPacing:
    """The clock, the pauses and the dice of a process in lock-step.

    Args:
        timeline: Its time.
        seed: For its dice.
    """

    def __init__(self, timeline: Timeline, seed: int) -> None:
        self._timeline = timeline
        self._dice = random.Random(seed)  # noqa: S311 - spreads retries, guards no secret

    def now(self) -> datetime:
        """Return the simulated date."""
        return self._timeline.now

    def monotonic(self) -> float:
        """Return seconds of simulated time."""
        return self._timeline.seconds()

    async def sleep(self, seconds: float) -> None:
        """Pause the calling task."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        alarm = self._timeline.set_alarm(
            self._timeline.now + timedelta(seconds=max(0.0, seconds)), partial(_wake, woken)
        )
        try:
            await woken
        finally:
            alarm.is_off = True

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        return self._dice.random()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


class LockstepDriver:
    """Runs jobs at exact multiples of their periods.

    Args:
        timeline: Their time.
        leave: Called when no further round is to start: from then on time is real.
    """

    def __init__(self, timeline: Timeline, leave: Callable[[], None]) -> None:
        self._timeline = timeline
        self._leave = leave
        self._jobs: list[Rounds] = []

    def now(self) -> datetime:
        """Return the simulated date."""
        return self._timeline.now

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        """Take over a job."""
        rounds = Rounds(periodic, on_failure)
        self._jobs.append(rounds)
        self._plan(rounds, periodic.period, self.now() + periodic.period)

    def _plan(self, rounds: Rounds, period: timedelta, when: datetime) -> None:
        def tick() -> None:
            if not self._timeline.has_left:
                self._plan(rounds, period, when + period)
                rounds.tick()

        self._timeline.set_alarm(when, tick)

    async def stop(self, grace: timedelta) -> None:
        """Start no further round; let running ones end within the grace period, then cancel them."""
        self._leave()
        await asyncio.gather(*(rounds.stop(grace) for rounds in self._jobs))


class Lockstep:
    """A process's membership in a run with simulated time.

    Args:
        url: Value of ``--clock``.

    Raises:
        ConfigurationError: It is no URL of a clock.
        LockstepLostError: There is no clock.
    """

    def __init__(self, url: str) -> None:
        channel = Channel(url)
        welcome = channel.join()
        self._traffic = LockstepTraffic(channel.name)
        channel.rest(Report(number=0, turns=0, until=welcome.now))
        self._timeline = Timeline(welcome.origin, channel.turn().now)
        self._selector = LockstepSelector(channel, self._timeline, self._traffic)
        self.pacing = LockstepPacing(self._timeline, welcome.seed)

    def run(self, start: Callable[[Process], Coroutine[object, object, None]]) -> int:
        """Run a process in simulated time and return its exit status."""

        async def run() -> int:
            driver = LockstepDriver(self._timeline, self._selector.leave)
            process = Process(driver, pacing=self.pacing, traffic=self._traffic)
            loop = asyncio.get_running_loop()
            self._selector.on_lost = lambda error: loop.call_soon(process.fail, error)
            return await process.run(start)

        with asyncio.Runner(loop_factory=self._loop) as runner:
            return runner.run(run())

    def _loop(self) -> asyncio.AbstractEventLoop:
        return LockstepLoop(self._selector, self._timeline)
