"""``evenkeel shadow`` against the embedded API server."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.fields import text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import GROUP, Json, vpa_object
from tests.evenkeel.cli.running import evenkeel

KIND = "VerticalPodAutoscaler"


@pytest.fixture
def both(server: ApiServer) -> ApiServer:
    """A cluster that has both groups."""
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    server.create_namespaces("other")
    return server


def theirs(name: str, namespace: str = "default") -> Json:
    return vpa_object(name) | {
        "apiVersion": f"{ApiGroup.UPSTREAM}/v1",
        "metadata": {"name": name, "namespace": namespace},
    }


def twins(server: ApiServer) -> list[str]:
    found = server.store.list(f"{GROUP}/v1", KIND)
    return [f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}" for each in found]


def test_twins_are_made_and_removed_in_the_namespaces_that_are_asked_for(both: ApiServer, cluster: str) -> None:
    both.store.create(theirs("web"))
    both.store.create(theirs("web", "other"))
    tried = evenkeel("shadow", "sync", cluster, "--dry-run")
    assert (tried.status, twins(both)) == (0, []), "beyond:B-35"
    assert tried.output == f"{KIND} default/web would be created: upstream's object has no twin\n"
    made = evenkeel("shadow", "sync", cluster)
    assert (made.status, twins(both)) == (0, ["default/web"]), made.errors
    assert evenkeel("shadow", "sync", cluster, "-A").output == (
        f"{KIND} other/web created: upstream's object has no twin\n"
    )
    assert evenkeel("shadow", "sync", cluster, "-A").output == ""
    gone = evenkeel("shadow", "remove", cluster, "--namespace", "other")
    assert (gone.status, twins(both)) == (0, ["default/web"]), gone.errors


def test_a_watch_goes_on_until_it_is_told_to_end(both: ApiServer, cluster: str) -> None:
    """The second original comes when both groups are watched, and the end when its twin is there."""
    both.store.create(theirs("web"))
    is_there = threading.Event()
    own = both.store.kind_of(vpa_object()).resource
    stop = both.store.versions.observe(own, lambda change: is_there.set() if change.after.key[1] == "late" else None)

    def end_it() -> None:
        while len(both.requests.calls("watch")) < 2:
            is_there.wait(0.01)
        both.store.create(theirs("late"))
        if is_there.wait(10):
            os.kill(os.getpid(), signal.SIGTERM)

    ending = threading.Thread(target=end_it)
    ending.start()
    answer = evenkeel("shadow", "sync", cluster, "--watch")
    ending.join()
    stop()
    assert answer.status == 0, answer.errors
    assert twins(both) == ["default/late", "default/web"], "beyond:B-35"
    assert answer.output.startswith(f"{KIND} default/web created: upstream's object has no twin\n")


@pytest.mark.parametrize(
    ("spec_id", "conflicts", "status", "words"),
    [
        ("beyond:B-35", 1, 0, "default/web deleted: shadow mode ends"),
        ("beyond:B-35", 3, 1, "default/web: has changed since it was looked at"),
    ],
)
def test_a_twin_that_changes_under_our_hands_is_looked_at_anew(
    both: ApiServer, cluster: str, spec_id: str, conflicts: int, status: int, words: str
) -> None:
    both.store.create(theirs("web"))
    assert evenkeel("shadow", "sync", cluster).status == 0
    both.faults.add(Fault(Refuse(409), verb="delete", path="/web$", count=conflicts))
    answer = evenkeel("shadow", "remove", cluster)
    assert answer.status == status, spec_id
    assert words in answer.output + answer.errors
    assert twins(both) == (["default/web"] if status else [])


def test_an_object_of_the_same_name_is_left_alone_and_told_of(both: ApiServer, cluster: str) -> None:
    both.store.create(theirs("web"))
    both.store.create(vpa_object("web"))
    answer = evenkeel("shadow", "sync", cluster)
    assert answer.status == 1, "beyond:B-35"
    assert answer.errors.startswith(f"evenkeel: {KIND} default/web: left alone: our own group has an object")
    assert twins(both) == ["default/web"]


def test_a_cluster_without_upstreams_group_is_told_of(server: ApiServer, cluster: str) -> None:
    answer = evenkeel("shadow", "sync", cluster)
    assert answer.status == 1, "beyond:B-35"
    assert "verticalpodautoscalers.autoscaling.k8s.io: not served" in answer.errors


def test_a_dry_run_cannot_be_watched(cluster: str) -> None:
    assert evenkeel("shadow", "sync", cluster, "--watch", "--dry-run").status == 2, "beyond:B-35"
