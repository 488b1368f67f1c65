"""Simulated days with troubles, and the same days without, for what they come to."""

from __future__ import annotations

import math
import random  # noqa: TID251 - troubles come by a seeded chance
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import child, rows, text
from tests.chaos.plant import ADMISSION, RECOMMENDER, UPDATER, Plant, PlantSettings, plant
from tests.chaos.troubles import Troubles
from tests.chaos.watchman import History, Watchman
from tests.chaos.workloads import GROUP, WORKLOADS, deploy, guard

BUCKET_GROWTH: Final = 1.05
_FIRST_BUCKET: Final = {"cpu": 0.01, "memory": 1e7}
_MARGIN: Final = 1.15
_HOUR: Final = 3600
_STEP_SECONDS: Final = 10

Targets = Mapping[tuple[str, str], Quantity]
"""What VPAs recommend, by name and resource."""


@dataclass
class Report:
    """What came of a run.

    Attributes:
        simulated_hours: How long it was on the simulated clock, troubles and calm together.
        targets: What was recommended in the end.
        troubles: What went wrong, by kind.
        changes: What the updaters did, by kind.
        problems: What they did that they may not.
        losses: Checkpoints that lost history.
        exits: How often each program ended by itself.
        memory: Resident bytes of the oldest replica of each program, from hour to hour.
    """

    simulated_hours: float = 0.0
    targets: Targets = field(default_factory=dict)
    troubles: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    exits: Counter[str] = field(default_factory=Counter)
    memory: list[dict[str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Course:
    """How a run goes.

    Args:
        folder: For kubeconfigs and logs, its own.
        seed: Of everything that is left to chance.
        stormy_hours: How long there are troubles, at most.
        calm_hours: How long there are none afterwards.
        real_seconds: After how much real time the troubles end in any case.
        told: Told of the state after every simulated hour.
    """

    folder: Path
    seed: int
    stormy_hours: float
    calm_hours: float
    real_seconds: float = math.inf
    told: Callable[[str], None] = lambda _: None


async def with_troubles(course: Course) -> Report:
    """Play the days with everything that goes wrong."""
    report = Report()
    replicas = {RECOMMENDER: 2, UPDATER: 2, ADMISSION: 2}
    async with plant(PlantSettings(course.folder, replicas, seed=course.seed)) as made:
        watchman, history = Watchman(made, {one.name: one for one in WORKLOADS}), History(made)
        await _open(made)
        watchman.begin()
        history.begin()
        troubles = Troubles(made, random.Random(course.seed))
        troubles.begin()
        began, start = time.monotonic(), made.cluster.clock.now()
        end, hour = course.stormy_hours * _HOUR, 0
        while (passed := (made.cluster.clock.now() - start).total_seconds()) < end:
            if time.monotonic() - began > course.real_seconds:
                break
            await troubles.stir()
            await made.run(_STEP_SECONDS)
            if passed >= hour * _HOUR:
                hour += 1
                report.memory.append(made.resident_bytes())
                course.told(f"hour {passed / _HOUR:.1f}: {dict(watchman.counted)}, {len(watchman.problems)} problems")
        troubles.end()
        await made.run(course.calm_hours * _HOUR)
        report.memory.append(made.resident_bytes())
        report.simulated_hours = (made.cluster.clock.now() - start).total_seconds() / _HOUR
        report.targets, report.troubles, report.changes = targets(made), troubles.counted, watchman.counted
        report.problems, report.losses = watchman.problems, history.losses
        report.exits = Counter(f"{name.rpartition('-')[0]} with status {status}" for name, status in made.statuses)
    return report


async def without_troubles(course: Course, hours: float) -> Report:
    """Play the same days when nothing goes wrong."""
    report = Report(hours)
    async with plant(
        PlantSettings(course.folder, {RECOMMENDER: 1, UPDATER: 1, ADMISSION: 1}, seed=course.seed)
    ) as made:
        await _open(made)
        await made.run(hours * _HOUR, step_seconds=60)
        report.targets = targets(made)
    return report


async def _open(made: Plant) -> None:
    """Start everything, and deploy the workloads once the webhook is there."""
    await guard(made)
    await made.start(*made.names)
    await made.wait_for_webhook()
    await made.wait_for_leader(UPDATER)
    await made.wait_for_leader(RECOMMENDER)
    await deploy(made, *WORKLOADS)


def targets(made: Plant) -> Targets:
    """Return what the VPAs of a plant recommend now."""
    found: dict[tuple[str, str], Quantity] = {}
    for vpa in made.cluster.server.store.list(f"{GROUP}/v1", "VerticalPodAutoscaler", "default"):
        for entry in rows(vpa, "status", "recommendation", "containerRecommendations"):
            for resource, amount in child(entry, "uncappedTarget").items():
                found[text(vpa, "metadata", "name"), resource] = Quantity.parse(str(amount))
    return found


def buckets_apart(one: Targets, other: Targets) -> dict[tuple[str, str], float]:
    """Return by how many buckets of the histograms recommendations differ; those that only one has by infinity."""
    return {
        key: abs(_bucket(key[1], one[key]) - _bucket(key[1], other[key])) if key in one and key in other else math.inf
        for key in sorted({*one, *other})
    }


def _bucket(resource: str, amount: Quantity) -> float:
    """Return where in its histogram the percentile lies that a target was made of, in buckets."""
    value = amount.nano / 1e9 / _MARGIN
    return math.log(value * (BUCKET_GROWTH - 1.0) / _FIRST_BUCKET[resource] + 1.0) / math.log(BUCKET_GROWTH)
