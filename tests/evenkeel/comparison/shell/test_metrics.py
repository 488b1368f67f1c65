"""Use from the metrics API of the embedded API server."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.shell.metrics import EVERY_SECONDS, watch_metrics
from evenkeel.comparison.use import ObservedUse, UseSample
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from recommender.instants import instant
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.builders import T0

pytestmark = pytest.mark.anyio

KEY = ("default", "web", "main")
POD = ("default", "web-0")
QUARTER = timedelta(seconds=15)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def samples(use: ObservedUse, resource: str) -> list[UseSample]:
    return [*use.by_pod(KEY, resource).get("web-0", ())]


async def test_use_is_looked_at_until_the_window_has_passed() -> None:
    source, server, pacing = StaticMetrics(), ApiServer(), HeldPacing()
    server.metrics = source
    use = ObservedUse({POD: (("default", "web"),)})
    source.put_pod(POD, {"main": ("100m", "1Gi")}, Window(T0))
    source.put_pod(("default", "stranger"), {"main": ("9", "9Gi")}, Window(T0))
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, pacing) as (client, _):
        looking = asyncio.create_task(watch_metrics(client, "", use, timedelta(seconds=40)))
        for number in range(1, 4):
            await pacing.asleep()
            source.put_pod(POD, {"main": (f"{100 + number}m", "1Gi")}, Window(T0 + (number // 2) * QUARTER))
            await pacing.advance(EVERY_SECONDS if number < 3 else 10.0)
        await looking
    assert pacing.slept == [15.0, 15.0, 10.0], "beyond:B-35"
    # The second look found nothing new, and the last one the same as the one before.
    assert samples(use, CPU) == [UseSample(instant(T0), 100), UseSample(instant(T0 + QUARTER), 102)]
    assert samples(use, MEMORY) == [UseSample(instant(T0), 2**30), UseSample(instant(T0 + QUARTER), 2**30)]


async def test_without_a_window_there_is_one_look_in_the_namespace_asked_for() -> None:
    source, server, pacing = StaticMetrics(), ApiServer(), HeldPacing()
    server.metrics = source
    server.create_namespaces("other")
    use = ObservedUse({POD: (("default", "web"),)})
    source.put_pod(POD, {"main": ("100m", "1Gi")}, Window(T0))
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, pacing) as (client, _):
        await watch_metrics(client, "other", use, timedelta(0))
        assert samples(use, CPU) == [], "beyond:B-35"
        await watch_metrics(client, "default", use, timedelta(0))
    assert samples(use, CPU) == [UseSample(instant(T0), 100)]
    assert pacing.slept == []
