"""Moves the simulator's clock, step by step, and only while nothing is under way anywhere.

The clock moves when by its last word every process rests, and nothing can be on its way to one of them:

* no request is being carried out and no webhook is being asked, other than what waits for the clock itself;
* a process waits for exactly those answers that wait for the clock;
* each watch that a process follows has said all there is to say, and the process has seen as many lines as were sent.

A process that a webhook request or the end of a connection wakes says so before it does anything. So a process that
rests can begin to work only when it gets its turn, and the run depends on nothing but the seed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaling.errors import EvenkeelError
from autoscaling.runtime.lockstep_channel import Moment, Objection, Report, Welcome
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.watches import OpenWatch
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.lockstep.participants import Participant, seed_of


class LockstepError(EvenkeelError):
    """A run that cannot go on: a process died, hangs, or does not keep to the rules."""


@dataclass(frozen=True, slots=True)
class LockstepSettings:
    """One run.

    Args:
        seed: For the dice of the processes.
        wall_limit_seconds: Real time without any sign of life after which a process counts as hanging.
        speed: Seconds of the clock in a second of real time, at most; None for as many as possible.
    """

    seed: int = 0
    wall_limit_seconds: float = 30.0
    speed: float | None = None


class Lockstep:
    """The processes of one run and the clock of their cluster.

    Args:
        server: The cluster's API server; its clock is moved by nobody else from now on.
        settings: The run's; limit and speed may be changed between two runs of the clock.
        url: Where processes join.

    Raises:
        LockstepError: The server's clock cannot be moved.
    """

    def __init__(self, server: ApiServer, settings: LockstepSettings, url: str) -> None:
        if not isinstance(server.clock, ManualClock):
            raise LockstepError(f"{type(server.clock).__name__} moves by itself; give the API server a ManualClock")
        self._server = server
        self._clock = server.clock
        self.settings = settings
        self._url = url
        self._origin = server.clock.now()
        self._expected: dict[str, None] = {}
        self._participants: dict[str, Participant] = {}
        self._failure: LockstepError | None = None
        self._changed = asyncio.Event()
        # Webhooks are answered while the clock stands still, however long the machine takes over it.
        server.parts.webhooks.clock = server.clock
        server.activity.observe(self._changed.set)
        server.watches.observers.append(self._changed.set)

    def url(self, name: str) -> str:
        """Return the value of ``--clock`` for a process.

        Args:
            name: Any that no other process of this run has.
        """
        return f"{self._url}/{name}"

    def expect(self, *names: str) -> None:
        """Let the clock stand still until these have joined."""
        self._expected.update(dict.fromkeys(names))

    @property
    def participants(self) -> tuple[str, ...]:
        """The names of those that are there."""
        return tuple(sorted(self._participants))

    @property
    def is_whole(self) -> bool:
        """Whether nobody has died so far."""
        return self._failure is None

    # What processes say.

    def join(self, name: str) -> Participant:
        """Take a process in; it begins when the clock wakes it.

        Raises:
            LockstepError: One of that name is there already.
        """
        if name in self._participants:
            raise LockstepError(f"process {name!r} is there already; give each its own name in --clock")
        participant = Participant(name)
        self._participants[name] = participant
        self._changed.set()
        return participant

    def welcome(self, name: str) -> Welcome:
        """Return what a process is told when it joins."""
        return Welcome(self._origin, self._clock.now(), seed_of(self.settings.seed, name))

    async def rest(self, name: str, report: Report) -> Moment:
        """Take in that a process has nothing left to do; returns when it goes on.

        Raises:
            LockstepError: It rests already or has missed a turn, or is dismissed meanwhile.
        """
        participant = self._participant(name)
        if participant.is_resting:
            raise LockstepError(f"process {name!r} rests already; it must wait for its turn")
        if report.turns != participant.turns:
            raise LockstepError(f"process {name!r} has seen {report.turns} of {participant.turns} turns")
        resting = participant.rest(report)
        if report.number == participant.objection:
            participant.go_on(self._clock.now())
        self._changed.set()
        await asyncio.wait((resting,))
        if resting.cancelled():
            raise LockstepError(f"process {name!r} was dismissed")
        return resting.result()

    def work(self, name: str, objection: Objection) -> None:
        """Take in that a process has something to do before its turn."""
        self._participant(name).object(objection.number, self._clock.now())
        self._changed.set()

    def dismiss(self, name: str) -> None:
        """Wait for a process no longer, neither now nor should it be expected; it may end as it likes."""
        self._expected.pop(name, None)
        participant = self._participants.pop(name, None)
        if participant is not None:
            participant.dismiss()
        self._changed.set()

    def hung_up(self, participant: Participant) -> None:
        """Take in that the line to a process is gone; unless it was dismissed, that ends the run."""
        if self._participants.get(participant.name) is participant:
            self._failure = self._failure or LockstepError(
                f"process {participant.name!r} died at {self._clock.now()}; its log says why"
            )
            self._changed.set()

    # Moving the clock.

    async def advance(self, by: timedelta) -> datetime:
        """Move the clock forward and return the new time; see ``run_until``."""
        await self.run_until(self._clock.now() + by)
        return self._clock.now()

    async def run_until(self, moment: datetime) -> None:
        """Move the clock to a moment, past everything that is due by then, and wait until all rest again.

        What the simulator itself has planned for a moment comes before the processes that want to be woken then, and
        those come in the order of their names.

        Raises:
            LockstepError: A process died or hangs.
        """
        began, start = time.monotonic(), self._clock.now()
        while True:
            await self.settle()
            when, participant = self._next()
            if when is None or when > moment:
                break
            if (pause := self._ahead(began, start, when)) > 0:
                await asyncio.sleep(pause)
                continue
            self._go_to(when, participant)
        if (pause := self._ahead(began, start, moment)) > 0:
            await asyncio.sleep(pause)
        self._clock.set(max(moment, self._clock.now()))
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing is under way.

        Raises:
            LockstepError: A process died or hangs.
        """
        # What the last step has begun gets to its first pause, and is counted by then.
        await asyncio.sleep(0)
        while True:
            self._changed.clear()
            if self._failure is not None:
                raise self._failure
            if next(self.hindrances(), None) is None:
                return
            try:
                async with asyncio.timeout(self.settings.wall_limit_seconds):
                    await self._changed.wait()
            except TimeoutError:
                raise LockstepError(
                    f"nothing has happened for {self.settings.wall_limit_seconds:g} s of real time at "
                    f"{self._clock.now()}: {'; '.join(self.hindrances())}; see the logs of the processes"
                ) from None

    def hindrances(self) -> Iterator[str]:
        """Say what keeps the clock from moving."""
        yield from (f"process {name!r} has not joined" for name in self._expected if name not in self._participants)
        everybody = [self._participants[name] for name in self.participants]
        yield from (f"process {each.name!r} does not come to rest" for each in everybody if not each.is_resting)
        if running := self._server.activity.running:
            yield f"the API server is busy with {running} requests and calls"
        watches = {watch.mark: watch for watch in self._server.watches.open}
        for each in everybody:
            parked = self._server.activity.parked(each.name)
            if each.calls != parked:
                yield f"process {each.name!r} waits for {each.calls} answers, of which {parked} wait for the clock"
            yield from (
                f"process {each.name!r} {_problem_of(watch, lines)}"
                for mark, lines in each.lines.items()
                if (watch := watches.get(mark)) is None or watch.sent != lines or not watch.wakeup.is_quiet
            )

    def _next(self) -> tuple[datetime | None, Participant | None]:
        """Return what comes next and when: a process, or None for the simulator itself."""
        timer = self._clock.next_timer()
        waiting = [(each.until, each.name) for each in self._participants.values() if each.until is not None]
        until, name = min(waiting, default=(None, ""))
        if until is None or (timer is not None and timer <= until):
            return timer, None
        return until, self._participants[name]

    def _go_to(self, when: datetime, participant: Participant | None) -> None:
        """Take one step."""
        if participant is None:
            self._clock.step()
            return
        self._clock.set(max(when, self._clock.now()))
        participant.take_turn(self._clock.now())

    def _ahead(self, began: float, start: datetime, when: datetime) -> float:
        """Return the real seconds by which a step would come too early for the speed that is set."""
        if self.settings.speed is None:
            return 0.0
        return began + (when - start).total_seconds() / self.settings.speed - time.monotonic()

    def _participant(self, name: str) -> Participant:
        if name not in self._participants:
            raise LockstepError(f"process {name!r} has not joined, or was dismissed")
        return self._participants[name]


def _problem_of(watch: OpenWatch | None, lines: int) -> str:
    """Say what a process has yet to see of a watch of which it has not seen everything."""
    if watch is None:
        return "has not noticed the end of a watch"
    if not watch.wakeup.is_quiet:
        return f"has yet to be sent news of {watch.kind.plural}"
    return f"has seen {lines} of {watch.sent} lines of its watch of {watch.kind.plural}"
