"""A whole simulated cluster: installed from the manifests, moved by hand, without any other process."""

from __future__ import annotations

from datetime import timedelta

import aiohttp
import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.clock import SpeedClock
from evenkeel.simulator.cluster import ClusterSettings, SimulatedCluster
from evenkeel.simulator.kubelet.settings import NodeSettings
from evenkeel.simulator.manifests import read_manifests
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant

pytestmark = pytest.mark.anyio

NODES = (NodeSettings("node-1"), NodeSettings("node-2"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def deployment(replicas: int = 3) -> JsonObject:
    resources = {"requests": {"cpu": "500m", "memory": "64Mi"}, "limits": {"cpu": "1"}}
    metadata = {"labels": {"app": "web", "simulator.evenkeel.dev/usage": "web"}}
    container = {"name": "main", "image": "i", "resources": resources}
    template = {"metadata": metadata, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


async def test_a_workload_runs_and_its_use_can_be_measured() -> None:
    cluster = SimulatedCluster(ClusterSettings(nodes=NODES))
    cluster.catalogue.add("web", Behaviour(Constant(Demand(2.0, 64 * 2**20))))
    cluster.start()
    await cluster.administrator.create(deployment())
    await cluster.advance(timedelta(minutes=2))
    pods = cluster.server.store.list("v1", "Pod", "default")
    assert [text(pod, "status", "phase") for pod in pods] == ["Running"] * 3
    assert {text(pod, "spec", "nodeName") for pod in pods} == {"node-1", "node-2"}
    usage = [child(rows(row, "containers")[0], "usage") for row in cluster.server.metrics.pods()]
    assert len(usage) == 3
    assert all(str(used["cpu"]).startswith("1") for used in usage), f"held back at the limit of one core: {usage}"
    await cluster.close()
    now = cluster.clock.now()
    await cluster.administrator.delete("apps/v1", "Deployment", "web", "default")
    await cluster.advance(timedelta(minutes=1))
    assert cluster.clock.now() == now + timedelta(minutes=1)
    assert len(cluster.server.store.list("v1", "Pod", "default")) == 3, "controllers act no more"


KUBELETS = [
    ("resize:3.12", "GET", "node-1/proxy/metrics", 200, "kubelet_pod_in_progress_resizes 0.0"),
    ("resize:3.12 no kubelet runs", "GET", "node-2/proxy/metrics", 503, "no kubelet answers on node-2"),
    ("resize:3.12 no such node", "GET", "node-3/proxy/metrics", 404, "node-3"),
    ("resize:3.12 another page", "GET", "node-1/proxy/pods", 404, ""),
    ("resize:3.12 read only", "DELETE", "node-1/proxy/metrics", 405, ""),
]


async def test_kubelets_show_their_metrics_through_the_api_server() -> None:
    cluster = SimulatedCluster(ClusterSettings(nodes=NODES))
    cluster.start()
    await cluster.advance(timedelta(minutes=1))
    cluster.nodes["node-2"].stop()
    headers = {"Authorization": f"Bearer {cluster.admin_token}"}
    async with serve(cluster.server, tls=False) as endpoint, aiohttp.ClientSession(headers=headers) as session:
        for row, verb, path, status, said in KUBELETS:
            async with session.request(verb, f"{endpoint.url}/api/v1/nodes/{path}") as answer:
                assert (answer.status, said in await answer.text()) == (status, True), row
    await cluster.close()


async def test_the_same_seed_gives_the_same_names() -> None:
    async def names(seed: int) -> list[str]:
        cluster = SimulatedCluster(ClusterSettings(nodes=NODES, seed=seed))
        cluster.catalogue.add("web", Behaviour())
        cluster.start()
        await cluster.administrator.create(deployment())
        await cluster.advance(timedelta(seconds=5))
        await cluster.close()
        return [text(pod, "metadata", "name") for pod in cluster.server.store.list("v1", "Pod", "default")]

    assert await names(1) == await names(1)
    assert await names(1) != await names(2)


async def test_everything_but_the_processes_is_installed() -> None:
    cluster = SimulatedCluster(ClusterSettings())
    assert await cluster.install(read_manifests()) == ()
    store = cluster.server.store
    assert store.find("v1", "ServiceAccount", "evenkeel-updater", "evenkeel-system")
    assert store.find("v1", "Service", "evenkeel-webhook", "evenkeel-system")
    assert store.find("rbac.authorization.k8s.io/v1", "ClusterRole", "evenkeel-updater")
    assert store.list("autoscaling.evenkeel.dev/v1", "VerticalPodAutoscaler") == []
    assert store.list("apps/v1", "Deployment") == []


async def test_a_service_account_may_do_what_its_roles_say_and_no_more() -> None:
    cluster = SimulatedCluster(ClusterSettings())
    await cluster.install(read_manifests())
    token = cluster.token_of("evenkeel-system", "evenkeel-updater")
    async with serve(cluster.server, tls=False) as endpoint, aiohttp.ClientSession(endpoint.url) as session:

        async def status(method: str, path: str, bearer: str) -> int:
            async with session.request(method, path, headers={"Authorization": f"Bearer {bearer}"}) as answer:
                return answer.status

        assert await status("GET", "/api/v1/pods", token) == 200
        assert await status("GET", "/api/v1/secrets", token) == 403
        assert await status("DELETE", "/api/v1/namespaces/default/pods/x", token) == 403
        assert await status("GET", "/api/v1/secrets", cluster.admin_token) == 200
        assert await status("GET", "/api/v1/pods", "made-up") == 401


async def test_there_is_no_token_without_a_service_account() -> None:
    cluster = SimulatedCluster(ClusterSettings())
    with pytest.raises(StatusError):
        cluster.token_of("evenkeel-system", "evenkeel-updater")


async def test_a_service_leads_to_a_port_of_this_machine() -> None:
    cluster = SimulatedCluster(ClusterSettings())
    await cluster.install(read_manifests())
    for port in (8443, 9443):
        await cluster.expose("evenkeel-system", "evenkeel-webhook", port)
        endpoints = cluster.server.store.read("v1", "Endpoints", "evenkeel-webhook", "evenkeel-system")
        wanted = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "webhook", "port": port}]}
        assert endpoints["subsets"] == [wanted]


async def test_a_clock_that_moves_by_itself_is_not_moved() -> None:
    cluster = SimulatedCluster(ClusterSettings(nodes=()), SpeedClock(ClusterSettings().start, 1.0))
    with pytest.raises(TypeError, match="moves by itself"):
        await cluster.advance(timedelta(seconds=1))
