"""Resizes followed to their end, against the embedded API server."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import HeldDriver, Json
from tests.updater.shell.stage import MINUTE, served_web, updater
from updater.decision import Action, Decision, Reason
from updater.resize_status import ResizeStatus
from updater.shell.loop import Loop

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return served_web()


def shown(loop: Loop) -> dict[tuple[str, str], float]:
    """Return what the two families show that is not zero, by the end of the name and the label's value."""
    samples = [
        sample
        for family in (loop.metrics.resizes.convergence, loop.metrics.resizes.resizes)
        for metric in family.collect()
        for sample in metric.samples
        if "le" not in sample.labels and not sample.name.endswith("_created")
    ]
    return {(s.name.rsplit("_", 1)[1], next(iter(s.labels.values()))): s.value for s in samples if s.value}


async def round_at(server: ApiServer, loop: Loop, seconds: int) -> None:
    """Run a round so long after the first one, once the cache has the pod as it is stored."""
    metadata = server.store.read("v1", "Pod", "web-0", "default")["metadata"]
    assert isinstance(metadata, dict)
    async with asyncio.timeout(10):
        while loop.caches.pods.snapshot()[0].resource_version != metadata["resourceVersion"]:  # noqa: ASYNC110
            await asyncio.sleep(0)
    driver = loop.driver
    assert isinstance(driver, HeldDriver)
    driver.time = T0 + MINUTE + timedelta(seconds=seconds)
    await loop.run_round()


def carried_out(server: ApiServer) -> None:
    """Have the node report what the pod's spec asks for."""
    pod: Json = dict(server.store.read("v1", "Pod", "web-0", "default"))
    spec, status, metadata = pod["spec"], pod["status"], pod["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    assert isinstance(metadata, dict)
    status["containerStatuses"][0]["resources"] = spec["containers"][0]["resources"]
    status["observedGeneration"] = metadata["generation"]
    server.store.merge(pod)


async def test_a_resize_is_followed_until_its_pod_has_it(server: ApiServer) -> None:
    """Spec: beyond:B-45, updater:K-30."""
    async with updater(server, Profile.EVENKEEL) as loop:
        await round_at(server, loop, 0)
        assert shown(loop) == {}, "accepted in this round, looked at in the next"
        await round_at(server, loop, 20)
        assert shown(loop) == {("resizes", "requested"): 1}
        carried_out(server)
        for seconds in (40, 60):
            await round_at(server, loop, seconds)
            assert shown(loop) == {("count", "completed"): 1, ("sum", "completed"): 40}


async def test_a_resize_that_ends_in_an_eviction_has_failed(server: ApiServer) -> None:
    """Spec: beyond:B-45."""
    async with updater(server, Profile.EVENKEEL) as loop:
        await round_at(server, loop, 0)
        await round_at(server, loop, 30)
        pod = loop.caches.pods.snapshot()[0]
        evict = Decision(pod.ref, Action.EVICT, Reason.RESIZE_TIMED_OUT, uid=pod.uid)
        await loop.actuator(T0 + timedelta(hours=1)).carry_out(evict)
        assert shown(loop) == {
            ("count", "failed"): 1,
            ("sum", "failed"): 30,
            ("resizes", "requested"): 1,
        }


async def test_both_families_are_there_at_zero(server: ApiServer) -> None:
    async with updater(server) as loop:
        await round_at(server, loop, 0)
        counts = {s.labels["outcome"]: s.value for m in loop.metrics.resizes.convergence.collect() for s in m.samples}
        assert counts.keys() == {"completed", "failed"}
        states = {s.labels["state"]: s.value for m in loop.metrics.resizes.resizes.collect() for s in m.samples}
        assert states == {status.value: 0.0 for status in ResizeStatus}
