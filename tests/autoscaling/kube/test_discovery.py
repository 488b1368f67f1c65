"""Which collections the server says there are."""

from __future__ import annotations

import pytest

from autoscaling.errors import ApiRefusedError, ApiUnreachableError
from autoscaling.kube import paths
from autoscaling.kube.client import KubeClient
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.paths import Resource
from tests.autoscaling.kube.clocks import InstantPacing
from tests.autoscaling.kube.scripted import Answer, ScriptedServer, no, ok

pytestmark = pytest.mark.anyio

GROUP = ok(
    {
        "name": "example.org",
        "versions": [{"version": "v1beta1"}, {"version": "v1"}, {"version": "v2"}],
        "preferredVersion": {"version": "v1"},
    }
)


def resources(*entries: tuple[str, str, bool]) -> Answer:
    return ok(
        {"resources": [{"name": name, "kind": kind, "namespaced": namespaced} for name, kind, namespaced in entries]}
    )


@pytest.fixture
def server(server: ScriptedServer) -> ScriptedServer:
    server.script("GET", "/apis/example.org", GROUP)
    shop = ("shops", "Shop", True)
    server.script(
        "GET", "/apis/example.org/v1", resources(shop, ("shops/scale", "Shop", True), ("malls", "Mall", False))
    )
    server.script("GET", "/apis/example.org/v1beta1", resources(shop, ("stores", "Shop", True)))
    server.script("GET", "/apis/example.org/v2", resources())
    return server


@pytest.mark.parametrize(
    ("spec", "group", "kind", "found"),
    [
        ("recommender:11.1", "apps", "Deployment", (paths.DEPLOYMENTS,)),
        ("recommender:11.1", "", "Pod", (paths.PODS,)),
        ("recommender:11.1", "", "Node", (paths.NODES,)),
        ("recommender:11.1", "apps", "Pod", ()),
        ("recommender:11.1", "nowhere.org", "Pod", ()),
    ],
)
async def test_a_real_surface(
    cluster_client: KubeClient, spec: str, group: str, kind: str, found: tuple[Resource, ...]
) -> None:
    assert await Discovery(cluster_client).resources_for(group, kind) == found


@pytest.mark.parametrize(
    ("spec", "kind", "found"),
    [
        (
            "recommender:11.1",
            "Shop",
            [("v1", "shops", True), ("v1beta1", "shops", True), ("v1beta1", "stores", True)],
        ),
        ("recommender:11.1", "Mall", [("v1", "malls", False)]),
        ("recommender:11.1", "Scale", []),
    ],
)
async def test_the_preferred_version_comes_first(
    server: ScriptedServer, client: KubeClient, spec: str, kind: str, found: list[tuple[str, str, bool]]
) -> None:
    known = await Discovery(client).resources_for("example.org", kind)
    assert [(resource.version, resource.plural, resource.namespaced) for resource in known] == found


async def test_answers_are_remembered_for_five_minutes(
    server: ScriptedServer, client: KubeClient, pacing: InstantPacing
) -> None:
    """Spec: recommender:11.1."""
    discovery = Discovery(client)
    await discovery.resources_for("example.org", "Shop")
    pacing.seconds = 299.9
    await discovery.resources_for("example.org", "Mall")
    assert len(server.requests) == 4
    pacing.seconds = 300.0
    await discovery.resources_for("example.org", "Shop")
    assert len(server.requests) == 8
    discovery.forget()
    await discovery.resources_for("example.org", "Shop")
    assert len(server.requests) == 12


async def test_a_failure_is_not_remembered(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", "/apis/example.org/v2", no(403, "Forbidden"), resources())
    discovery = Discovery(client)
    with pytest.raises(ApiRefusedError):
        await discovery.resources_for("example.org", "Shop")
    assert len(await discovery.resources_for("example.org", "Shop")) == 3


async def test_a_group_that_may_not_be_seen(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", "/apis/example.org", no(403, "Forbidden"))
    with pytest.raises(ApiRefusedError):
        await Discovery(client).resources_for("example.org", "Shop")


@pytest.mark.parametrize("path", ["/apis/example.org", "/apis/example.org/v1"])
async def test_an_answer_that_cannot_be_read(server: ScriptedServer, client: KubeClient, path: str) -> None:
    server.script("GET", path, Answer(200, (b"[]",)))
    with pytest.raises(ApiUnreachableError, match="answered with something unreadable"):
        await Discovery(client).resources_for("example.org", "Shop")
