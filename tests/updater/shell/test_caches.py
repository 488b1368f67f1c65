"""What the updater's caches say of pods and VPAs, against the embedded API server."""

from __future__ import annotations

import asyncio

import pytest

from autoscaling.behaviour import UPSTREAM, Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from autoscaling.pod import Pod
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import GROUP, Json, api_server, client_for, deploy, pod_object, vpa_object
from updater.shell.caches import Caches
from updater.snapshot import Snapshot
from updater.surroundings import UNKNOWN

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


@pytest.mark.parametrize(("profile", "expected"), [(Profile.EVENKEEL, "web"), (Profile.UPSTREAM, "aside")])
async def test_a_boost_is_taken_back_for_the_vpa_that_acts(profile: Profile, expected: str) -> None:
    """Spec: beyond:B-30, updater:K-27, updater:UQ-5. The webhook passes by the older VPA in mode Off."""
    server = api_server()
    aside = vpa_object("aside", targetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    assert isinstance(aside["spec"], dict)
    aside["spec"]["updatePolicy"] = {"updateMode": "Off"}
    for vpa in (aside, vpa_object()):
        server.store.create(vpa)
    deploy(server)
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "", None, Behaviour.of(profile))
        caches.start()
        await caches.wait_synced(10)
        # Made in the same second, so the name decides.
        found = await caches.controlling(caches.pods.snapshot()[0])
        await caches.stop()
    assert found is not None
    assert found.vpa.name == expected


EVENKEEL = Behaviour.of(Profile.EVENKEEL)
AROUND = ("/nodes$", "/poddisruptionbudgets$", "/resourcequotas$")


def in_surroundings(server: ApiServer) -> None:
    """Create a pod that needs a node with a disk, such a node, a disruption budget and a quota."""
    deploy(server)
    pod = pod_object("picky", "web")
    assert isinstance(pod["spec"], dict)
    pod["spec"] |= {"nodeSelector": {"disk": "ssd"}}
    server.store.create(pod)
    ready = {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
    spec = {"selector": {"matchLabels": {"app": "web"}}}
    for api_version, kind, name, rest in (
        ("v1", "Node", "node1", {"status": ready}),
        ("policy/v1", "PodDisruptionBudget", "web", {"spec": spec, "status": {"disruptionsAllowed": 1}}),
        ("v1", "ResourceQuota", "share", {"status": {"hard": {"cpu": "4"}, "used": {"cpu": "1"}}}),
    ):
        metadata = {"name": name} if kind == "Node" else {"name": name, "namespace": "default"}
        server.store.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest})


async def observed(server: ApiServer, behaviour: Behaviour = EVENKEEL, namespace: str = "") -> Snapshot:
    """Fill caches and look at them once."""
    async with client_for(server) as client:
        caches = Caches(client, GROUP, namespace, behaviour=behaviour)
        caches.start()
        try:
            await caches.wait_synced(10)
            return await caches.observe()
        finally:
            await caches.stop()


@pytest.mark.parametrize("namespace", ["", "default"])
async def test_what_is_around_the_pods_is_seen(namespace: str) -> None:
    """Spec: beyond:B-24, beyond:B-25, beyond:B-43, case 4."""
    server = api_server()
    in_surroundings(server)
    seen = await observed(server, namespace=namespace)
    around, placements = seen.surroundings, {pod.name: pod.placement for pod in seen.pods}
    assert around.nodes is not None
    assert around.budgets is not None
    assert around.quotas is not None
    assert {name: node.is_ready for name, node in around.nodes.items()} == {"node1": True}
    assert [budget.disruptions_allowed for budget in around.budgets["default"]] == [1]
    assert [str(quota.used["cpu"]) for quota in around.quotas["default"]] == ["1"]
    assert placements["picky"] is not None
    assert placements["picky"].node_selector == {"disk": "ssd"}
    assert (around.memory, around.is_webhook_proven) == (None, None)


async def test_profile_upstream_looks_at_nothing_else() -> None:
    server = api_server()
    in_surroundings(server)
    seen = await observed(server, UPSTREAM)
    assert seen.surroundings == UNKNOWN
    assert {pod.placement for pod in seen.pods} == {None}
    assert [server.requests.calls(path=path) for path in AROUND] == [[], [], []], "updater:M-4"


@pytest.mark.parametrize(
    ("row", "switch", "watched", "has_placements"),
    [
        ("beyond:B-24", "free_room", {"/nodes$"}, True),
        ("beyond:B-43", "pdbs_are_read_too", {"/poddisruptionbudgets$"}, False),
        ("beyond:B-25", "eviction_only_when_it_helps", {"/resourcequotas$"}, True),
        ("beyond:B-12", "limit_range_and_quota", {"/resourcequotas$"}, True),
        ("beyond:B-22", "memory_shrink_guard", set(), False),
        ("beyond:B-16", "native_sidecars", set(), False),
    ],
)
async def test_only_what_some_rule_asks_for_is_watched(
    row: str, switch: str, watched: set[str], has_placements: bool
) -> None:
    server = api_server()
    in_surroundings(server)
    seen = await observed(server, UPSTREAM.with_overrides({switch: "true"}))
    assert {path for path in AROUND if server.requests.calls(path=path)} == watched, row
    assert all((pod.placement is not None) is has_placements for pod in seen.pods)


@pytest.mark.parametrize("code", [403, 404])
async def test_what_may_not_be_seen_is_unknown_and_said_once(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Spec: beyond:B-21, a missing permission is reported once and stops that path alone."""
    server = api_server()
    in_surroundings(server)
    server.faults.add(Fault(Refuse(code), verb="list", path="/nodes$"))
    seen = await observed(server, namespace="default")
    assert seen.surroundings.nodes is None
    assert seen.surroundings.budgets is not None
    assert len(seen.pods) == 2
    told = [line for line in capsys.readouterr().out.splitlines() if "cannot be followed" in line]
    assert len(told) == 1
    assert "nodes" in told[0]


async def test_where_there_are_none_there_are_known_to_be_none() -> None:
    seen = await observed(api_server())
    around = seen.surroundings
    assert (around.nodes, around.budgets, around.quotas) == ({}, {}, {})


async def test_a_vpa_that_cannot_be_read_says_so_itself() -> None:
    """Spec: beyond:B-32."""
    server = api_server()
    policy = {"containerName": "*", "minAllowed": {"cpu": "a lot"}}
    server.store.create(vpa_object("broken", resourcePolicy={"containerPolicies": [policy]}))
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "")
        caches.events = events = EventRecorder(client, "evenkeel-updater")
        caches.start()
        await caches.wait_synced(10)
        task = asyncio.create_task(events.run())
        await events.drain(10)
        task.cancel()
        await caches.stop()
    (event,) = server.store.list("v1", "Event", "default")
    assert (event["type"], event["reason"]) == ("Warning", "InvalidObject")
    involved = event["involvedObject"]
    assert isinstance(involved, dict)
    assert (involved["name"], bool(involved["uid"])) == ("broken", True)
    assert "'a lot'" in str(event["message"])
