"""Whole rounds over pods with a native sidecar and a plain init container."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import Json, api_server, deploy, pod_object, vpa_object
from tests.recommender.shell.stage import MINUTE, recommender, run_at, status, stored, until

pytestmark = pytest.mark.anyio

RESOURCES = {"requests": {"cpu": "100m", "memory": "100Mi"}}
USED = {"main": ("100m", "300Mi"), "proxy": ("200m", "200Mi"), "setup": ("1", "1Gi")}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def running_pod(*, killed: bool = False) -> Json:
    """Return the pod ``web-0`` with the init containers setup, at work, and proxy, a sidecar."""
    pod = pod_object("web-0", "web", RESOURCES)
    spec, said = pod["spec"], pod["status"]
    assert isinstance(spec, dict)
    assert isinstance(said, dict)
    setup, proxy = ({"name": name, "image": "i", "resources": RESOURCES} for name in ("setup", "proxy"))
    spec["initContainers"] = [setup, {**proxy, "restartPolicy": "Always"}]
    state: Json = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    if killed:
        ended = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:02:00Z"}
        state = {"terminated": {"reason": "OOMKilled", "exitCode": 137, **ended}}
    said["initContainerStatuses"] = [
        {"name": name, "image": "i", "restartCount": 0, "resources": RESOURCES, "state": state}
        for name in ("setup", "proxy")
    ]
    return pod


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    deploy(made, replicas=0)
    made.store.create(running_pod())
    made.store.create(vpa_object())
    assert isinstance(made.metrics, StaticMetrics)
    made.metrics.put_pod(("default", "web-0"), USED, Window(T0 + MINUTE))
    return made


def recommended(server: ApiServer) -> dict[str, object]:
    """Return the target of each container."""
    recommendation = status(server)["recommendation"]
    assert isinstance(recommendation, dict)
    return {entry["containerName"]: entry["target"] for entry in recommendation["containerRecommendations"]}


@pytest.mark.parametrize(
    ("row", "profile", "targets"),
    [
        (
            "case:26 evenkeel",
            Profile.EVENKEEL,
            {"main": {"cpu": "126m", "memory": "380258472"}, "proxy": {"cpu": "247m", "memory": "248153480"}},
        ),
        ("case:26 upstream", Profile.UPSTREAM, {"main": {"cpu": "126m", "memory": "380258472"}}),
    ],
)
async def test_a_sidecar_is_recommended_and_a_plain_init_container_is_not(
    server: ApiServer, row: str, profile: Profile, targets: dict[str, object]
) -> None:
    """Spec: beyond:B-16, recommender:13.19."""
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    assert recommended(server) == targets, row
    specs = [checkpoint["spec"] for checkpoint in stored(server)]
    assert specs == [{"vpaObjectName": "web", "containerName": name} for name in targets], row


@pytest.mark.parametrize(
    ("row", "profile", "containers"),
    [
        ("beyond:B-16 halves, and nothing for setup", Profile.EVENKEEL, {"main": "12m", "proxy": "12m"}),
        ("upstream", Profile.UPSTREAM, {"main": "25m"}),
    ],
)
async def test_the_minimum_of_a_pod_is_shared_with_its_sidecar(
    server: ApiServer, row: str, profile: Profile, containers: dict[str, str]
) -> None:
    assert isinstance(server.metrics, StaticMetrics)
    idle = dict.fromkeys(USED, ("1m", "1Mi"))
    server.metrics.put_pod(("default", "web-0"), idle, Window(T0 + MINUTE))
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    found = {name: target["cpu"] for name, target in recommended(server).items() if isinstance(target, dict)}
    assert found == containers, row


async def test_an_oom_kill_of_a_sidecar_is_noticed_and_one_of_a_plain_init_container_is_not(server: ApiServer) -> None:
    """Spec: beyond:B-16, recommender:8.3."""
    async with recommender(server) as loop:
        await run_at(loop, 1)
        version = loop.parts.caches.pods.version
        killed = running_pod(killed=True)
        server.store.merge({**killed, "metadata": {"name": "web-0", "namespace": "default"}})
        await until(lambda: loop.parts.caches.pods.version != version)
        await run_at(loop, 3)
        kills = loop.parts.metrics.oom_kills
        counted = [s.value for m in kills.collect() for s in m.samples if s.name.endswith("_total") and s.value]
    assert counted == [1.0]
    # The 200Mi in use plus 100Mi at least, at the end of its bucket, plus the margin.
    assert recommended(server)["proxy"] == {"cpu": "247m", "memory": "380258472"}
