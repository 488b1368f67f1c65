"""Calls that come late, or whose answer does not come: what is changed is what was decided on, once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import DropConnection, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.embedded import Json
from tests.updater.shell.stage import at, served_web, updater
from updater.shell.loop import Loop

pytestmark = pytest.mark.anyio
RESIZE, EVICTION = "/pods/web-0/resize$", "/pods/web-0/eviction$"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return served_web()


def stored_pod(server: ApiServer) -> Json:
    return server.store.read("v1", "Pod", "web-0", "default")


async def resize_unseen(server: ApiServer, loop: Loop, cpu: str) -> None:
    """Give the pod another request without the updater's knowing."""
    await loop.caches.pods.stop()
    pod = stored_pod(server)
    spec, metadata = pod["spec"], pod["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    spec["containers"][0]["resources"]["requests"]["cpu"] = cpu
    metadata["generation"] += 1
    server.store.update(pod)


async def test_a_resize_of_a_pod_that_somebody_has_resized_since_is_refused(server: ApiServer) -> None:
    """Spec: beyond:B-31; the next leader's resize is undone by nothing that comes late."""
    async with updater(server, Profile.EVENKEEL) as loop:
        await resize_unseen(server, loop, "150m")
        await loop.run_round()
    (call,) = server.requests.calls(verb="patch", path=RESIZE)
    assert call.status == 422
    assert at(stored_pod(server), "spec", "containers", 0, "resources", "requests", "cpu") == "150m"
    assert server.requests.calls(path=EVICTION) == []


async def test_a_resize_whose_answer_is_lost_is_noted_and_told_as_any_other(server: ApiServer) -> None:
    """Spec: beyond:B-20, beyond:B-42."""
    server.faults.add(Fault(DropConnection(after_carrying_out=True), verb="patch", path=RESIZE))
    async with updater(server, Profile.EVENKEEL) as loop:
        running, pacing = asyncio.create_task(loop.run_round()), loop.client.pacing
        assert isinstance(pacing, HeldPacing)
        await pacing.asleep()
        await pacing.advance(1)
        await running
        assert [call.status for call in server.requests.calls(verb="patch", path=RESIZE)] == [0, 422]
        assert loop.events.waiting == 1
    assert at(stored_pod(server), "metadata", "annotations", "evenkeel.dev/resize-requested") is not None
    assert at(stored_pod(server), "metadata", "annotations", "vpaInPlaceUpdated") == "true"


@pytest.mark.parametrize(("row", "profile"), [("beyond:B-31", Profile.EVENKEEL), ("updater:X-10", Profile.UPSTREAM)])
async def test_an_eviction_asks_for_the_pod_as_it_was_just_read(server: ApiServer, row: str, profile: Profile) -> None:
    server.faults.add(Fault(Refuse(400), verb="patch", path=RESIZE))
    read: list[object] = []

    def note() -> None:
        with suppress(Exception):
            read.append(at(stored_pod(server), "metadata", "resourceVersion"))

    async with updater(server, profile) as loop:
        server.requests.observe(note)
        await loop.run_round()
    (call,) = server.requests.calls(path=EVICTION)
    assert isinstance(call.json, dict)
    if profile is Profile.UPSTREAM:
        assert "deleteOptions" not in call.json, row
    else:
        asked = at(call.json, "deleteOptions", "preconditions", "resourceVersion")
        assert asked in read, row


async def test_a_pod_that_was_changed_since_the_decision_is_not_evicted(server: ApiServer) -> None:
    """Spec: beyond:B-31."""
    server.faults.add(Fault(Refuse(400), verb="patch", path=RESIZE))
    async with updater(server, Profile.EVENKEEL) as loop:
        await resize_unseen(server, loop, "150m")
        await loop.run_round()
    assert server.requests.calls(path=EVICTION) == []


async def test_an_eviction_of_a_pod_that_changes_on_the_way_is_refused(server: ApiServer) -> None:
    """Spec: beyond:B-31; between the look and the call somebody else writes the pod."""
    server.faults.add(Fault(Refuse(400), verb="patch", path=RESIZE))

    def touch(path: str, _query: dict[str, str]) -> bool:
        if path.endswith("/eviction"):
            pod = stored_pod(server)
            labels = at(pod, "metadata", "labels")
            assert isinstance(labels, dict)
            labels["touched"] = "yes"
            server.store.update(pod)
        return False

    server.faults.add(Fault(Refuse(500), verb="create", path=EVICTION, when=touch))
    async with updater(server, Profile.EVENKEEL) as loop:
        await loop.run_round()
    (call,) = server.requests.calls(path=EVICTION)
    assert call.status == 409
    assert "deletionTimestamp" not in stored_pod(server)["metadata"]  # type: ignore[operator]
