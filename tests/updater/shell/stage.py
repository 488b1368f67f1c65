"""An updater on the embedded API server, told when to run its rounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from prometheus_client import CollectorRegistry

from autoscaling.behaviour import UPSTREAM, Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.liveness import LivenessSettings
from autoscaling.kube.paths import vertical_pod_autoscalers
from autoscaling.runtime.health import Vitals
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, api_server, client_for, deploy, recommended_status, vpa_object
from updater.ratelimit import TokenBucket
from updater.settings import Settings
from updater.shell.actuator import Buckets
from updater.shell.caches import Caches
from updater.shell.conditions import ConditionWriter
from updater.shell.loop import Loop, LoopSettings
from updater.shell.memory_use import MemoryReader
from updater.shell.metrics import UpdaterMetrics
from updater.surroundings import Interest

MINUTE = timedelta(minutes=1)
VPAS = vertical_pod_autoscalers(GROUP)


@asynccontextmanager
async def updater(
    server: ApiServer,
    profile: Profile = Profile.UPSTREAM,
    liveness: LivenessSettings | None = None,
    bucket: TokenBucket | None = None,
    *,
    looks_around: bool = False,
) -> AsyncIterator[Loop]:
    """An updater with filled caches, one minute after the pods started.

    Args:
        looks_around: Whether it looks at what its profile has it look at besides VPAs, pods and controllers.
    """
    behaviour = Behaviour.of(profile) if looks_around else UPSTREAM
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "", behaviour=behaviour)
        caches.start()
        await caches.wait_synced(10)
        events = EventRecorder(client, "evenkeel-updater")
        driver = HeldDriver(T0 + MINUTE)
        loop = Loop(
            LoopSettings(Settings(behaviour=Behaviour.of(profile)), MINUTE, liveness, f"{GROUP}/v1"),
            client,
            caches,
            events,
            UpdaterMetrics.register(CollectorRegistry()),
            Vitals(MINUTE, client.pacing.monotonic),
            driver,
            Buckets(bucket or TokenBucket(), bucket or TokenBucket()),
            usage=MemoryReader(client, "", MINUTE) if Interest.of(behaviour).memory else None,
            conditions=ConditionWriter(client, VPAS, driver, events) if behaviour != UPSTREAM else None,
        )
        try:
            yield loop
        finally:
            await caches.stop()


def served_web() -> ApiServer:
    """Return a server with one pod of a Deployment whose VPA asks for more than it has."""
    server = api_server()
    deploy(server)
    server.store.create(vpa_object(status=recommended_status("400m", "100Mi")))
    return server


def at(value: object, *steps: str | int) -> object:
    """Return what lies at the end of some steps into an object."""
    for step in steps:
        value = value[step]  # type: ignore[index]
    return value


def amounts(pod: Json) -> object:
    """Return the resources of a pod's first container."""
    return at(pod, "spec", "containers", 0, "resources")
