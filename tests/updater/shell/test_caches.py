"""What the updater's caches say of pods and VPAs, against the embedded API server."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.pod import Pod
from evenkeel.simulator.api.server import ApiServer
from tests.embedded import GROUP, Json, api_server, client_for, pod_object, vpa_object
from updater.shell.caches import Caches

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def controlled(kind: str, name: str) -> Json:
    return {"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def a_run(server: ApiServer) -> None:
    """Create a CronJob without labels, its VPA, a run of it and the run's pod."""
    template = {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}
    cron_spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    labels = {"batch.kubernetes.io/controller-uid": "u"}
    job_spec = {"selector": {"matchLabels": labels}, "template": {**template, "metadata": {"labels": labels}}}
    for kind, name, spec, owners in (
        ("CronJob", "nightly", cron_spec, []),
        ("Job", "nightly-29300000", job_spec, [controlled("CronJob", "nightly")]),
    ):
        metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
        server.store.create({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": spec})
    aim = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly"}
    server.store.create(vpa_object("nightly", targetRef=aim))
    pod = pod_object("nightly-29300000-abcde", "x")
    assert isinstance(pod["metadata"], dict)
    pod["metadata"] |= {"labels": labels, "ownerReferences": [controlled("Job", "nightly-29300000")]}
    server.store.create(pod)


@pytest.mark.parametrize(
    ("row", "profile", "name"), [("case:22", Profile.EVENKEEL, "nightly"), ("updater:M-9", Profile.UPSTREAM, None)]
)
async def test_whose_a_run_without_labels_is(row: str, profile: Profile, name: str | None) -> None:
    """Spec: beyond:B-19."""
    server, noticed = api_server(), list[Pod]()
    a_run(server)
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "", noticed.append, Behaviour.of(profile))
        caches.start()
        await caches.wait_synced(10)
        (pod,) = noticed
        found = await caches.controlling(pod)
        snapshot = await caches.observe()
        await caches.stop()
    assert (found.vpa.name if found else None) == name, row
    assert snapshot.vpas[0].selector.is_nothing is (name is None)
