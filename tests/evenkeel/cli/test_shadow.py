"""``evenkeel shadow`` against the embedded API server."""

from __future__ import annotations

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.fields import text
from evenkeel.simulator.api.server import ApiServer
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
