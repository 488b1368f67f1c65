"""A recommender on the embedded API server, told when to run its rounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.paths import checkpoints, vertical_pod_autoscalers
from autoscaling.runtime.health import Vitals
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from recommender.__main__ import model_settings
from recommender.cluster_model import ClusterModel
from recommender.config import RecommenderConfig
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.shell.caches import Caches
from recommender.shell.checkpoints import CheckpointKeeper, CheckpointSettings
from recommender.shell.loop import Loop
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.parts import LoopSettings, Parts
from recommender.shell.statuses import StatusWriter
from recommender.shell.usage import ResourceMetricsSource
from recommender.strategies.known import KnownStrategies
from recommender.strategies.running import StrategyRuns
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, client_for

MINUTE = timedelta(minutes=1)
CHECKPOINTS = checkpoints(GROUP)


def used(server: ApiServer, minutes: int, cpu: str = "100m", memory: str = "300Mi", pod: str = "web-0") -> None:
    """Set what the metrics API answers."""
    metrics = server.metrics
    assert isinstance(metrics, StaticMetrics)
    metrics.put_pod(("default", pod), {"main": (cpu, memory)}, Window(T0 + minutes * MINUTE))


@asynccontextmanager
async def recommender(
    server: ApiServer,
    *,
    name: str = "default",
    ignored: tuple[str, ...] = (),
    profile: Profile = Profile.EVENKEEL,
    started_minutes: int = 0,
    threshold: float = 0.0,
    strategies: KnownStrategies | None = None,
) -> AsyncIterator[Loop]:
    """A recommender with filled caches and loaded history."""
    async with client_for(server) as client:
        behaviour = Behaviour.of(profile)
        caches = Caches(client, GROUP, "", behaviour)
        driver = HeldDriver(T0 + started_minutes * MINUTE)
        keeping = CheckpointSettings(
            CHECKPOINTS,
            2,
            MINUTE,
            10 * MINUTE,
            "",
            frozenset(ignored),
            behaviour.running_window_saved,
            behaviour.checkpoint_names_kept_apart,
            behaviour.targets_may_vanish,
        )
        metrics = RecommenderMetrics.register(CollectorRegistry())
        parts = Parts(
            caches,
            ResourceMetricsSource(client, "", metrics),
            StatusWriter(client, vertical_pod_autoscalers(GROUP), 2, caches.newer),
            CheckpointKeeper(client, keeping, driver.now()),
            metrics,
            Vitals(MINUTE, client.pacing.monotonic),
            driver,
        )
        settings = LoopSettings(
            name, "", frozenset(ignored), EstimatorSettings(), RenderingSettings(), behaviour, threshold
        )
        model = ClusterModel(model_settings(RecommenderConfig(profile=profile)))
        model.strategies = StrategyRuns(strategies)
        loop = Loop(settings, parts, model)
        caches.start()
        try:
            await caches.wait_synced(10)
            await loop.load_history()
            yield loop
        finally:
            await caches.stop()


async def run_at(loop: Loop, minutes: int) -> None:
    """Run one round at so many minutes after T0."""
    driver = loop.parts.driver
    assert isinstance(driver, HeldDriver)
    driver.time = T0 + minutes * MINUTE
    await loop.run_round()


async def until(check: Callable[[], bool]) -> None:
    """Let the watches run until something is true."""
    async with asyncio.timeout(10):
        while not check():  # noqa: ASYNC110 there is no event for what the check looks at
            await asyncio.sleep(0)


async def seen(server: ApiServer, loop: Loop) -> None:
    """Wait until the recommender knows the VPA as it is stored."""
    metadata = server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")["metadata"]
    assert isinstance(metadata, dict)
    await until(lambda: loop.parts.caches.vpas.snapshot()[0].resource_version == metadata["resourceVersion"])


def status(server: ApiServer, name: str = "web") -> Json:
    found = server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", name, "default").get("status")
    return found if isinstance(found, dict) else {}


def target(server: ApiServer, name: str = "web") -> object:
    recommendation = status(server, name).get("recommendation")
    entries = recommendation.get("containerRecommendations", []) if isinstance(recommendation, dict) else []
    return entries[0]["target"] if entries else None


def conditions(server: ApiServer, name: str = "web") -> dict[str, str]:
    entries = status(server, name).get("conditions", [])
    assert isinstance(entries, list)
    return {entry["type"]: entry["status"] for entry in entries}


def stored(server: ApiServer) -> list[Json]:
    return server.store.list(f"{GROUP}/v1", "VerticalPodAutoscalerCheckpoint", "default")
