"""The life of a process: start, periodic jobs, orderly end.

Jobs are handed to a driver. The one here runs them on the wall clock; that of ``lockstep`` follows a simulator's clock,
which is why whatever runs in a process takes the time from what the process was given.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from autoscaling.errors import EvenkeelError
from autoscaling.kube.pacing import SYSTEM_PACING, Pacing
from autoscaling.kube.traffic import UNOBSERVED, Traffic

Work = Callable[[], Coroutine[object, object, None]]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_GRACE = timedelta(seconds=10)
_CALLBACK_GRACE = timedelta(seconds=5)

log = structlog.get_logger()


class FatalError(EvenkeelError):
    """Something after which the process must not go on, such as a lost leadership."""


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job that is to run once in each period.

    The first round starts one full period after the job was handed to the driver, or at once where that is asked for. A
    tick that falls into a running round is kept once, so the next round follows at once; further ones are dropped.

    Spec: recommender:6.1, updater:M-1.

    Args:
        name: Unique name of the job.
        period: Time between the starts of two rounds, above zero.
        job: Runs one round.
        starts_at_once: Whether the first round waits for nothing; it does so all the same on a clock that is shared.
    """

    name: str
    period: timedelta
    job: Work
    starts_at_once: bool = False


FailureHandler = Callable[[Periodic, Exception], None]


class Driver(Protocol):
    """Decides when the rounds of periodic jobs run."""

    def now(self) -> datetime:
        """Return the time that the jobs live in, in UTC."""

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        """Take over a job; what a round raises goes to the handler and ends nothing."""

    async def stop(self, grace: timedelta) -> None:
        """Start no further round; let running ones end within the grace period, then cancel them."""


class Rounds:
    """The rounds of one job, one at a time."""

    def __init__(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        self._periodic = periodic
        self._on_failure = on_failure
        self._running: asyncio.Future[None] | None = None
        self._is_tick_kept = False
        self._is_stopped = False

    def tick(self) -> None:
        """Start a round, or keep the tick while one runs."""
        if self._is_stopped:
            return
        if self._running is not None:
            self._is_tick_kept = True
            return
        self._is_tick_kept = False
        self._running = asyncio.ensure_future(self._periodic.job())
        self._running.add_done_callback(self._ended)

    def _ended(self, finished: asyncio.Future[None]) -> None:
        self._running = None
        error = None if finished.cancelled() else finished.exception()
        if isinstance(error, Exception):
            self._on_failure(self._periodic, error)
        if self._is_tick_kept:
            self.tick()

    async def stop(self, grace: timedelta) -> None:
        """Start no further round; wait for the running one, and cancel it after the grace period."""
        self._is_stopped = True
        if self._running is None:
            return
        running = self._running
        await asyncio.wait({running}, timeout=grace.total_seconds())
        if not running.done():
            log.warning("round cancelled", job=self._periodic.name, grace_seconds=grace.total_seconds())
            await _cancelled(running)


class WallClockDriver:
    """Runs jobs in real time, on the event loop that is running when the first one is added."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._jobs: list[Rounds] = []

    def now(self) -> datetime:
        """Return the real time in UTC."""
        return datetime.now(UTC)

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        """Take over a job."""
        rounds = Rounds(periodic, on_failure)

        # The scheduler would run a plain function in a thread.
        async def tick() -> None:
            rounds.tick()

        if not self._scheduler.running:
            self._scheduler.start()
        self._scheduler.add_job(
            tick,
            "interval",
            seconds=periodic.period.total_seconds(),
            id=periodic.name,
            misfire_grace_time=None,
            coalesce=True,
        )
        self._jobs.append(rounds)
        if periodic.starts_at_once:
            rounds.tick()

    async def stop(self, grace: timedelta) -> None:
        """Start no further round; let running ones end within the grace period, then cancel them."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        await asyncio.gather(*(rounds.stop(grace) for rounds in self._jobs))


@dataclass(slots=True)
class Process:
    """One process from its start to its orderly end.

    Args:
        driver: Runs the periodic jobs.
        grace: How long running rounds may take to end once the process is told to stop; after a failure, such as a
            lost leadership, they are cut off at once.
        callback_grace: How long each stop callback may take.
        pacing: The clock that goes with the driver.
        traffic: Who is told of what the process has under way.
    """

    driver: Driver
    grace: timedelta = _GRACE
    callback_grace: timedelta = _CALLBACK_GRACE
    pacing: Pacing = SYSTEM_PACING
    traffic: Traffic = UNOBSERVED
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: BaseException | None = None
    _endings: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def every(self, name: str, period: timedelta, job: Work, *, starts_at_once: bool = False) -> None:
        """Run a job once in each period from now on. A round that fails is logged; the next comes all the same."""
        self.driver.add(Periodic(name, period, job, starts_at_once), self._round_failed)

    def run_in_background(self, name: str, work: Coroutine[object, object, None]) -> None:
        """Run something for as long as the process lives, such as a server or a watch.

        It is cancelled at the end, after whatever was started or registered later. When it fails, the process ends
        with status 1.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._work_ended)
        self._endings.append(partial(_cancelled, task))

    def on_stop(self, name: str, callback: Callable[[], Awaitable[None]]) -> None:
        """Call something at the end, after the last round and whatever was started or registered later."""
        self._endings.append(partial(self._call, name, callback))

    def stop(self) -> None:
        """End the process in order, with status 0."""
        self._ending.set()

    def fail(self, error: BaseException) -> None:
        """End the process in order, with status 1; the first error counts."""
        self._failure = self._failure or error
        self._ending.set()

    async def run(self, start: Callable[[Process], Coroutine[object, object, None]]) -> int:
        """Run until a signal, ``stop`` or a fatal error.

        Args:
            start: Sets the process up: background work, jobs, callbacks. Cancelled when the end comes first.

        Returns:
            The exit status: 0 after a signal or ``stop``, 1 after a fatal error.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        starting = loop.create_task(start(self), name="start")
        starting.add_done_callback(self._work_ended)
        try:
            await self._ending.wait()
        finally:
            await self._shut_down(starting)
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
        return 0 if self._failure is None else 1

    def _signalled(self, number: signal.Signals) -> None:
        """Begin to end; another signal ends the process at once."""
        log.info("stopping", signal=number.name)
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        self.stop()

    def _work_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def _round_failed(self, periodic: Periodic, error: Exception) -> None:
        if isinstance(error, FatalError):
            self.fail(error)
        else:
            log.error("round failed", job=periodic.name, error=str(error), exc_info=error)

    async def _shut_down(self, starting: asyncio.Task[None]) -> None:
        """End start-up, then rounds, then background work and callbacks, the latest first."""
        if self._failure is not None:
            # What we raise on purpose explains itself; anything else is a bug whose place must be seen.
            known = isinstance(self._failure, EvenkeelError)
            log.error("process failed", error=str(self._failure), exc_info=None if known else self._failure)
        await _cancelled(starting)
        await self.driver.stop(self.grace if self._failure is None else timedelta(0))
        for end in reversed(self._endings):
            await end()

    async def _call(self, name: str, callback: Callable[[], Awaitable[None]]) -> None:
        """Call one stop callback; its failure keeps nothing else from ending."""
        calling = asyncio.ensure_future(callback())
        await asyncio.wait({calling}, timeout=self.callback_grace.total_seconds())
        if not calling.done():
            log.warning("stop callback took too long", callback=name)
            await _cancelled(calling)
        elif not calling.cancelled() and (error := calling.exception()) is not None:
            log.error("stop callback failed", callback=name, error=str(error), exc_info=error)


async def _cancelled(work: asyncio.Future[None]) -> None:
    """Cancel work that still runs and wait until it has ended."""
    work.cancel()
    await asyncio.wait({work}, timeout=_CALLBACK_GRACE.total_seconds())


def run_process(start: Callable[[Process], Coroutine[object, object, None]]) -> int:
    """Run a process on the wall clock and return its exit status."""

    async def run() -> int:
        return await Process(WallClockDriver()).run(start)

    return asyncio.run(run())
