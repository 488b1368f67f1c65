"""Whom updates may disrupt on a real cluster: group budgets where containers restart, and disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, is_condition_true, number_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Installation, restarts
from e2e.updater_lab import (
    INTERVAL_SECONDS,
    Lab,
    Workload,
    asked_of,
    name_of,
    uid_of,
    updater_installed,
)

PAIR: JsonObject = {}
"""Update policy of a VPA that leaves minReplicas at its default of two."""

BOTH = ("cpu", "memory")
OWN_WAY = pytest.mark.parametrize("installation", ["evenkeel"], indirect=True)


@pytest.fixture(scope="module", params=["evenkeel", "upstream"])
def installation(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Evenkeel in either profile."""
    with updater_installed(cluster, everywhere=(f"--profile={request.param}",)) as running:
        yield running


@pytest.fixture
def lab(installation: Installation, kube: Kube) -> Iterator[Lab]:
    """A namespace; afterwards everything runs still, within its rights."""
    lab = Lab(kube, installation)
    yield lab
    lab.assert_well()


def protect(lab: Lab, name: str, least: int) -> None:
    """Create a disruption budget for a workload and wait until it is reckoned."""
    spec: JsonObject = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
    lab.kube.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec})

    def reckoned() -> bool:
        budget = lab.kube.read("poddisruptionbudget", name)
        return number_at(budget, "status", "currentHealthy") == least

    lab.kube.wait_for(reckoned, "the disruption budget to be reckoned")


def wait_until_all_ask(lab: Lab, name: str, count: int, resource: str, wanted: str) -> None:
    """Wait until all pods of a workload are Ready with a request of so much."""

    def settled() -> bool:
        pods = [pod for pod in lab.kube.pods(f"app={name}") if is_condition_true(pod, "Ready")]
        assert len(pods) == count, f"{len(pods)} ready pods"
        asked = [asked_of(pod, resource) for pod in pods]
        assert asked == [wanted] * count, f"requests of {asked}"
        return True

    lab.kube.wait_for(settled, f"requests of {wanted}", timeout_seconds=40.0)


def test_a_disruption_budget_is_obeyed(lab: Lab) -> None:
    """Row beyond:B-43: the budget is read, and no call made; profile upstream asks the eviction API every round."""
    is_own = "--profile=evenkeel" in lab.installation.flags.all
    pods = lab.deploy("pair", Workload(replicas=2, mode="Recreate", settings=PAIR))
    before = {uid_of(pod) for pod in pods}
    protect(lab, "pair", 2)
    lab.recommend("pair", "200m")
    if is_own:
        told = lab.wait_for_reason(pods[0], "pdb_blocks")
        assert told.detail.startswith(f"PodDisruptionBudget {lab.kube.namespace}/pair needs 2 healthy pods")
        assert {t.reason for t in lab.wait_for_rounds(pods[0], 3)} == {"pdb_blocks"}
        assert lab.calls("eviction") == []
    else:
        lab.wait_for_reason(pods[0], "outside_bounds")
        lab.wait_for_rounds(pods[0], 3)
        tried = lab.calls("eviction")
        assert {entry.code for entry in tried} == {429}
        assert len([entry for entry in tried if entry.name == name_of(pods[0])]) >= 3
        assert lab.metric("vpa_updater_failed_eviction_attempts_total") >= len(tried)
    assert {uid_of(pod) for pod in lab.kube.pods("app=pair")} == before

    lab.kube.delete("poddisruptionbudget", "pair")
    wait_until_all_ask(lab, "pair", 2, "cpu", "200m")
    assert not before & {uid_of(pod) for pod in lab.kube.pods("app=pair")}
    assert [entry.code for entry in lab.calls("eviction")].count(201) == 2


@OWN_WAY
def test_a_disruption_budget_holds_back_what_restarts_and_nothing_else(lab: Lab) -> None:
    """Rows beyond:B-43, updater K-16."""
    pods = lab.deploy("pair", Workload(replicas=2, restarts_for_memory=True, controlled=BOTH, settings=PAIR))
    protect(lab, "pair", 2)
    lab.recommend("pair", "200m")
    wait_until_all_ask(lab, "pair", 2, "cpu", "200m")
    assert sum(map(restarts, lab.kube.pods("app=pair"))) == 0

    lab.recommend("pair", "200m", "48Mi")
    lab.wait_for_reason(pods[0], "pdb_blocks")
    assert {t.reason for t in lab.wait_for_rounds(pods[0], 2)} == {"pdb_blocks"}
    assert {asked_of(pod, "memory") for pod in lab.kube.pods("app=pair")} == {"32Mi"}

    lab.kube.delete("poddisruptionbudget", "pair")
    wait_until_all_ask(lab, "pair", 2, "memory", "48Mi")
    lab.kube.wait_for(lambda: sum(map(restarts, lab.kube.pods("app=pair"))) == 2, "one restart each")
    assert {uid_of(pod) for pod in lab.kube.pods("app=pair")} == {uid_of(pod) for pod in pods}
    assert lab.calls("eviction") == []


@OWN_WAY
def test_no_more_pods_of_a_group_restart_at_a_time_than_its_budget_allows(lab: Lab) -> None:
    """Rows beyond:B-43, updater K-2, R-5: a container may take longer to end than the next round is away."""
    workload = Workload(replicas=3, restarts_for_memory=True, ends_in_seconds=5, controlled=BOTH, settings=PAIR)
    pods = lab.deploy("trio", workload)
    lab.recommend("trio", "200m")
    wait_until_all_ask(lab, "trio", 3, "cpu", "200m")
    times = [entry.at for entry in lab.calls("resize")]
    assert len(times) == 3
    assert max(times) - min(times) < timedelta(seconds=INTERVAL_SECONDS / 2), "what restarts nothing goes in one round"

    with lab.watching() as seen:
        lab.recommend("trio", "200m", "48Mi")
        wait_until_all_ask(lab, "trio", 3, "memory", "48Mi")
        lab.kube.wait_for(lambda: sum(map(restarts, lab.kube.pods("app=trio"))) == 3, "one restart each")
    at_a_time = [sum(map(is_restarting, now.values())) for now in seen.instants()]
    assert max(at_a_time) == 1, "half of three, rounded down"
    assert {uid_of(pod) for pod in lab.kube.pods("app=trio")} == {uid_of(pod) for pod in pods}
    assert len(lab.calls("resize")) == 6
    assert lab.calls("eviction") == []


def is_restarting(pod: JsonObject) -> bool:
    """Say whether a pod's container is about to restart for a resize, or has not come back yet."""
    status = at(pod, "status", "containerStatuses", 0)
    in_force = text_at(status, "resources", "requests", "memory")
    return in_force != asked_of(pod, "memory") or at(status, "state", "running") is None
