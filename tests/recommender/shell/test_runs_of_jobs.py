"""VPAs on Jobs and CronJobs, and memory that pods which come and go leave behind: whole rounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from admission.review import ReviewRequest, ReviewRules, SubmittedPod, review
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import Profile
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod
from evenkeel.simulator.api.fields import encode
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from recommender.owner_keys import OwnerKeys
from recommender.shell.loop import Loop
from tests.builders import T0
from tests.embedded import GROUP, Json, api_server, pod_object, vpa_object
from tests.recommender.shell.stage import MINUTE, recommender, run_at, target, until, used

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def controlled(kind: str, name: str) -> Json:
    api_version = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def cron_job(server: ApiServer, metadata: Json) -> None:
    """Create a CronJob whose pods get some metadata, and a VPA that acts on new pods only."""
    containers = [{"name": "main", "image": "i"}]
    template = {"metadata": metadata, "spec": {"containers": containers, "restartPolicy": "Never"}}
    server.store.create(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "nightly", "namespace": "default"},
            "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}},
        }
    )
    aim = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly"}
    server.store.create(vpa_object("nightly", targetRef=aim, updatePolicy={"updateMode": "Initial"}))


def job(server: ApiServer, number: int) -> str:
    """Create a run of the CronJob and return its name."""
    name = f"nightly-{29300000 + number}"
    owners = [controlled("CronJob", "nightly")]
    labels = {"batch.kubernetes.io/controller-uid": name, "controller-uid": name, "job-name": name}
    spec = {
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"},
        },
    }
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
    server.store.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    return name


def run_pod(name: str, *, killed_at: str = "") -> Json:
    """Return the pod of a run, with the labels that the Job's controller gives it and no others."""
    pod = pod_object(f"{name}-abcde", "x", {"requests": {"cpu": "100m", "memory": "300Mi"}})
    metadata, status = pod["metadata"], pod["status"]
    assert isinstance(metadata, dict)
    assert isinstance(status, dict)
    metadata["labels"] = {"batch.kubernetes.io/controller-uid": name, "controller-uid": name, "job-name": name}
    metadata["ownerReferences"] = [controlled("Job", name)]
    if killed_at:
        ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": killed_at, "finishedAt": killed_at}
        status["phase"] = "Failed"
        status["containerStatuses"][0] |= {"state": {"terminated": ended}, "ready": False}
    return pod


async def settled(loop: Loop, pods: int, jobs: int) -> None:
    """Wait until the recommender knows so many pods and Jobs."""
    caches = loop.parts.caches
    stored_jobs = caches.controllers.stores["Job"]
    await until(lambda: (len(caches.pods.items()), len(stored_jobs.items())) == (pods, jobs))


def memory_asked_for(server: ApiServer, loop: Loop, name: str) -> object:
    """Return what the admission controller sets as memory request of a new pod of a Job; None where it does nothing."""
    nightly = decode_vpa(encode(server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "nightly", "default")))
    targets = {"default": {("CronJob", "nightly"): (nightly,)}}
    view = ClusterView(True, targets, loop.parts.caches.controllers.known(), {})
    fresh = replace(decode_pod(encode(run_pod(name))), uid="", node_name="")
    submitted = SubmittedPod(fresh, (True,))
    request = ReviewRequest("", "v1", "pods", "Pod", "default", "", submitted)
    verdict = review(request, view, ReviewRules(GROUP, Gates(), loop.settings.behaviour))
    requests = [op.value for op in verdict.patch if op.path == "/spec/containers/0/resources/requests/memory"]
    return requests[0] if requests else None


@pytest.mark.parametrize(
    ("row", "metadata", "profile", "expected"),
    [
        ("case:22 missing", {}, Profile.EVENKEEL, "628694953"),
        ("case:22 empty", {"labels": {}}, Profile.EVENKEEL, "628694953"),
        ("case:22 others", {"labels": {"app": "x"}}, Profile.EVENKEEL, "628694953"),
        ("upstream", {}, Profile.UPSTREAM, None),
    ],
)
async def test_a_run_without_labels_sizes_the_next_one(
    row: str, metadata: Json, profile: Profile, expected: str | None
) -> None:
    """Spec: beyond:B-19."""
    server = api_server()
    cron_job(server, metadata)
    first = job(server, 0)
    server.store.create(run_pod(first))
    used(server, 1, "100m", "500Mi", pod=f"{first}-abcde")
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
        second = job(server, 1)
        await settled(loop, pods=1, jobs=2)
        assert memory_asked_for(server, loop, second) == expected, row
        if expected is not None:
            assert memory_asked_for(server, loop, "nightly-29300002") == expected, "its Job is not known yet"
    assert target(server, "nightly") == ({"cpu": "126m", "memory": expected} if expected else None), row


@pytest.mark.parametrize("is_seen_running", [True, False])
async def test_a_run_that_came_was_killed_and_went_between_two_rounds_counts(is_seen_running: bool) -> None:
    """Spec: beyond:B-19, case:22: what it needed is kept until the next run, however long that takes."""
    server = api_server()
    cron_job(server, {})
    async with recommender(server) as loop:
        name = job(server, 0)
        pod = f"{name}-abcde"
        if is_seen_running:
            server.store.create(run_pod(name))
            await settled(loop, pods=1, jobs=1)
            server.store.merge(run_pod(name, killed_at="2026-01-01T00:00:30Z"))
        else:
            server.store.create(run_pod(name, killed_at="2026-01-01T00:00:30Z"))
        await until(lambda: loop.parts.caches.pods.counters.events == 1 + is_seen_running)
        server.store.delete("v1", "Pod", pod, "default")
        server.store.delete("batch/v1", "Job", name, "default")
        await settled(loop, pods=0, jobs=0)
        needed, targets = (300 + 100) * 2**20, []
        for minutes in (1, 2, 120, 9 * 1440, 40 * 1440):
            await run_at(loop, minutes)
            amounts = target(server, "nightly")
            assert isinstance(amounts, dict), minutes
            targets.append(int(amounts["memory"]))
        assert loop.model.pods == {}
    assert needed <= min(targets) <= max(targets) <= 1.25 * needed


async def test_kills_of_other_pods_that_are_new_are_not_counted() -> None:
    """Spec: recommender:8.3."""
    server = api_server()
    async with recommender(server, profile=Profile.UPSTREAM) as loop:
        server.store.create(run_pod("x", killed_at="2026-01-01T00:00:30Z"))
        await until(lambda: len(loop.parts.caches.pods.items()) == 1)
        assert (loop.parts.caches.kills.take(), loop.parts.caches.kills.take_pods()) == ([], [])


async def test_kills_from_before_the_start_are_not_counted_again() -> None:
    """Spec: beyond:B-19: a run that has failed is kept as an object for long."""
    server = api_server()
    cron_job(server, {})
    server.store.create(run_pod(job(server, 0), killed_at="2026-01-01T00:00:30Z"))
    async with recommender(server) as loop:
        assert loop.parts.caches.kills.take() == []


def stateful_set(server: ApiServer, name: str, memory: str) -> None:
    """Create a StatefulSet with one pod, which has the same labels as those of others, and its VPA."""
    template = {"metadata": {"labels": {"app": "sts"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    spec = {"replicas": 1, "serviceName": "s", "selector": {"matchLabels": {"app": "sts"}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    server.store.create({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
    pod = pod_object(f"{name}-0", "sts")
    assert isinstance(pod["metadata"], dict)
    pod["metadata"]["ownerReferences"] = [controlled("StatefulSet", name)]
    server.store.create(pod)
    server.store.create(vpa_object(name, targetRef={"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}))
    used(server, 1, "100m", memory, pod=f"{name}-0")


async def test_each_of_two_vpas_learns_from_its_own_pods() -> None:
    """Spec: case:23."""
    server = api_server()
    stateful_set(server, "sts0", "300Mi")
    stateful_set(server, "sts1", "3000Mi")
    async with recommender(server) as loop:
        await run_at(loop, 1)
    assert [target(server, name) for name in ("sts0", "sts1")] == [
        {"cpu": "126m", "memory": "380258472"},
        {"cpu": "126m", "memory": "3666791614"},
    ]


RUNS = 10_000
AT_ONCE = 250


def footprint(loop: Loop) -> dict[str, int]:
    """Return how much of everything a recommender holds that could grow with pods."""
    model, keys = loop.model, loop.model.key_of
    assert isinstance(keys, OwnerKeys)
    return {
        "aggregates": model.aggregate_count,
        "label sets": len(model.matching),
        "aggregate rows": len(model.aggregates.rows),
        "aggregate capacity": len(model.aggregates.created),
        "histogram capacity": len(model.aggregates.memory.totals),
        "container rows": len(model.containers.rows),
        "container capacity": len(model.containers.aggregate),
        "pods": len(model.pods),
        "pods that changed": len(loop.changes.waiting),
        "pods that may be gone": len(loop.changes.doubtful),
        "orphans": len(model.orphans),
        "members of groups": len(model.groups().members),
    }


async def test_ten_thousand_runs_leave_nothing_behind() -> None:
    """Spec: case:39, beyond:B-3: pods come, get a sample or none, and go; what is held stays the same."""
    server = api_server()
    metrics = server.metrics
    assert isinstance(metrics, StaticMetrics)
    cron_job(server, {})
    held = []
    async with recommender(server) as loop:
        for minute, begin in enumerate(range(0, RUNS, AT_ONCE), start=1):
            names = [job(server, number) for number in range(begin, begin + AT_ONCE)]
            for name in names:
                server.store.create(run_pod(name))
            metrics.pod_rows.clear()
            for name in names[::2]:
                metrics.put_pod(("default", f"{name}-abcde"), {"main": ("50m", "64Mi")}, Window(T0 + minute * MINUTE))
            await settled(loop, pods=AT_ONCE, jobs=AT_ONCE)
            await run_at(loop, minute)
            held.append(footprint(loop))
            keys = loop.model.key_of
            assert isinstance(keys, OwnerKeys)
            assert len(keys) <= 3 * AT_ONCE + 64
            for name in names:
                server.store.delete("v1", "Pod", f"{name}-abcde", "default")
                server.store.delete("batch/v1", "Job", name, "default")
            await settled(loop, pods=0, jobs=0)
    # In the first round there are no pods of the round before beside the new ones.
    assert all(each == held[-1] for each in held[1:])
    assert held[-1] == {
        "aggregates": 1,
        "label sets": 1,
        "aggregate rows": 1,
        "aggregate capacity": 64,
        "histogram capacity": 64,
        "container rows": AT_ONCE,
        "container capacity": 512,
        "pods": AT_ONCE,
        "pods that changed": 0,
        "pods that may be gone": AT_ONCE,
        "orphans": 0,
        "members of groups": 1,
    }
    assert target(server, "nightly") == {"cpu": "63m", "memory": "250Mi"}
