"""Our recommender with its network cut off, built as its own start-up builds it."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from prometheus_client import CollectorRegistry

from autoscaling.kube.paths import vertical_pod_autoscalers
from autoscaling.runtime.collector import caches_uncollected
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.logs import configure_logs
from autoscaling.runtime.process import FailureHandler, Periodic, Process
from bench.cluster import Shape, deployments, pods, vpas
from bench.offline import Offline, OfflineClient
from recommender.__main__ import checkpoint_settings, loop_settings, model_settings
from recommender.cluster_model import ClusterModel
from recommender.config import RecommenderConfig
from recommender.shell.caches import Caches
from recommender.shell.checkpoints import CheckpointKeeper
from recommender.shell.kernel_supply import CompiledKernels, KernelSupply
from recommender.shell.loop import Loop
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.parts import Parts
from recommender.shell.prometheus_setup import PrometheusAccess
from recommender.shell.statuses import StatusWriter
from recommender.shell.usage import ResourceMetricsSource

T = TypeVar("T")
_SYNC_SECONDS = 600.0


class HandDriver:
    """A clock; rounds are run by hand.

    Args:
        held: The present for as long as it runs; the time on the wall without it.
    """

    def __init__(self, held: datetime | None = None) -> None:
        self._held = held

    def now(self) -> datetime:
        """Return the time."""
        return self._held or datetime.now(UTC)

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        """Take over a job, which nobody asks for here."""

    async def stop(self, grace: timedelta) -> None:
        """End nothing."""


class OurRecommender:
    """One recommender whose lists come from memory and whose writes are kept.

    Args:
        client: Its API server.
        flags: Its command line.
        held: The present for as long as it runs; the time on the wall without it.
    """

    def __init__(self, client: OfflineClient, *flags: str, held: datetime | None = None) -> None:
        # Logs are written as by default, but to nowhere.
        configure_logs(4, Path(os.devnull).open("w"))  # noqa: SIM115 open for as long as the process runs
        self._runner = asyncio.Runner()
        self.offline = client.offline
        self.registry = CollectorRegistry()
        words = ("--api-group=autoscaling.k8s.io", *flags)
        config = RecommenderConfig.from_command_line(words, {})
        self.loop = self.run(self._start(client, config, HandDriver(held)))

    def begin(self) -> None:
        """Load what is stored, and run the first round."""
        self.run(self.loop.load_history())
        self.run(self.loop.run_round())
        if self.loop.parts.kernels is not None:
            # They are compiled beside the first rounds of a process that then runs for days.
            self.loop.parts.kernels.wait(self.loop.model)
        gc.collect()
        gc.freeze()

    @classmethod
    def comparable(cls, shape: Shape, created: datetime, *flags: str) -> OurRecommender:
        """Return one that decides as upstream does.

        Args:
            shape: The cluster that it finds.
            created: When its objects were made.
            flags: Its command line beyond that.
        """
        offline = Offline.holding(
            verticalpodautoscalers=vpas(shape, created),
            pods=pods(shape, created),
            deployments=deployments(shape, created),
        )
        side = cls(OfflineClient(offline), "--profile=upstream", *flags)
        side.begin()
        return side

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run something on the recommender's event loop."""
        return self._runner.run(work)

    async def _start(self, client: OfflineClient, config: RecommenderConfig, driver: HandDriver) -> Loop:
        self._caches = Caches(
            client,
            config.api_group,
            config.vpa_object_namespace,
            config.switches(),
        )
        self._caches.start()
        with caches_uncollected():
            await self._caches.wait_synced(_SYNC_SECONDS)
        # A second keeper without a deadline: the recommender's own stops when its time is used up.
        unhurried = replace(checkpoint_settings(config), budget=timedelta.max)
        self._everything = CheckpointKeeper(client, unhurried, driver.now())
        metrics = RecommenderMetrics.register(self.registry)
        self._prometheus = PrometheusAccess.of(config, Process(driver), metrics)
        parts = Parts(
            caches=self._caches,
            usage=ResourceMetricsSource(client, config.vpa_object_namespace, metrics),
            statuses=StatusWriter(
                client,
                vertical_pod_autoscalers(config.api_group),
                config.update_worker_count,
                self._caches.newer,
            ),
            checkpoints=CheckpointKeeper(client, checkpoint_settings(config), driver.now()),
            metrics=metrics,
            vitals=Vitals(config.recommender_interval, time.monotonic),
            driver=driver,
            history=self._prometheus.history(),
            kernels=KernelSupply(CompiledKernels(config.compiled_kernels)),
        )
        return Loop(loop_settings(config), parts, ClusterModel(model_settings(config)))

    async def write_all_checkpoints(self) -> None:
        """Write the checkpoints of all VPAs."""
        await self._everything.write(self.loop.model, self._caches, self.loop.parts.driver.now())

    def step_seconds(self) -> dict[str, float]:
        """Return how long each step of the rounds has taken so far, from the recommender's own metrics."""
        name = "vpa_recommender_execution_latency_seconds"
        return {
            sample.labels["step"]: sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == f"{name}_sum"
        }

    def stop(self) -> None:
        """End its tasks."""
        self._prometheus.close()
        self.run(self._caches.stop())
        self._runner.close()
        gc.unfreeze()
