"""Rounds of one updater on a copy of a cluster, and what it asked of the API server in each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from e2e.parity.process.calls import WRITES, Step, Told, body_of, step_of, told_by
from e2e.parity.process.copies import ClusterCopy, open_copy
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.rounds import UNLIMITED, Course, Watched, check_lengths, round_begins, split, until
from e2e.parity.process.updater.cluster import UpdaterCluster
from e2e.parity.process.world import scalers
from e2e.parity.process.world.surroundings import LEASE_NAME
from evenkeel.simulator.api.fields import JsonObject, as_object, child, text
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.processes.program import RunningProgram

OWN_UID = "its own"
_UNPROCESSABLE = 422
Answered = tuple[Step, int]
"""A write, and the HTTP status that it was answered with."""


@dataclass(frozen=True, slots=True)
class Record:
    """What an updater did.

    Args:
        rounds: Its writes but events, round by round, in order.
        boosted: Its writes to pods whose boost is taken back; when and how often it tries is left to chance.
        told: How often it told what by events.
        decisions: What it logged about each object, round by round; empty for upstream.
    """

    rounds: tuple[tuple[Answered, ...], ...]
    boosted: frozenset[tuple[str, int]]
    told: Counter[Told]
    decisions: tuple[dict[str, LogLine], ...]


async def run_rounds(cluster: UpdaterCluster, engine: Engine, course: Course) -> Record:
    """Run an updater on a fresh copy of a cluster for as many rounds as the cluster has changes for, and one more.

    Raises:
        EngineEndedError: The updater has ended by itself.
        TimeoutError: It begins no round.
        RoundCutOffError: A round was too short.
    """
    async with open_copy((*course.definitions, *cluster.objects), course.folder) as copy:
        return await rounds_on(copy, cluster, engine, course)


async def rounds_on(copy: ClusterCopy, cluster: UpdaterCluster, engine: Engine, course: Course) -> Record:
    """Run an updater on a copy of a cluster; see ``run_rounds``."""
    flags = (*cluster.flags, f"--updater-interval={course.seconds}s", *UNLIMITED)
    count = len(cluster.changes) + 1
    decisions: list[dict[str, LogLine]] = []
    uids = {_named(kind, obj): text(obj, "metadata", "uid") for kind, obj in await _subjects(copy)}
    async with copy.running(engine, Program.UPDATER, flags) as running:
        watched = Watched(copy, Program.UPDATER, running)
        for number in range(count):
            await round_begins(watched, number + 1, is_beginning)
            await asyncio.sleep(course.seconds / 2)
            # Told now rather than at the end, as all rounds are run again where one was too short.
            _check(_divided(copy.calls(Program.UPDATER), cluster)[1], cluster, course)
            decisions.append(_decisions(running) if engine.side is Side.OURS else {})
            for change in cluster.changes[number] if number < len(cluster.changes) else ():
                await copy.apply(change)
        await round_begins(watched, count + 1, is_beginning)
        calls = until(copy.calls(Program.UPDATER), is_beginning, count)
    boosted, rounds = _divided(calls, cluster)
    _check(rounds, cluster, course)
    # Taken back twice in a row, an annotation is not there any more the second time.
    taken_back = frozenset(
        (str(step), code) for step, code in _writes(boosted) if (step.what, code) != ("patch pods", _UNPROCESSABLE)
    )
    return Record(tuple(_writes(one) for one in rounds), taken_back, _told([*rounds, boosted], uids), tuple(decisions))


def _divided(
    calls: Iterable[RecordedCall], cluster: UpdaterCluster
) -> tuple[list[RecordedCall], list[list[RecordedCall]]]:
    """Return the writes to pods whose boost is taken back, and the other calls round by round."""
    boosted: list[RecordedCall] = []
    others: list[RecordedCall] = []
    for call in calls:
        is_boosted = call.verb in WRITES and about(call) in cluster.boosted
        (boosted if is_boosted else others).append(call)
    return boosted, split(others, is_beginning)


def _check(rounds: list[list[RecordedCall]], cluster: UpdaterCluster, course: Course) -> None:
    """Make sure that rounds were long enough; whoever takes boosts back reads at any time."""
    check_lengths(rounds, course.seconds, WRITES if cluster.boosted else WRITES | {"get", "list"})


def is_beginning(call: RecordedCall) -> bool:
    """Say whether a call begins a round: an updater asks first whether the admission controller lives (updater M-7)."""
    return call.verb == "get" and call.resource == "leases" and call.path.endswith(f"/{LEASE_NAME}")


def about(call: RecordedCall) -> tuple[str, str]:
    """Return namespace and name of what a write is about; of an event, of what that is about."""
    if call.resource != "events":
        return step_of(call).about
    kind, *place = told_by(as_object(body_of(call))).object
    return (place[0], place[1]) if kind == "Pod" else ("", "")


def _writes(calls: Iterable[RecordedCall]) -> tuple[Answered, ...]:
    """Return the writes among some calls, without events."""
    return tuple((step_of(c), int(c.status)) for c in calls if c.verb in WRITES and c.resource != "events")


async def _subjects(copy: ClusterCopy) -> list[tuple[str, JsonObject]]:
    """Return what events may be about, each with its kind."""
    kinds = (("v1", "Pod"), (scalers.API_VERSION, scalers.KIND))
    return [(kind, obj) for version, kind in kinds for obj in await copy.objects(version, kind)]


def _named(kind: str, obj: JsonObject) -> tuple[str, str, str]:
    return kind, text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def _told(rounds: Iterable[Iterable[RecordedCall]], uids: Mapping[tuple[str, str, str], str]) -> Counter[Told]:
    """Count the events that were written, or written again with a higher count.

    Args:
        rounds: What was asked.
        uids: Uid of each object before all that; an event that has it says just ``OWN_UID``.
    """
    events: dict[str, Told] = {}
    told: Counter[Told] = Counter()
    for call in (call for calls in rounds for call in calls if call.resource == "events" and call.verb in WRITES):
        path = call.path
        if call.verb == "create":
            body = as_object(body_of(call))
            path = f"{path}/{text(child(body, 'metadata'), 'name')}"
            told_now = told_by(body)
            is_own = told_now.uid == uids.get(told_now.object)
            events[path] = replace(told_now, uid=OWN_UID) if is_own else told_now
        if path in events:
            told[events[path]] += 1
    return told


def _decisions(running: RunningProgram) -> dict[str, LogLine]:
    """Return what an updater has logged about each object since the last time."""
    lines = [line for line in running.log.new_lines() if line.event == "pod decided"]
    return {str(line.fields.get("object", "")): line for line in lines}
