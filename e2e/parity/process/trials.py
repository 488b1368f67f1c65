"""One made-up cluster put to both sides, for each of the three programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from e2e.parity.process.admission.answers import answers
from e2e.parity.process.admission.cluster import ClusterMaker as AdmissionMaker
from e2e.parity.process.admission.comparison import Comparison as AdmissionComparison
from e2e.parity.process.differences import Report
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.recommender.cluster import ClusterMaker as RecommenderMaker
from e2e.parity.process.recommender.comparison import Comparison as RecommenderComparison
from e2e.parity.process.recommender.rounds import State
from e2e.parity.process.recommender.rounds import run_rounds as run_recommender
from e2e.parity.process.rounds import Course, with_time_enough
from e2e.parity.process.updater.cluster import ClusterMaker as UpdaterMaker
from e2e.parity.process.updater.comparison import Comparison as UpdaterComparison
from e2e.parity.process.updater.rounds import run_rounds as run_updater
from e2e.parity.process.upstream import Upstream

T = TypeVar("T")
Trial = Callable[[str, Upstream, Course], Awaitable[Report]]

UPDATER_WORKLOADS, RECOMMENDER_WORKLOADS, ADMISSION_WORKLOADS = 40, 25, 40
REVIEWS = 400
_UPDATER_ROUNDS, _RECOMMENDER_ROUNDS = 3, 4


async def _both(course: Course, upstream: Upstream, run: Callable[[Engine, Course], Awaitable[T]]) -> tuple[T, T]:
    """Run something for both sides at the same time, so that neither sees older objects than the other."""

    async def one(side: Side) -> T:
        own = Course(course.folder / side.value, course.definitions, course.seconds)
        return await with_time_enough(own, lambda course: run(Engine(side, upstream), course))

    theirs, ours = await asyncio.gather(one(Side.UPSTREAM), one(Side.OURS))
    return theirs, ours


async def compare_updaters(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare updaters; every workload of the cluster is a case."""
    cluster = UpdaterMaker(seed, datetime.now(UTC), UPDATER_WORKLOADS, _UPDATER_ROUNDS).make()
    theirs, ours = await _both(course, upstream, lambda engine, course: run_updater(cluster, engine, course))
    found = UpdaterComparison(cluster, theirs, ours)
    report = Report(f"updaters, seed {seed}", len(found.workloads()), list(found.differences()))
    report.notes.append(
        f"{len(cluster.scalers)} VPAs, {len(cluster.workloads)} pods, {len(theirs.rounds)} rounds, "
        f"{found.calls} writes, {sum(theirs.told.values())} events; "
        f"{len(theirs.boosted)} different writes to pods with boosts to take back"
    )
    return report


async def compare_recommenders(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare recommenders; every VPA and every checkpoint is a case."""
    cluster = RecommenderMaker(seed, datetime.now(UTC), RECOMMENDER_WORKLOADS, _RECOMMENDER_ROUNDS).make()
    theirs, ours = await _both(course, upstream, lambda engine, course: run_recommender(cluster, (engine,), course))
    found = RecommenderComparison(cluster, theirs, ours)
    report = Report(f"recommenders, seed {seed}", found.objects(), list(found.differences()))
    source = "external metrics" if cluster.external else "the metrics API"
    report.notes.append(
        f"usage from {source}, {len(theirs)} rounds, "
        f"{sum(len(change) for change in cluster.changes)} changes between them, {found.rounded} checkpoints equal "
        "but for the order in which upstream goes through its maps"
    )
    return report


async def compare_takeovers(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare recommenders that go on from what another one has stored, in either direction.

    Upstream's, which goes on from what upstream's has stored, is what both are compared with. Every VPA and every
    checkpoint is a case, once for each direction.

    Spec: recommender:6.3, recommender:6.4.
    """
    cluster = RecommenderMaker(seed, datetime.now(UTC), RECOMMENDER_WORKLOADS, _RECOMMENDER_ROUNDS).make()

    async def one(*sides: Side) -> tuple[State, ...]:
        own = Course(course.folder / "-".join(side.value for side in sides), course.definitions, course.seconds)
        engines = [Engine(side, upstream) for side in sides]
        return await with_time_enough(own, lambda course: run_recommender(cluster, engines, course))

    alone, *mixed = await asyncio.gather(
        one(Side.UPSTREAM, Side.UPSTREAM), one(Side.OURS, Side.UPSTREAM), one(Side.UPSTREAM, Side.OURS)
    )
    half = _RECOMMENDER_ROUNDS // 2
    found = [RecommenderComparison(cluster, alone, other, taken_over_at=half) for other in mixed]
    differences = [difference for comparison in found for difference in comparison.differences()]
    report = Report(f"recommenders that take over, seed {seed}", sum(one.objects() for one in found), differences)
    stored = len(alone[half - 1].checkpoints)
    report.notes.append(
        f"{stored} checkpoints taken over in each direction after {half} of {_RECOMMENDER_ROUNDS} "
        f"rounds, {sum(one.rounded for one in found)} equal but for the order in which upstream goes through its maps"
    )
    return report


async def compare_webhooks(seed: str, upstream: Upstream, course: Course) -> Report:
    """Compare webhooks; every review is a case."""
    cluster = AdmissionMaker(seed, datetime.now(UTC), ADMISSION_WORKLOADS, REVIEWS).make()
    theirs, ours = await _both(course, upstream, lambda engine, course: answers(cluster, engine, course))
    found = AdmissionComparison(cluster, theirs, ours)
    report = Report(f"webhooks, seed {seed}", len(cluster.reviews), list(found.differences()))
    report.notes.append(
        f"{found.patched} patched, {found.refused} refused, upstream's handler crashed on {found.crashed}"
    )
    return report


TRIALS: dict[Program, tuple[Trial, int]] = {
    Program.UPDATER: (compare_updaters, UPDATER_WORKLOADS),
    Program.RECOMMENDER: (compare_recommenders, 3 * RECOMMENDER_WORKLOADS),
    Program.ADMISSION: (compare_webhooks, REVIEWS),
}
"""How each program is compared, and about how many cases a cluster has."""
