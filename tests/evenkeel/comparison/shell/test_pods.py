"""Which pods are whose, on the embedded API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from autoscaling.kube.client import KubeClient
from autoscaling.vpa import TargetRef, Vpa
from evenkeel.comparison.shell.pods import ownership
from evenkeel.simulator.api.server import ApiServer
from tests.builders import vpa
from tests.embedded import api_server, client_for, deploy, scalable_definition

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return api_server()


@pytest.fixture
async def client(server: ApiServer, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with client_for(server) as client:
        yield client


def aimed_at(kind: str, name: str, api_version: str = "apps/v1") -> Vpa:
    return replace(vpa(), name=f"of-{name}", target_ref=TargetRef(kind, name, api_version))


async def test_pods_belong_to_the_autoscalers_whose_target_selects_them(server: ApiServer, client: KubeClient) -> None:
    deploy(server, "web", replicas=2)
    deploy(server, "db")
    found = await ownership(client, [aimed_at("Deployment", "web"), aimed_at("ReplicaSet", "web-rs")], "")
    of_both = (("default", "of-web"), ("default", "of-web-rs"))
    assert found.owners == {("default", "web-0"): of_both, ("default", "web-1"): of_both}, "beyond:B-35"
    assert found.problems == ()


async def test_a_custom_kind_is_asked_for_its_scale(server: ApiServer, client: KubeClient) -> None:
    server.store.create(scalable_definition("example.com", "Farm", "farms"))
    metadata = {"name": "farm", "namespace": "default"}
    farm: dict[str, object] = {"apiVersion": "example.com/v1", "kind": "Farm", "metadata": metadata}
    server.store.create(farm | {"spec": {"replicas": 1}, "status": {"replicas": 1, "selector": "app=web"}})
    deploy(server, "web")
    found = await ownership(client, [aimed_at("Farm", "farm", "example.com/v1")], "default")
    assert found.owners == {("default", "web-0"): (("default", "of-farm"),)}, "beyond:B-35"


@pytest.mark.parametrize(
    ("spec_id", "lost", "words"),
    [
        ("beyond:B-35", aimed_at("Deployment", "gone"), "Deployment default/gone: 404 NotFound"),
        ("beyond:B-35", aimed_at("Farm", "farm", "example.com/v1"), "knows no kind Farm"),
        ("beyond:B-35", replace(vpa(), target_ref=None), "it names no target"),
    ],
)
async def test_an_autoscaler_whose_pods_cannot_be_told_keeps_no_other_from_being_looked_at(
    server: ApiServer, client: KubeClient, spec_id: str, lost: Vpa, words: str
) -> None:
    deploy(server, "web")
    found = await ownership(client, [lost, aimed_at("Deployment", "web")], "")
    assert set(found.owners) == {("default", "web-0")}, spec_id
    (problem,) = found.problems
    assert problem.startswith(f"{lost.ref}: its pods cannot be told")
    assert words in problem
