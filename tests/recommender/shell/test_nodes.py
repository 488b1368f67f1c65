"""Recommendations larger than any node, against the embedded API server."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import pytest

from autoscaling.behaviour import Behaviour, Profile
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from recommender.shell.caches import Caches
from recommender.shell.loop import Loop
from tests.embedded import GROUP, Json, api_server, client_for, deploy, node_object, vpa_object
from tests.recommender.shell.stage import conditions, recommender, run_at, seen, status, target, until, used

pytestmark = pytest.mark.anyio
YOUNG = {"LowConfidence": "True", "RecommendationProvided": "True"}
CAPPED = {"CappedToNode": "True", **YOUNG}
USED = "7800M"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    """A cluster of two nodes of 7.7 GB, one of which nothing is known of but that."""
    made = api_server()
    deploy(made)
    made.store.create(vpa_object())
    for name in ("node1", "node2"):
        made.store.create(node_object(name, memory="7700M"))
    used(made, 1, memory=USED)
    return made


def memory(server: ApiServer) -> object:
    found = target(server)
    assert isinstance(found, dict)
    return found["memory"]


def vectors(server: ApiServer) -> Json:
    """Return the memory of every vector of the only container."""
    recommendation = status(server)["recommendation"]
    assert isinstance(recommendation, dict)
    (entry,) = recommendation["containerRecommendations"]
    return {name: amounts["memory"] for name, amounts in entry.items() if name != "containerName"}


ASKED = "9148093649"


@pytest.mark.parametrize(
    ("row", "profile", "expected", "shown"),
    [
        ("case:45", Profile.EVENKEEL, "7700000000", CAPPED),
        ("upstream", Profile.UPSTREAM, ASKED, {"RecommendationProvided": "True"}),
    ],
)
async def test_a_target_is_no_larger_than_the_largest_node(
    server: ApiServer, row: str, profile: Profile, expected: str, shown: dict[str, str]
) -> None:
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
    found = vectors(server)
    assert (found["target"], found["uncappedTarget"]) == (expected, ASKED), row
    assert (found["upperBound"] == expected) is (profile is Profile.EVENKEEL), row
    assert conditions(server) == shown, row
    is_asked = bool(server.requests.calls(path="/nodes$"))
    assert is_asked is (profile is Profile.EVENKEEL), "upstream's profile does not even look"


def messages(server: ApiServer) -> list[str]:
    found = status(server)["conditions"]
    assert isinstance(found, list)
    return [each["message"] for each in found if each["type"] == "CappedToNode"]


async def nodes_known(loop: Loop, check: Callable[[tuple[str, ...]], bool]) -> None:
    nodes = loop.parts.caches.nodes
    assert nodes is not None
    await until(lambda: check(tuple(f"{each.name} {each.allocatable['memory']}" for each in nodes.snapshot())))


async def test_the_cap_follows_the_nodes(server: ApiServer) -> None:
    async with recommender(server) as loop:
        await run_at(loop, 1)
        (message,) = messages(server)
        assert message.startswith("Node node1 suits these pods best and has room for 7700000000 of memory"), "case:45"
        await seen(server, loop)
        server.store.create(node_object("node3", memory="9G"))
        await nodes_known(loop, lambda nodes: len(nodes) == 3)
        await run_at(loop, 2)
        assert (memory(server), conditions(server)) == ("9000000000", CAPPED), "beyond:B-11"
        await seen(server, loop)
        server.store.create(node_object("node4", memory="64Gi"))
        await nodes_known(loop, lambda nodes: len(nodes) == 4)
        await run_at(loop, 3)
        assert (memory(server), conditions(server)) == (ASKED, YOUNG), "beyond:B-11"
    assert len(server.requests.calls(path="/nodes$")) == 2, "one list and one watch, however many rounds"


async def test_without_the_permission_for_nodes_all_else_goes_on(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.add(Fault(Refuse(HTTPStatus.FORBIDDEN), path="/nodes$"))
    async with recommender(server) as loop:
        for minutes in (1, 2, 3):
            await run_at(loop, minutes)
    assert (memory(server), conditions(server)) == (ASKED, YOUNG), "beyond:B-11"
    assert len(server.requests.calls(path="/nodes$")) == 1
    assert capsys.readouterr().out.count("collection cannot be followed") == 1, "it is said once"


@pytest.mark.parametrize(("row", "namespace"), [("beyond:B-11", ""), ("beyond:B-11 one namespace", "default")])
async def test_nodes_are_watched_by_who_sees_all_pods(server: ApiServer, row: str, namespace: str) -> None:
    async with client_for(server) as client:
        caches = Caches(client, GROUP, namespace)
        assert (caches.nodes, caches.known_nodes()) == (None, None), "upstream"
        caches = Caches(client, GROUP, namespace, Behaviour())
        assert (caches.nodes is None) is bool(namespace), row
