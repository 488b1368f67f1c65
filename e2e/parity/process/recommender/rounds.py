"""Rounds of one recommender on a copy of a cluster, and the statuses and checkpoints after each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from e2e.parity.process.calls import WRITES, step_of
from e2e.parity.process.copies import ClusterCopy, open_copy
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.recommender import checkpoints
from e2e.parity.process.recommender.cluster import RecommenderCluster
from e2e.parity.process.recommender.usage import HeldFrame
from e2e.parity.process.rounds import (
    UNLIMITED,
    Course,
    RoundCutOffError,
    Watched,
    check_lengths,
    round_begins,
    split,
    until,
)
from e2e.parity.process.world import scalers
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.requestlog import RecordedCall

Key = tuple[str, str]
"""Namespace and name."""

Write = tuple[str, Key, int]
"""What was written of which object, and the status of the answer."""

_METRICS = "/apis/metrics.k8s.io/"


@dataclass(frozen=True, slots=True)
class State:
    """What is stored after a round.

    Args:
        statuses: Status of each VPA.
        checkpoints: Spec and status of each checkpoint.
        writes: What was written how often in the round, with the answers' statuses.
    """

    statuses: Mapping[Key, JsonObject]
    checkpoints: Mapping[Key, JsonObject]
    writes: Counter[Write]


async def run_rounds(cluster: RecommenderCluster, engines: Sequence[Engine], course: Course) -> tuple[State, ...]:
    """Run recommenders on a fresh copy of a cluster, one round for each frame.

    Args:
        cluster: The cluster.
        engines: Whose recommender runs first, and whose go on one after the other from what the one before has stored;
            each has its share of the rounds.
        course: How they are run.

    Raises:
        EngineEndedError: A recommender has ended by itself.
        TimeoutError: It begins no round.
        RoundCutOffError: A round was too short.
    """
    async with open_copy((*course.definitions, *cluster.objects), course.folder) as copy:
        return await rounds_on(copy, cluster, engines, course)


async def rounds_on(
    copy: ClusterCopy, cluster: RecommenderCluster, engines: Sequence[Engine], course: Course
) -> tuple[State, ...]:
    """Run recommenders on a copy of a cluster; see ``run_rounds``."""
    held = HeldFrame(cluster.frames)
    await copy.tell_usage(held, cluster.external)
    stage = _Stage(copy, cluster, course, held)
    for engine, rounds in zip(engines, shares(len(cluster.frames), len(engines)), strict=True):
        await stage.play(engine, rounds)
    calls = until(copy.calls(Program.RECOMMENDER), stage.is_beginning, len(cluster.frames))
    rounds_of_calls = split(calls, stage.is_beginning)
    # What comes late besides are targets looked at for the next round, before it asks for usage.
    check_lengths(rounds_of_calls, course.seconds, WRITES)
    return tuple(State(*stored, _writes(calls)) for stored, calls in zip(stage.found, rounds_of_calls, strict=True))


def shares(rounds: int, count: int) -> Iterator[range]:
    """Yield the numbers of the rounds that each of some recommenders has, the first of them counting as 0."""
    for place in range(count):
        yield range(rounds * place // count, rounds * (place + 1) // count)


@dataclass(slots=True)
class _Stage:
    """A copy of a cluster on which recommenders run.

    Args:
        copy: The copy.
        cluster: What it is a copy of.
        course: How programs are run.
        usage: What is told of the use of pods.
        found: What was stored after each round.
    """

    copy: ClusterCopy
    cluster: RecommenderCluster
    course: Course
    usage: HeldFrame
    found: list[tuple[Mapping[Key, JsonObject], Mapping[Key, JsonObject]]] = field(default_factory=list)

    def is_beginning(self, call: RecordedCall) -> bool:
        """Say whether a call begins a round."""
        external = self.cluster.external
        return external.is_beginning(call) if external else asks_for_all_usage(call)

    async def play(self, engine: Engine, rounds: range) -> None:
        """Run a recommender for some rounds, and change the cluster in the middle of each."""
        flags = (*self.cluster.flags, f"--recommender-interval={self.course.seconds}s", *UNLIMITED)
        is_last = rounds.stop == len(self.cluster.frames)
        async with self.copy.running(engine, Program.RECOMMENDER, flags) as running:
            watched = Watched(self.copy, Program.RECOMMENDER, running)
            for number in rounds:
                await round_begins(watched, number + 1, self.is_beginning)
                await asyncio.sleep(self.course.seconds / 2)
                # Told now rather than at the end, as all rounds are run again where one was too short.
                so_far = split(self.copy.calls(Program.RECOMMENDER), self.is_beginning)
                check_lengths(so_far, self.course.seconds, WRITES)
                self.found.append(await _stored(self.copy))
                self.usage.go_on()
                for change in self.cluster.changes[number] if number < len(self.cluster.changes) else ():
                    await self.copy.apply(change)
            if is_last:
                await round_begins(watched, rounds.stop + 1, self.is_beginning)
        begun = sum(self.is_beginning(call) for call in self.copy.calls(Program.RECOMMENDER))
        if not is_last and begun > rounds.stop:
            raise RoundCutOffError("a recommender began one more round before it had ended")


def asks_for_all_usage(call: RecordedCall) -> bool:
    """Say whether a call begins a round: a recommender asks for the usage of all pods, once in each."""
    return call.verb == "list" and call.path.startswith(_METRICS)


async def _stored(copy: ClusterCopy) -> tuple[Mapping[Key, JsonObject], Mapping[Key, JsonObject]]:
    """Return the statuses of all VPAs, and all checkpoints without their metadata."""
    statuses = {_key(one): _part(one, "status") for one in await copy.objects(scalers.API_VERSION, scalers.KIND)}
    stored = await copy.objects(checkpoints.API_VERSION, checkpoints.KIND)
    return statuses, {_key(one): {"spec": one.get("spec"), "status": _part(one, "status")} for one in stored}


def _key(obj: JsonObject) -> Key:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def _part(obj: JsonObject, key: str) -> JsonObject:
    found = obj.get(key)
    return found if isinstance(found, dict) else {}


def _writes(calls: list[RecordedCall]) -> Counter[Write]:
    """Count the writes of a round; a checkpoint that is found missing is created right after."""
    steps = [(step_of(call), int(call.status)) for call in calls if call.verb in WRITES and call.resource != "events"]
    return Counter((step.what, step.about, code) for step, code in steps)
