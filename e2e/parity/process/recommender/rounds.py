"""Rounds of one recommender on a copy of a cluster, and the statuses and checkpoints after each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from e2e.parity.process.calls import WRITES, step_of
from e2e.parity.process.copies import Copy, open_copy
from e2e.parity.process.engines import Engine, Program
from e2e.parity.process.recommender import checkpoints
from e2e.parity.process.recommender.cluster import RecommenderCluster
from e2e.parity.process.recommender.usage import HeldFrame
from e2e.parity.process.rounds import UNLIMITED, Course, check_lengths, round_begins, split, until
from e2e.parity.process.world import scalers
from evenkeel.simulator.api.external_metrics import UsageAsExternalMetrics
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.requestlog import RecordedCall

Key = tuple[str, str]
"""Namespace and name."""

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
    writes: Counter[tuple[str, Key, int]]


async def run_rounds(cluster: RecommenderCluster, engine: Engine, course: Course) -> tuple[State, ...]:
    """Run a recommender on a fresh copy of a cluster, one round for each frame.

    Raises:
        EngineEndedError: The recommender has ended by itself.
        TimeoutError: It begins no round.
        RoundCutOffError: A round was too short.
    """
    flags = (*cluster.flags, f"--recommender-interval={course.seconds}s", *UNLIMITED)
    count = len(cluster.frames)
    is_beginning = cluster.external.is_beginning if cluster.external else asks_for_all_usage
    found: list[tuple[Mapping[Key, JsonObject], Mapping[Key, JsonObject]]] = []
    async with open_copy((*course.definitions, *cluster.objects), course.folder) as copy:
        held = _serve_usage(copy, cluster)
        async with copy.running(engine, Program.RECOMMENDER, flags) as running:
            for number in range(count):
                await round_begins(copy, running, number + 1, is_beginning)
                await asyncio.sleep(course.seconds / 2)
                found.append(_stored(copy))
                held.go_on()
                for change in cluster.changes[number] if number < len(cluster.changes) else ():
                    change.apply(copy.server)
            await round_begins(copy, running, count + 1, is_beginning)
            rounds = split(until(copy.server.requests.calls(), is_beginning, count), is_beginning)
    # What comes late besides are targets looked at for the next round, before it asks for usage.
    check_lengths(rounds, course.seconds, WRITES)
    return tuple(State(*stored, _writes(calls)) for stored, calls in zip(found, rounds, strict=True))


def _serve_usage(copy: Copy, cluster: RecommenderCluster) -> HeldFrame:
    """Serve the use of pods, where the cluster's recommenders look for it."""
    held = HeldFrame(cluster.frames)
    if cluster.external is None:
        copy.server.metrics = held
    else:
        external = cluster.external
        copy.server.serve_external(UsageAsExternalMetrics(held, external.metrics, external.container_label))
    return held


def asks_for_all_usage(call: RecordedCall) -> bool:
    """Say whether a call begins a round: a recommender asks for the usage of all pods, once in each."""
    return call.verb == "list" and call.path.startswith(_METRICS)


def _stored(copy: Copy) -> tuple[Mapping[Key, JsonObject], Mapping[Key, JsonObject]]:
    """Return the statuses of all VPAs, and all checkpoints without their metadata."""
    store = copy.server.store
    statuses = {_key(one): _part(one, "status") for one in store.list(scalers.API_VERSION, scalers.KIND)}
    stored = store.list(checkpoints.API_VERSION, checkpoints.KIND)
    return statuses, {_key(one): {"spec": one.get("spec"), "status": _part(one, "status")} for one in stored}


def _key(obj: JsonObject) -> Key:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def _part(obj: JsonObject, key: str) -> JsonObject:
    found = obj.get(key)
    return found if isinstance(found, dict) else {}


def _writes(calls: list[RecordedCall]) -> Counter[tuple[str, Key, int]]:
    """Count the writes of a round; a checkpoint that is found missing is created right after."""
    steps = [(step_of(call), int(call.status)) for call in calls if call.verb in WRITES and call.resource != "events"]
    return Counter((step.what, step.about, code) for step, code in steps)
