"""Autoscalers and checkpoints of both sides, as the tests of comparisons write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, TargetRef, Vpa
from evenkeel.comparison.comparing import Sides
from evenkeel.comparison.retracing import SideSettings, State
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint
from tests.builders import T0, recommended, vpa

NOW = T0 + timedelta(days=2)
MIB = 2**20


def autoscaler(
    *recommendations: ContainerRecommendation,
    name: str = "web",
    target: str = "",
    policies: Sequence[ContainerPolicy] | None = None,
) -> Vpa:
    """Return an autoscaler for the Deployment of the same name unless another is aimed at."""
    made = vpa(*recommendations, policies=policies)
    return replace(made, name=name, target_ref=TargetRef("Deployment", target or name, "apps/v1"))


def uncapped(target: str, before: str) -> ContainerRecommendation:
    """Return the recommendation for container ``main`` with a target that caps have changed."""
    return replace(recommended("main", target), uncapped_target=recommended("main", before).target)


def histogram(*buckets: int) -> HistogramCheckpoint:
    """Return a stored histogram whose weight is in some buckets, in equal shares."""
    return HistogramCheckpoint(T0, dict.fromkeys(buckets, 10000), 1.0)


def checkpoint(
    millicores: int,
    memory_mib: int,
    *,
    name: str = "web",
    last: datetime = NOW,
    samples: int = 2880,
    container: str = "main",
) -> ContainerCheckpoint:
    """Return a checkpoint of a container that always used the same."""
    cpu = CPU_BUCKETS.bucket_of_amounts(np.array([millicores]))
    memory = MEMORY_BUCKETS.bucket_of_amounts(np.array([memory_mib * MIB]))
    return ContainerCheckpoint(
        "default",
        name,
        container,
        histogram(int(cpu[0])),
        histogram(int(memory[0])),
        T0,
        last,
        samples,
        last,
    )


def state(
    vpas: Sequence[Vpa], checkpoints: Sequence[ContainerCheckpoint] = (), settings: SideSettings | None = None
) -> State:
    return State(tuple(vpas), tuple(checkpoints), settings or SideSettings())


def sides(ours: State, theirs: State) -> Sides:
    return Sides(ours, theirs, NOW)
