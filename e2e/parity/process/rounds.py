"""Rounds of a program on a copy of a cluster: when they begin, and whether they were long enough."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from e2e.parity.process.copies import ClusterCopy, check_alive
from e2e.parity.process.engines import Program
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.processes.program import RunningProgram

T = TypeVar("T")
IsBeginning = Callable[[RecordedCall], bool]
UNLIMITED = ("--kube-api-qps=5000", "--kube-api-burst=5000")
"""Flags without which a program would spend its rounds waiting for itself."""

_POLL_SECONDS = 0.1
_START_SECONDS = 180.0
_LONGEST_ROUND_SECONDS = 30.0
_BUSY_SHARE = 0.45
"""Share of a round after which nothing may come any more; the cluster is changed in the middle."""


class RoundCutOffError(Exception):
    """A round was too short for what a program had to do in it, as on a busy machine."""


@dataclass(frozen=True, slots=True)
class Course:
    """How programs are run.

    Args:
        folder: For logs.
        definitions: Definitions of the VPA kinds.
        seconds: Length of a round.
    """

    folder: Path
    definitions: tuple[JsonObject, ...]
    seconds: float = 4.0


async def with_time_enough(course: Course, run: Callable[[Course], Awaitable[T]]) -> T:
    """Run a program, and once more with longer rounds where they were too short.

    Raises:
        RoundCutOffError: Even the longest rounds were too short.
    """
    seconds = course.seconds
    while True:
        try:
            return await run(replace(course, folder=course.folder / f"{seconds:g}s", seconds=seconds))
        except RoundCutOffError:
            if seconds > _LONGEST_ROUND_SECONDS:
                raise
            seconds *= 2


@dataclass(frozen=True, slots=True)
class Watched:
    """A program whose rounds are watched.

    Args:
        copy: Where it is at work.
        program: Which one it is.
        running: The process.
    """

    copy: ClusterCopy
    program: Program
    running: RunningProgram


async def round_begins(watched: Watched, number: int, is_beginning: IsBeginning) -> None:
    """Wait until a round begins.

    Args:
        watched: The program.
        number: Of the round; the first one is 1.
        is_beginning: Says whether a call begins a round.

    Raises:
        EngineEndedError: The program has ended by itself.
        TimeoutError: The round does not begin.
    """
    async with asyncio.timeout(_START_SECONDS):
        while sum(is_beginning(call) for call in watched.copy.calls(watched.program)) < number:
            check_alive(watched.running)
            await asyncio.sleep(_POLL_SECONDS)


def until(calls: Iterable[RecordedCall], is_beginning: IsBeginning, count: int) -> list[RecordedCall]:
    """Return the calls up to the end of so many rounds, with those before the first one."""
    found: list[RecordedCall] = []
    for call in calls:
        count -= is_beginning(call)
        if count < 0:
            break
        found.append(call)
    return found


def split(calls: Iterable[RecordedCall], is_beginning: IsBeginning) -> list[list[RecordedCall]]:
    """Return the calls of each round; what came before the first one is left out."""
    rounds: list[list[RecordedCall]] = []
    for call in calls:
        if is_beginning(call):
            rounds.append([])
        if rounds:
            rounds[-1].append(call)
    return rounds


def check_lengths(rounds: Iterable[list[RecordedCall]], seconds: float, verbs: frozenset[str]) -> None:
    """Make sure that everything in a round was over when the cluster was changed after it.

    Args:
        rounds: The calls of each round.
        seconds: Length of a round.
        verbs: Which calls have to be over by then.

    Raises:
        RoundCutOffError: It was not.
    """
    for calls in rounds:
        begun: datetime = calls[0].at
        for call in calls:
            passed = (call.at - begun).total_seconds()
            if call.verb in verbs and passed > seconds * _BUSY_SHARE:
                what = f"{call.verb} {call.path} came {passed:.1f} s after the begin of a round of {seconds:g} s"
                raise RoundCutOffError(what)
