"""A load that ready pods bear together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.controllers.pod_state import is_ready
from evenkeel.simulator.workloads.choices import USAGE_KEY
from evenkeel.simulator.workloads.sharing import Alone, ReadyPods


def pod(name: str, usage: str = "app=web.main", *, ready: bool = True, going: bool = False) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default", "annotations": {USAGE_KEY: usage}}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}, "status": status}


def shares(server: ApiServer, ready: ReadyPods, name: str = "web.main") -> list[float]:
    return [ready.share(name, one) for one in server.store.list("v1", "Pod")]


def test_each_ready_pod_bears_the_same_part() -> None:
    server = ApiServer()
    server.store.create(pod("a"))
    ready = ReadyPods(server.store.versions)
    assert shares(server, ready) == [1.0]
    server.store.create(pod("b"))
    server.store.create(pod("c", ready=False))
    assert shares(server, ready) == [0.5, 0.5, 0.0]


def test_pods_begin_and_cease_to_serve() -> None:
    server = ApiServer()
    ready = ReadyPods(server.store.versions)
    for name in "abc":
        server.store.create(pod(name, ready=False))
    assert shares(server, ready) == [0.0, 0.0, 0.0], "the load goes nowhere"
    for name in "abc":
        server.store.update(pod(name))
    assert shares(server, ready) == pytest.approx([1 / 3] * 3)
    server.store.update(pod("a", ready=False))
    server.store.update(pod("b", going=True))
    assert shares(server, ready) == [0.0, 0.0, 1.0]
    server.store.delete("v1", "Pod", "c", "default")
    server.store.update(pod("a"))
    assert shares(server, ready) == [1.0, 0.0]


def test_workloads_do_not_share_with_each_other() -> None:
    server = ApiServer()
    ready = ReadyPods(server.store.versions)
    server.store.create(pod("a"))
    server.store.create(pod("b", "app=db.main"))
    server.store.create(pod("c", "app=web.main,proxy=db.main"))
    assert shares(server, ready) == [0.5, 0.0, 0.5]
    assert shares(server, ready, "db.main") == [0.0, 0.5, 0.5]


def test_a_pod_may_turn_to_another_workload() -> None:
    server = ApiServer()
    ready = ReadyPods(server.store.versions)
    server.store.create(pod("a"))
    server.store.update(pod("a", "db.main"))
    assert (shares(server, ready), shares(server, ready, "db.main")) == ([0.0], [1.0])


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=30))
def test_the_parts_always_make_up_the_whole(steps: list[tuple[str, bool, bool]]) -> None:
    """Law: whatever comes and goes, those that serve bear all of the load, and if none does nothing is borne."""
    server = ApiServer()
    ready = ReadyPods(server.store.versions)
    for name, works, leaves in steps:
        present = server.store.find("v1", "Pod", name, "default")
        if present is None:
            server.store.create(pod(name, ready=works))
        elif leaves:
            server.store.delete("v1", "Pod", name, "default")
        else:
            server.store.update(pod(name, ready=works))
        total = sum(shares(server, ready))
        assert total == pytest.approx(1.0) or total == 0.0
        assert (total > 0) is any(is_ready(one) for one in server.store.list("v1", "Pod"))


def test_alone_there_is_nobody_to_share_with() -> None:
    assert Alone().share("web", pod("a")) == 1.0
