"""Playing a scenario from its first object to its end state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Self

from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.scenarios.checks import Outcome, examine
from evenkeel.simulator.scenarios.chronicle import Chronicle
from evenkeel.simulator.scenarios.course import Course, fill_catalogue
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.evidence import Evidence
from evenkeel.simulator.scenarios.happenings import Happening
from evenkeel.simulator.scenarios.stage import Stage, StageSettings, open_stage

_TICK = timedelta(seconds=1)
_USAGE_PERIOD = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Watching:
    """Who is told of a run while it goes on.

    Args:
        on_happening: Told of everything that happens, at the latest after a second of simulated time.
        on_ready: Given the cluster when the scenario begins.
        on_tick: Called after every second of simulated time.
    """

    on_happening: Callable[[Happening], None] = lambda _: None
    on_ready: Callable[[Stage], None] = lambda _: None
    on_tick: Callable[[timedelta], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run.

    Args:
        outcomes: What came of each expectation that is about its profile.
        happenings: Everything that happened.
    """

    outcomes: tuple[Outcome, ...]
    happenings: tuple[Happening, ...]

    @property
    def holds(self) -> bool:
        """Whether the expected end state was reached."""
        return all(outcome.holds for outcome in self.outcomes)


@dataclass(slots=True)
class Run:
    """One scenario being played; used as an asynchronous context, after which everything is taken down.

    Args:
        scenario: What is played.
        settings: How.
        watching: Who is told.
        folder: Where the scenario's own files are, such as traces.
        speed: Simulated seconds in a second of real time, at most; None for as many as possible. It may be changed
            while the run goes on, and means nothing to a scenario that runs in the machine's own time.
    """

    scenario: Scenario
    settings: StageSettings
    watching: Watching = field(default_factory=Watching)
    folder: Path = field(default_factory=Path)
    speed: float | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _stage: Stage | None = None
    _chronicle: Chronicle | None = None

    async def __aenter__(self) -> Self:
        """Set the cluster up and start the processes; the scenario begins with ``play``."""
        try:
            self._stage = await self._stack.enter_async_context(
                open_stage(self.scenario, self.settings, self._take_log)
            )
            fill_catalogue(self._stage.cluster.catalogue, self.scenario, self.folder)
            await self._stage.start_processes()
            await self._stage.pass_time(self._stage.round_moment())
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take everything down."""
        await self._stack.aclose()

    @property
    def stage(self) -> Stage:
        """The cluster with its processes."""
        if self._stage is None:
            raise RuntimeError("a run has a stage only inside its context")
        return self._stage

    async def play(self) -> Result:
        """Play the scenario and hold its end against what is expected.

        Raises:
            EvenkeelError: It could not be played to its end.
        """
        stage = self.stage
        self._chronicle = Chronicle(stage.cluster.server)
        self._stack.callback(self._chronicle.end)
        stage.cluster.server.requests.clear()
        self._chronicle.begin(stage.installation.collect)
        # Loads count from here, as every other time of the scenario does.
        stage.cluster.catalogue.origin = stage.cluster.clock.now()
        self.watching.on_ready(stage)
        for moment, act in Course(self.scenario, stage, self._chronicle, self.folder).plan():
            await self._pass_until(self._chronicle, moment)
            await act()
        await self._pass_until(self._chronicle, self.scenario.duration)
        return self._result(self._chronicle)

    async def pass_time(self) -> None:
        """Let time pass by the second for as long as this is not cancelled."""
        assert self._chronicle is not None, "play comes first"
        while True:
            await self._pass_until(self._chronicle, self._chronicle.now() + _TICK)

    async def _pass_until(self, chronicle: Chronicle, moment: timedelta) -> None:
        """Let time pass until a moment of the scenario, and tell those who watch in between."""
        while (now := chronicle.now()) < moment:
            until = min(moment, now - now % _TICK + _TICK)
            self._keep_pace()
            await self.stage.pass_time(chronicle.start + until)
            if not until % _USAGE_PERIOD:
                chronicle.take_usage()
            for happening in chronicle.news():
                self.watching.on_happening(happening)
            self.watching.on_tick(until)

    def _keep_pace(self) -> None:
        """Tell the clock how fast it may go, which may have changed; the machine's own time is not ours to change."""
        lockstep = self.stage.lockstep
        if lockstep is not None:
            lockstep.settings = replace(lockstep.settings, speed=self.speed)

    def _result(self, chronicle: Chronicle) -> Result:
        server, users = self.stage.cluster.server, self.stage.installation.users
        evidence = Evidence(
            self.scenario,
            server.store,
            chronicle.happenings,
            [call for call in server.requests.calls() if call.user in users],
        )
        checks = [one for one in self.scenario.expect if one.profile in {None, self.settings.profile}]
        return Result(tuple(examine(check, evidence) for check in checks), tuple(chronicle.happenings))

    def _take_log(self, process: str, line: LogLine) -> None:
        """Hand a line of a log on, once the scenario has begun."""
        if self._chronicle is not None:
            self._chronicle.take_log(process, line)
