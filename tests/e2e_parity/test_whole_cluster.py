"""The one cluster that all three programs are compared on: hundreds of VPAs, and everything that they can meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from e2e.parity.process.whole.cluster import ClusterMaker, WholeCluster
from e2e.parity.process.whole.trial import SUBMISSIONS, WORKLOADS
from evenkeel.simulator.api.fields import JsonObject, child, rows, text

pytestmark = pytest.mark.lengthy

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
SEEDS = ("1", "2")


@pytest.fixture(scope="module", params=SEEDS)
def cluster(request: pytest.FixtureRequest) -> WholeCluster:
    return ClusterMaker(str(request.param), NOW, WORKLOADS, SUBMISSIONS).make()


def of(cluster: WholeCluster, kind: str) -> list[JsonObject]:
    return [one for one in cluster.objects if one["kind"] == kind]


def policies(cluster: WholeCluster) -> Iterator[JsonObject]:
    for vpa in of(cluster, "VerticalPodAutoscaler"):
        yield from rows(vpa, "spec", "resourcePolicy", "containerPolicies")


def test_there_are_hundreds_of_vpas_in_all_modes(cluster: WholeCluster) -> None:
    vpas = of(cluster, "VerticalPodAutoscaler")
    modes = Counter(text(vpa, "spec", "updatePolicy", "updateMode") for vpa in vpas)
    assert len(vpas) >= 200
    assert set(modes) == {"", "Auto", "Recreate", "Initial", "Off", "InPlace", "InPlaceOrRecreate"}
    assert any(child(vpa, "spec", "updatePolicy").get("minReplicas") for vpa in vpas)
    assert any(rows(vpa, "spec", "updatePolicy", "evictionRequirements") for vpa in vpas)
    assert any(rows(vpa, "spec", "recommenders") for vpa in vpas)


def test_policies_say_everything_that_they_can(cluster: WholeCluster) -> None:
    found = list(policies(cluster))
    said = {(name, str(value)) for policy in found for name, value in policy.items()}
    assert {text(policy, "containerName") for policy in found} >= {"c0", "c1", "*", "gone"}
    assert {("mode", "Off"), ("mode", "Auto")} <= said
    assert {("controlledValues", "RequestsOnly"), ("controlledValues", "RequestsAndLimits")} <= said
    assert {("controlledResources", "['cpu']"), ("controlledResources", "['memory']")} <= said
    assert {"minAllowed", "maxAllowed"} <= {name for name, _ in said}


def test_all_kinds_of_controllers_are_aimed_at(cluster: WholeCluster) -> None:
    aimed_at = {text(vpa, "spec", "targetRef", "kind") for vpa in of(cluster, "VerticalPodAutoscaler")}
    assert aimed_at >= {
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
        "Flock",
    }
    assert all(of(cluster, kind) for kind in aimed_at - {"bare"})


def test_surroundings_limit_what_may_be_done(cluster: WholeCluster) -> None:
    limits = {text(row, "type") for one in of(cluster, "LimitRange") for row in rows(one, "spec", "limits")}
    assert limits == {"Container", "Pod"}
    assert of(cluster, "PodDisruptionBudget")


def test_checkpoints_are_there_also_of_what_is_gone(cluster: WholeCluster) -> None:
    stored = of(cluster, "VerticalPodAutoscalerCheckpoint")
    assert len(stored) >= 100
    names = {text(vpa, "metadata", "name") for vpa in of(cluster, "VerticalPodAutoscaler")}
    assert {text(one, "spec", "vpaObjectName") in names for one in stored} == {True, False}


def test_pods_were_killed_for_memory_before_and_are_between_rounds(cluster: WholeCluster) -> None:
    statuses = [row for pod in of(cluster, "Pod") for row in rows(pod, "status", "containerStatuses")]
    assert any(text(row, "lastState", "terminated", "reason") == "OOMKilled" for row in statuses)
    first, second = cluster.recommender.changes
    assert len(first) >= 5
    assert len(second) >= 5
    for change in (*first, *second):
        (killed, *_) = rows(change.object, "status", "containerStatuses")
        assert text(killed, "lastState", "terminated", "reason") == "OOMKilled"


def test_pods_that_are_alike_are_killed_together(cluster: WholeCluster) -> None:
    twins = cluster.updater.twins
    pods = {(text(pod, "metadata", "namespace"), text(pod, "metadata", "name")) for pod in of(cluster, "Pod")}
    for changes in cluster.recommender.changes:
        killed = {(text(one.object, "metadata", "namespace"), text(one.object, "metadata", "name")) for one in changes}
        alike = {twins[key] for key in killed}
        running = {key for key in pods if twins[key] in alike}
        assert killed == running


def test_all_that_is_submitted_is_stored_nowhere(cluster: WholeCluster) -> None:
    assert len(cluster.submissions) == SUBMISSIONS
    assert all(one.path.endswith("?dryRun=All") for one in (*cluster.submissions, cluster.probe))
    assert {one.method for one in cluster.submissions} == {"POST", "PATCH"}


def test_all_three_programs_have_the_same_gates_and_the_same_objects(cluster: WholeCluster) -> None:
    assert cluster.recommender.objects is cluster.updater.objects is cluster.objects
    assert set(cluster.gates) <= set(cluster.recommender.flags) & set(cluster.updater.flags)
    assert len(cluster.recommender.frames) == 3
    assert all(cluster.recommender.frames)


def test_a_seed_always_gives_the_same() -> None:
    one, other = (ClusterMaker("s", NOW, 10, 20).make() for _ in range(2))
    assert one == other
    assert one != ClusterMaker("t", NOW, 10, 20).make()
