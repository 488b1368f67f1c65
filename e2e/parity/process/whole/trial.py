"""One made-up cluster for all three programs, put to both sides: on the embedded API server, or on real ones."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from e2e.parity.process.copies import ClusterCopy, open_copy
from e2e.parity.process.differences import Report
from e2e.parity.process.engines import Engine, Side
from e2e.parity.process.real.copies import real_ground
from e2e.parity.process.rounds import Course, with_time_enough
from e2e.parity.process.upstream import Upstream
from e2e.parity.process.whole.cluster import ClusterMaker, WholeCluster
from e2e.parity.process.whole.comparison import Comparison
from e2e.parity.process.whole.play import Played, play

WORKLOADS, SUBMISSIONS = 220, 250
_EMBEDDED_ROUND_SECONDS = 10.0
_LONGEST_FIRST_ROUND_SECONDS = 24.0
"""Of a real API server; where rounds have to be longer still, that is found out by trying."""

Opening = Callable[[Path], AbstractAsyncContextManager[ClusterCopy]]
"""Serves a copy of a cluster, its files in a folder."""


async def compare_on_embedded(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare both sides on copies on the embedded API server; every object is a case."""
    cluster = ClusterMaker(seed, datetime.now(UTC), WORKLOADS, SUBMISSIONS).make()
    objects = (*course.definitions, *cluster.objects)
    enough = replace(course, seconds=max(course.seconds, _EMBEDDED_ROUND_SECONDS))
    return await _compared(cluster, upstream, enough, lambda folder: open_copy(objects, folder))


async def compare_on_real(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare both sides on copies on real API servers; every object is a case.

    Raises:
        ClusterError: Kubernetes' programs or etcd cannot be had.
    """
    cluster = ClusterMaker(seed, datetime.now(UTC), WORKLOADS, SUBMISSIONS).make()
    async with real_ground(course.folder / "ground") as ground:
        began = time.monotonic()
        await ground.fill((*course.definitions, *cluster.objects))
        # A round writes less than filling does, though one call after the other, and both sides write at once.
        seconds = max(course.seconds, min(time.monotonic() - began, _LONGEST_FIRST_ROUND_SECONDS))
        enough = replace(course, seconds=math.ceil(seconds))
        report = await _compared(cluster, upstream, enough, ground.open)
    report.notes.append(f"{ground.stored} keys copied in etcd for each side")
    report.notes += [f"not taken by the API server: {what}" for what in ground.refused]
    return report


async def _compared(cluster: WholeCluster, upstream: Upstream, course: Course, opening: Opening) -> Report:
    """Let both sides work at the same time, so that neither sees older objects than the other."""

    async def one(side: Side) -> Played:
        async def on_copy(course: Course) -> Played:
            async with opening(course.folder) as copy:
                return await play(copy, cluster, Engine(side, upstream), course)

        return await with_time_enough(Course(course.folder / side.value, course.definitions, course.seconds), on_copy)

    theirs, ours = await asyncio.gather(one(Side.UPSTREAM), one(Side.OURS))
    found = Comparison(cluster, theirs, ours)
    report = Report(f"whole cluster, seed {cluster.updater.seed}", found.cases(), list(found.differences()))
    chance = f"{found.recommenders.rounded} of them equal but for the order in which upstream goes through its maps"
    fates = f"{found.changed} changed, {found.refused} refused, {found.unreached} on which upstream's handler crashed"
    report.notes += [
        f"{len(cluster.updater.scalers)} VPAs, {len(cluster.updater.workloads)} pods",
        f"{len(theirs.states)} rounds of recommenders, {len(theirs.states[-1].checkpoints)} checkpoints, {chance}",
        f"{len(theirs.record.rounds)} rounds of updaters, {found.updaters.calls} writes",
        f"{len(cluster.submissions)} submissions: {fates}",
    ]
    return report
