"""Whole rounds of the updater against the embedded API server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.behaviour import UPSTREAM, Behaviour, Profile
from autoscaling.kube.liveness import LivenessSettings
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Delay, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.builders import T0
from tests.embedded import GROUP, Json, pod_object, vpa_object
from tests.updater.shell.stage import MINUTE, amounts, at, served_web, updater
from updater.ratelimit import TokenBucket
from updater.shell.loop import Loop, LoopSettings

pytestmark = pytest.mark.anyio
LEASE = LivenessSettings("default", "alive", 60.0)
EVENKEEL = Behaviour.of(Profile.EVENKEEL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return served_web()


async def written(loop: Loop, server: ApiServer) -> list[tuple[str, str]]:
    """Write the events and return reason and object of each."""
    task = asyncio.create_task(loop.events.run())
    await loop.events.drain(10)
    task.cancel()
    found = server.store.list("v1", "Event", "default")
    return sorted((str(e["reason"]), str(at(e, "involvedObject", "name"))) for e in found)


def sample(loop: Loop, name: str, **labels: str) -> float:
    """Return the value of one sample of a metric, 0 where it is not there."""
    families = {
        "updated": loop.metrics.in_place_updated_pods,
        "evicted": loop.metrics.evicted_pods,
        "failed_resize": loop.metrics.failed_in_place_updates,
        "failed_eviction": loop.metrics.failed_evictions,
        "invalid": loop.metrics.admission_status_invalid,
    }
    return sum(
        s.value
        for family in families[name].collect()
        for s in family.samples
        if s.name.endswith("_total") and labels.items() <= s.labels.items()
    )


async def test_a_resize_is_sent_annotated_counted_and_told(server: ApiServer) -> None:
    async with updater(server) as loop:
        await loop.run_round()
        pod = server.store.read("v1", "Pod", "web-0", "default")
        assert amounts(pod) == {
            "requests": {"cpu": "400m", "memory": "100Mi"},
            "limits": {"cpu": "800m", "memory": "200Mi"},
        }, "updater:W-8"
        assert at(pod, "metadata", "annotations") == {"vpaInPlaceUpdated": "true"}
        assert sample(loop, "updated", vpa_name="web", vpa_size_log2="0") == 1
        assert await written(loop, server) == [("InPlaceResizedByVPA", "web-0")], "updater:X-7"
        (told,) = server.store.list("v1", "Event", "default")
        text = "Resize requested: main cpu 100m→400m, cpu limit 200m→800m. A container has no request "
        assert str(told["message"]).startswith(text), "beyond:B-42"
    order = [(c.verb, c.path.rsplit("/", 1)[1]) for c in server.requests.calls(verb="patch", path="/pods/")]
    assert order == [("patch", "resize"), ("patch", "web-0")], "updater:X-5"


NOTED, MARKED = "evenkeel.dev/resize-requested", "vpaInPlaceUpdated"


def keys(body: object) -> list[str]:
    """Return the annotations that a patch of either form sets."""
    if isinstance(body, list):
        return [
            op["path"].removeprefix("/metadata/annotations/").replace("~1", "/") for op in body if op["op"] != "test"
        ]
    found = at(body, "metadata", "annotations")
    assert isinstance(found, dict)
    return list(found)


@pytest.mark.parametrize(
    ("row", "behaviour", "written"),
    [
        ("updater:X-5", UPSTREAM, [[MARKED]]),
        ("updater:X-5", replace(UPSTREAM, annotation_written_once=True), []),
        ("updater:X-5", replace(EVENKEEL, timers=False), []),
        # Since when the resize is waited for is noted each time.
        ("beyond:B-20", EVENKEEL, [[NOTED]]),
        ("beyond:B-20", replace(EVENKEEL, annotation_written_once=False), [[MARKED, NOTED]]),
        ("beyond:B-20", replace(EVENKEEL, calls_side_by_side=False), [[NOTED]]),
    ],
)
async def test_a_pod_that_is_marked_already_is_not_marked_again(
    server: ApiServer, row: str, behaviour: Behaviour, written: list[list[str]]
) -> None:
    pod = server.store.read("v1", "Pod", "web-0", "default")
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    server.store.update({**pod, "metadata": {**metadata, "annotations": {"vpaInPlaceUpdated": "true"}}})
    async with updater(server) as loop:
        loop.settings = replace(loop.settings, decisions=replace(loop.settings.decisions, behaviour=behaviour))
        await loop.run_round()
        assert sample(loop, "updated", vpa_name="web") == 1
    calls = server.requests.calls(verb="patch", path="/pods/web-0$")
    assert [keys(call.json) for call in calls] == written, row
    assert [call.status for call in calls] == [200] * len(written)
    assert len(server.requests.calls(verb="patch", path="/resize$")) == 1
    annotations = at(server.store.read("v1", "Pod", "web-0", "default"), "metadata", "annotations")
    assert isinstance(annotations, dict)
    assert annotations["vpaInPlaceUpdated"] == "true"


async def test_an_accepted_resize_is_noted_on_the_pod(server: ApiServer) -> None:
    """Spec: beyond:B-20."""
    async with updater(server, Profile.EVENKEEL) as loop:
        await loop.run_round()
        stored = server.store.read("v1", "Pod", "web-0", "default")
        text = at(stored, "metadata", "annotations", "evenkeel.dev/resize-requested")
    generation = at(stored, "metadata", "generation")
    assert json.loads(str(text)) == {"generation": generation, "at": (T0 + MINUTE).isoformat(), "restarts": {"main": 0}}


@pytest.mark.parametrize(("profile", "tests"), [(Profile.UPSTREAM, 0), (Profile.EVENKEEL, 3)])
async def test_the_guard_on_the_pod_is_of_profile_evenkeel(server: ApiServer, profile: Profile, tests: int) -> None:
    async with updater(server, profile) as loop:
        await loop.run_round()
    (call,) = server.requests.calls(verb="patch", path="/resize$")
    operations = call.json
    assert isinstance(operations, list)
    assert [op["op"] for op in operations].count("test") == tests, "beyond:B-31"
    assert call.status == 200


async def test_a_refused_resize_becomes_an_eviction_in_the_same_round(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(403), verb="patch", path="/resize$"))
    async with updater(server) as loop:
        await loop.run_round()
        evictions = server.requests.calls(verb="create", path="/eviction$")
        assert [(c.path, c.status) for c in evictions] == [("/api/v1/namespaces/default/pods/web-0/eviction", 201)]
        assert sample(loop, "failed_resize", reason="InPlaceUpdateError") == 1, "updater:D-25"
        assert sample(loop, "evicted", update_mode="InPlaceOrRecreate") == 1
        assert await written(loop, server) == [("EvictedByVPA", "web-0"), ("EvictedPod", "web")], "updater:X-10"


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("refused", [False, True])
async def test_events_name_the_uid_of_what_they_are_about(
    server: ApiServer, profile: Profile, *, refused: bool
) -> None:
    # Whoever describes an object finds its events by that, not by its name.
    if refused:
        server.faults.add(Fault(Refuse(400), verb="patch", path="/resize$"))
    uids = {
        ("Pod", "web-0"): at(server.store.read("v1", "Pod", "web-0", "default"), "metadata", "uid"),
        ("VerticalPodAutoscaler", "web"): at(
            server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default"), "metadata", "uid"
        ),
    }
    async with updater(server, profile) as loop:
        await loop.run_round()
        assert len(await written(loop, server)) == (2 if refused else 1), "updater:X-7, updater:X-10"
    for event in server.store.list("v1", "Event", "default"):
        about = at(event, "involvedObject")
        assert at(about, "uid") == uids[str(at(about, "kind")), str(at(about, "name"))]


async def test_an_eviction_that_a_budget_refuses_is_counted_and_not_repeated(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(403), verb="patch", path="/resize$"))
    server.store.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default", "generation": 1},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 0, "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1},
        },
    )
    async with updater(server) as loop:
        await loop.run_round()
        assert [c.status for c in server.requests.calls(path="/eviction$")] == [429], "updater:D-14"
        assert sample(loop, "failed_eviction", reason="EvictionError") == 1
    assert server.store.find("v1", "Pod", "web-0", "default") is not None


async def test_a_replacement_of_the_same_name_is_not_evicted(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(403), verb="patch", path="/resize$"))
    async with updater(server, Profile.EVENKEEL) as loop:
        snapshot_uid = loop.caches.pods.snapshot()[0].uid
        await loop.caches.pods.stop()
        old = server.store.read("v1", "Pod", "web-0", "default")
        server.store.delete("v1", "Pod", "web-0", "default")
        server.store.create({**old, "metadata": {"name": "web-0", "namespace": "default"}})
        assert at(server.store.read("v1", "Pod", "web-0", "default"), "metadata", "uid") != snapshot_uid
        await loop.run_round()
    assert server.requests.calls(path="/eviction$") == [], "beyond:B-31"


@pytest.mark.parametrize(
    ("row", "renewed", "reason"),
    [
        ("updater:W-22", T0 + timedelta(seconds=1), ""),
        ("updater:W-22", T0, "invalid"),
        ("updater:D-1", None, "error"),
    ],
)
async def test_nothing_is_done_while_admission_does_not_show_that_it_lives(
    server: ApiServer, row: str, renewed: object, reason: str
) -> None:
    if renewed is not None:
        lease: Json = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "alive", "namespace": "default", "creationTimestamp": "2025-01-01T00:00:00Z"},
            "spec": {"renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S}.000000Z", "holderIdentity": "h"},
        }
        server.store.create(lease)
    async with updater(server, liveness=LEASE) as loop:
        pacing = loop.client.pacing
        assert isinstance(pacing, HeldPacing)
        pacing.seconds = 60.0
        await loop.run_round()
        acted = bool(server.requests.calls(path="/resize$"))
        assert acted is (reason == ""), row
        assert sample(loop, "invalid", reason=reason) == (1 if reason else 0), row


@pytest.mark.parametrize(
    ("row", "mode", "profile", "expected"),
    [
        ("beyond:B-25", "InPlaceOrRecreate", Profile.EVENKEEL, ["resize"]),
        ("case:36", "Recreate", Profile.EVENKEEL, []),
        ("updater:D-1", "InPlaceOrRecreate", Profile.UPSTREAM, []),
        ("updater:D-1", "Recreate", Profile.UPSTREAM, []),
    ],
)
async def test_without_a_webhook_only_evictions_stop(
    server: ApiServer, row: str, mode: str, profile: Profile, expected: list[str]
) -> None:
    """Spec: updater:K-21. The Lease does not exist."""
    vpa = server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")
    spec = vpa["spec"]
    assert isinstance(spec, dict)
    server.store.update({**vpa, "spec": {**spec, "updatePolicy": {"updateMode": mode, "minReplicas": 1}}})
    async with updater(server, profile, liveness=LEASE) as loop:
        await loop.run_round()
        assert sample(loop, "invalid", reason="error") == 1
    calls = [*server.requests.calls(path="/resize$"), *server.requests.calls(path="/eviction$")]
    assert [call.path.rsplit("/", 1)[1] for call in calls] == expected, row


async def test_a_round_ends_at_its_deadline_and_the_next_one_works(server: ApiServer) -> None:
    # However far the first round comes, its resize is never answered.
    server.faults.add(Fault(Delay(timedelta(hours=1)), verb="patch", path="/resize$"))
    async with updater(server) as loop:
        loop.settings = LoopSettings(loop.settings.decisions, timedelta(milliseconds=50), None, f"{GROUP}/v1")
        await loop.run_round()
        assert sample(loop, "updated") == 0
        server.faults.clear()
        loop.settings = LoopSettings(loop.settings.decisions, MINUTE, None, f"{GROUP}/v1")
        await loop.run_round()
        assert sample(loop, "updated") == 1


async def test_a_bucket_without_tokens_ends_the_round(server: ApiServer) -> None:
    async with updater(server, bucket=TokenBucket(rate=1.0, burst=0)) as loop:
        await loop.run_round()
        assert sample(loop, "failed_resize", reason="InPlaceUpdateRateLimiterWaitFailed") == 1, "updater:D-59"
    assert server.requests.calls(path="/resize$") == []


async def test_a_bad_pod_and_a_bad_vpa_do_not_keep_the_others_from_being_updated(server: ApiServer) -> None:
    bad = pod_object("web-bad", "web")
    bad["status"] = {"phase": "Running", "startTime": "yesterday"}
    server.store.create(bad)
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    async with updater(server) as loop:
        await loop.run_round()
        assert set(loop.caches.pods.unreadable) == {("default", "web-bad")}, "beyond:B-32"
        assert set(loop.caches.vpas.unreadable) == {("default", "broken")}, "beyond:B-32"
        assert sample(loop, "updated") == 1


async def test_limit_ranges_that_contradict_each_other_are_told_once(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, bound in (("low", {"max": {"cpu": "1"}}), ("high", {"min": {"cpu": "2"}})):
        metadata = {"name": name, "namespace": "default"}
        spec = {"limits": [{"type": "Container", **bound}]}
        server.store.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec})
    async with updater(server) as loop:
        await loop.run_round()
        await loop.run_round()
    told = [line for line in capsys.readouterr().out.splitlines() if "contradict" in line]
    assert len(told) == 1
    assert "minimum 2 exceeds maximum 1" in told[0]
