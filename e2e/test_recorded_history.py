"""Eight days of real systems: ours and upstream's own recommender recommend the same from the same history.

A recommender that begins with Prometheus writes no checkpoints. So the same eight days are told a second time by the
metrics API, from which either side makes its checkpoints; with those of either side both begin once more.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from e2e.parity.process.copies import Copy, check_alive, open_copy
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.upstream import Upstream, find_upstream
from e2e.prometheus.readers import (
    API_VERSION,
    FAST,
    FROM_PROMETHEUS,
    POLL_SECONDS,
    RANGED,
    Statuses,
    apart,
    cluster,
    recommended,
    serving,
    some_hours_ago,
    statuses,
    vectors,
)
from e2e.prometheus.recorded import Frames, Recording, Told, read_recording
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, text
from evenkeel.simulator.clock import parse_rfc3339

_TRACES = 138
_CHECKPOINT = "VerticalPodAutoscalerCheckpoint"
_STEP = timedelta(hours=6)
_PATIENCE_SECONDS = 300.0
# Some checkpoints are written in each round, not all of them.
_FLAGS = ("--recommender-interval=400ms", "--checkpoints-timeout=0s", *FAST)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_recording(some_hours_ago())


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    return find_upstream()


def count_of_containers(found: Statuses) -> int:
    """Return how many containers have a recommendation."""
    return sum(len(vectors(status)) for status in found.values())


def test_from_prometheus_every_container_is_recommended_the_same(
    recording: Recording, upstream: Upstream, tmp_path: Path
) -> None:
    found: dict[Side, Statuses] = {}
    with serving(recording.pods, recording, recording.now, tmp_path) as past:
        for side in Side:
            past.proxy.take()
            flags, folder = (*FROM_PROMETHEUS, RANGED), tmp_path / side.value
            found[side] = asyncio.run(statuses(past, upstream, Engine(side, upstream), flags, folder))
    assert apart(found[Side.UPSTREAM], found[Side.OURS]) == [], "recommender:7"
    assert count_of_containers(found[Side.OURS]) == _TRACES
    targets = {str(of_one[0]) for status in found[Side.OURS].values() for of_one in vectors(status).values()}
    assert len(targets) > _TRACES / 4, "many do next to nothing, but not all"


@dataclass(frozen=True, slots=True)
class Stored:
    """What one recommender has made of the eight days.

    Args:
        statuses: Of all VPAs.
        checkpoints: All of them, as they can be created on another copy.
    """

    statuses: Statuses
    checkpoints: Statuses

    @property
    def timeless(self) -> Statuses:
        """The checkpoints without the times at which they were written."""
        copies = {name: copy_of(checkpoint) for name, checkpoint in self.checkpoints.items()}
        for checkpoint in copies.values():
            child(checkpoint, "status").pop("lastUpdateTime")
        return copies


async def follow(recording: Recording, frames: Frames, engine: Engine, folder: Path) -> Stored:
    """Let a recommender follow the eight days by the metrics API."""
    told = Told(frames)
    async with open_copy([*engine.upstream.definitions(), *cluster(recording.pods)], folder) as copy:
        copy.server.metrics = told
        async with copy.running(engine, Program.RECOMMENDER, _FLAGS) as one, asyncio.timeout(_PATIENCE_SECONDS):
            while not told.ended or not await is_stored_since(copy, told.ended):
                check_alive(one)
                await asyncio.sleep(POLL_SECONDS)
            written = await recommended(copy, one)
            stored = await copy.objects(API_VERSION, _CHECKPOINT)
    return Stored(written, {text(each, "metadata", "name"): creatable(each) for each in stored})


async def is_stored_since(copy: Copy, moment: datetime) -> bool:
    """Say whether every checkpoint is there and was written after a moment; they tell in whole seconds."""
    stored = await copy.objects(API_VERSION, _CHECKPOINT)
    written = [parse_rfc3339(text(each, "status", "lastUpdateTime")) for each in stored]
    return len(written) == _TRACES and min(written) > moment


def creatable(stored: JsonObject) -> JsonObject:
    """Return an object without what the API server has added."""
    metadata: JsonObject = {key: child(stored, "metadata")[key] for key in ("name", "namespace")}
    return {**copy_of(stored), "metadata": metadata}


async def begin(recording: Recording, engine: Engine, stored: Stored, folder: Path) -> Statuses:
    """Let a recommender begin with checkpoints, and return what it recommends from them alone."""
    objects = [*engine.upstream.definitions(), *cluster(recording.pods), *stored.checkpoints.values()]
    async with open_copy(objects, folder) as copy, copy.running(engine, Program.RECOMMENDER, _FLAGS) as one:
        return await recommended(copy, one)


async def follow_and_begin(
    recording: Recording, upstream: Upstream, folder: Path
) -> tuple[dict[Side, Stored], dict[tuple[Side, Side], Statuses]]:
    """Return what both sides make of the eight days, and what both make of the checkpoints of either."""
    # What is older than eight days by the clock on the wall, recommenders forget at once.
    until_now = replace(recording, now=int(time.time()) // 3600 * 3600)
    frames, engines = until_now.frames(_STEP), {side: Engine(side, upstream) for side in Side}
    async with asyncio.TaskGroup() as following:
        tasks = {
            side: following.create_task(follow(recording, frames, engine, folder / side.value))
            for side, engine in engines.items()
        }
    stored = {side: task.result() for side, task in tasks.items()}
    begun = {
        (reader, writer): await begin(recording, engine, kept, folder / f"{reader.value}-{writer.value}")
        for writer, kept in stored.items()
        for reader, engine in engines.items()
    }
    return stored, begun


def test_from_checkpoints_of_either_side_every_container_is_recommended_the_same(
    recording: Recording, upstream: Upstream, tmp_path: Path
) -> None:
    stored, begun = asyncio.run(follow_and_begin(recording, upstream, tmp_path))
    ours, theirs = stored[Side.OURS], stored[Side.UPSTREAM]
    assert apart(theirs.statuses, ours.statuses) == []
    assert apart(theirs.timeless, ours.timeless) == [], "recommender:6.3"
    assert len(ours.checkpoints) == _TRACES
    for writer in Side:
        found = {reader: begun[reader, writer] for reader in Side}
        assert apart(found[Side.UPSTREAM], found[Side.OURS]) == [], f"recommender:6.4, written by {writer.value}"
        assert count_of_containers(found[Side.OURS]) == _TRACES
