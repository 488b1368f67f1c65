"""Minutes of chaos, the same every time; hours of it are played by ``python -m e2e.chaos``."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from autoscaling.quantity import Quantity
from tests.chaos.course import Course, buckets_apart, with_troubles, without_troubles
from tests.chaos.workloads import WORKLOADS

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]
LIMIT_SECONDS = 600
"""Of real time, for a run that hangs."""
STORMY_HOURS, CALM_HOURS = 0.25, 0.1


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("row", ["beyond:B-24"])
async def test_nothing_is_done_that_may_not_be_and_nothing_is_lost(tmp_path: Path, row: str) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        report = await with_troubles(Course(tmp_path, 3, STORMY_HOURS, CALM_HOURS))
    assert report.problems == [], row
    assert report.losses == [], row
    assert report.changes["resize"] > 10
    assert report.changes["eviction"] > 5
    assert report.troubles["kills"] > 1
    assert len(report.troubles) > 6
    assert {name for name, _ in report.targets} == {workload.name for workload in WORKLOADS}


async def test_days_without_troubles_come_to_the_same_every_time(tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        runs = [await without_troubles(Course(tmp_path, 3, 0.0, 0.0), 0.1) for _ in range(2)]
    assert runs[0].targets == runs[1].targets
    assert max(buckets_apart(runs[0].targets, runs[1].targets).values()) == 0.0


@pytest.mark.parametrize(
    ("row", "one", "other", "apart"),
    [
        # The first bucket of cpu is a hundredth of a core wide, each further one a twentieth wider than the last.
        ("recommender:1.1", "11500u", "11500u", 0.0),
        ("recommender:1.1", "11500u", "23575u", 1.0),
        ("recommender:1.1", "23575u", "11500u", 1.0),
        ("recommender:1.1", "11500u", "", math.inf),
    ],
)
def test_how_many_buckets_lie_between_recommendations(row: str, one: str, other: str, apart: float) -> None:
    found = [{("web", "cpu"): Quantity.parse(amount)} if amount else {} for amount in (one, other)]
    assert buckets_apart(found[0], found[1]) == {("web", "cpu"): pytest.approx(apart)}, row
