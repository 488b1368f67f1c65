"""What is taken on nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.controllers.node_usage import NodeState, NodeUsage, share_of
from tests.evenkeel.simulator.api.wire import container, pod

CORE = 10**9


def node(name: str, **allocatable: str) -> Stored:
    return Stored({"metadata": {"name": name}, "status": {"allocatable": dict(allocatable)}}, 1)


def on(name: str, where: str, cpu: str = "1", phase: str = "Running", controller: str = "") -> JsonObject:
    made = pod(name, container(requests={"cpu": cpu}), node=where) | {"status": {"phase": phase}}
    if controller:
        metadata = made["metadata"]
        assert isinstance(metadata, dict)
        metadata["ownerReferences"] = [{"uid": controller, "controller": True}]
    return made


def test_what_a_node_lacks() -> None:
    state = NodeState("n", {}, [], {"cpu": 2 * CORE, "pods": 2 * CORE}, {"cpu": CORE}, 1)
    assert state.lacks({"cpu": CORE}) == []
    assert state.lacks({"cpu": CORE + 1}) == ["cpu"]
    assert state.lacks({"cpu": 0, "memory": 0}) == []
    assert state.lacks({"example.dev/gpu": CORE}) == ["example.dev/gpu"]
    state.pods = 2
    assert state.lacks({"cpu": CORE + 1}) == ["cpu", "pods"]
    del state.allocatable["pods"]
    assert state.lacks({}) == []


def test_only_pods_on_a_node_that_have_not_ended_take_something() -> None:
    assert share_of(pod()) is None
    assert share_of(on("a", "n1", phase="Succeeded")) is None
    share = share_of(on("a", "n1", controller="u"))
    assert share is not None
    assert (share.node, dict(share.requests), share.controller) == ("n1", {"cpu": CORE}, "u")


def test_nodes_come_and_go() -> None:
    usage = NodeUsage()
    usage.put_node(node("b", cpu="2"))
    usage.put_node(node("a", cpu="1"))
    assert [state.name for state in usage.nodes()] == ["a", "b"]
    usage.put_node(Stored({"metadata": {"name": "a"}, "status": {"capacity": {"cpu": "3"}}}, 2))
    assert usage.nodes()[0].allocatable == {"cpu": 3 * CORE}
    usage.drop_node("a")
    assert [state.name for state in usage.nodes()] == ["b"]


def test_pods_of_a_node_that_is_away_count_when_it_comes_back() -> None:
    usage = NodeUsage()
    usage.put_node(node("n", cpu="2"))
    usage.put_pod(Stored(on("p", "n"), 1))
    usage.drop_node("n")
    assert usage.nodes() == []
    usage.put_node(node("n", cpu="2"))
    assert usage.nodes()[0].used == {"cpu": CORE}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["", "n1", "n2"]),
            st.sampled_from(["100m", "1", "3"]),
            st.sampled_from(["Running", "Failed", "gone"]),
            st.sampled_from(["", "u", "v"]),
        )
    )
)
def test_the_sums_agree_with_the_store(writes: list[tuple[str, str, str, str, str]]) -> None:
    """Law: after any writes, what is counted on each node is what its pods request."""
    server, usage = ApiServer(), NodeUsage()
    for name in ("n1", "n2"):
        usage.put_node(node(name, cpu="9"))
    server.store.versions.observe(PODS, lambda change: usage.apply(change) and None)
    for name, where, cpu, phase, controller in writes:
        if server.store.find("v1", "Pod", name, "default"):
            server.store.delete("v1", "Pod", name, "default")
        if phase != "gone":
            server.store.create(on(name, where, cpu, phase, controller))
    shares = [share for stored in server.store.versions.snapshot(PODS) if (share := share_of(stored.body))]
    for state in usage.nodes():
        own = [share for share in shares if share.node == state.name]
        assert state.pods == len(own)
        assert state.used.get("cpu", 0) == sum(share.requests["cpu"] for share in own)
        owners = [share.controller for share in own if share.controller]
        assert state.by_controller == {uid: owners.count(uid) for uid in owners}
