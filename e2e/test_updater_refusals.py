"""What the API server would refuse: a real quota and the QoS class of real pods, and how many calls that takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Installation, resources_of
from e2e.updater_lab import Lab, Workload, name_of, uid_of, updater_installed
from e2e.workloads import amounts

BOTH = ("cpu", "memory")


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with its own way of doing things, and mode InPlace switched on."""
    with updater_installed(cluster, everywhere=("--feature-gates=InPlace=true",)) as running:
        yield running


@pytest.fixture
def lab(installation: Installation, kube: Kube) -> Iterator[Lab]:
    """A namespace; afterwards everything runs still, within its rights."""
    lab = Lab(kube, installation)
    yield lab
    lab.assert_well()


def qos_of(pod: JsonObject) -> str:
    """Return a pod's QoS class."""
    return text_at(pod, "status", "qosClass")


@pytest.mark.parametrize(
    ("identity", "workload", "class_name"),
    [
        ("beyond:B-21", Workload({}, mode="InPlace", controlled=BOTH), "BestEffort"),
        (
            "case:28",
            Workload(amounts("100m", "64Mi", limit_cpu="100m", limit_memory="64Mi"), mode="InPlace", controlled=BOTH),
            "Guaranteed",
        ),
    ],
    ids=["best-effort", "requests-of-a-guaranteed-pod"],
)
def test_what_would_change_the_class_is_not_even_asked_for(
    lab: Lab, identity: str, workload: Workload, class_name: str
) -> None:
    (old,) = lab.deploy("classy", workload)
    assert qos_of(old) == class_name
    lab.recommend("classy", "50m", "32Mi")
    lab.wait_for_reason(old, "qos_would_change")
    told = lab.wait_for_rounds(old, 3)
    assert {(t.action, t.reason) for t in told} == {("skip", "qos_would_change")}, identity
    lab.wait_for_condition("classy", "QoSWouldChange")
    assert lab.calls("resize") == []
    assert lab.calls("eviction") == []
    assert uid_of(lab.only_pod("classy")) == uid_of(old)


def test_a_best_effort_pod_gets_requests_by_a_new_pod_where_the_mode_allows(lab: Lab) -> None:
    """Rows beyond:B-21, updater K-33: one eviction and no resize."""
    (old,) = lab.deploy("classy", Workload({}, controlled=BOTH))
    lab.recommend("classy", "200m", "100Mi")
    new = lab.wait_for_replacement("classy", old, timeout_seconds=40.0)
    assert (qos_of(old), qos_of(new)) == ("BestEffort", "Burstable")
    assert at(new, "spec", "containers", 0, "resources", "requests") == {"cpu": "200m", "memory": "100Mi"}
    lab.wait_for_rounds(new, 2)
    assert lab.calls("resize") == []
    assert [entry.name for entry in lab.calls("eviction")] == [name_of(old)]


@pytest.mark.parametrize(
    ("identity", "workload", "class_name", "requests", "limits"),
    [
        (
            "beyond:B-21",
            Workload(
                amounts("100m", "64Mi", limit_cpu="100m", limit_memory="64Mi"),
                mode="InPlace",
                controlled=BOTH,
                keeps_ratio=True,
            ),
            "Guaranteed",
            {"cpu": "200m", "memory": "100Mi"},
            {"cpu": "200m", "memory": "100Mi"},
        ),
        (
            "updater:K-33",
            Workload(amounts("50m", "32Mi", limit_cpu="200m", limit_memory="100Mi"), mode="InPlace", controlled=BOTH),
            "Burstable",
            {"cpu": "200m", "memory": "104857599"},
            {"cpu": "200m", "memory": "100Mi"},
        ),
    ],
    ids=["guaranteed", "about-to-become-guaranteed"],
)
def test_a_resize_keeps_the_class(
    lab: Lab, identity: str, workload: Workload, class_name: str, requests: JsonObject, limits: JsonObject
) -> None:
    (old,) = lab.deploy("classy", workload)
    lab.recommend("classy", "200m", "100Mi")
    pod = lab.wait_until_given("classy", requests)
    assert resources_of(pod) == (requests, limits), identity
    assert (qos_of(old), qos_of(pod)) == (class_name, class_name)
    lab.wait_for_rounds(old, 2)
    assert [(entry.name, entry.code) for entry in lab.calls("resize")] == [(name_of(old), 200)]
    assert lab.calls("eviction") == []


def quota(memory_limits: str) -> JsonObject:
    """Return a quota on limits of memory."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "memory"},
        "spec": {"hard": {"limits.memory": memory_limits}},
    }


def test_a_quota_holds_a_pod_where_it_is_until_there_is_room(lab: Lab) -> None:
    """Rows beyond:B-12, case:4: neither call is made while the quota would refuse both."""
    lab.kube.apply(quota("100Mi"))
    resources = amounts("50m", "32Mi", limit_cpu="8", limit_memory="64Mi")
    (old,) = lab.deploy("tight", Workload(resources, controlled=("memory",), keeps_ratio=True))
    lab.recommend("tight", "50m", "64Mi")
    told = lab.wait_for_reason(old, "quota_would_block")
    assert "memory" in told.detail
    assert {t.reason for t in lab.wait_for_rounds(old, 3)} == {"quota_would_block"}
    blocked = lab.wait_for_condition("tight", "QuotaWouldBlock")
    assert name_of(old) in text_at(blocked, "message")
    assert lab.calls("resize") == []

    lab.kube.apply(quota("128Mi"))
    pod = lab.wait_until_given("tight", {"memory": "64Mi"})
    assert uid_of(pod) == uid_of(old)
    lab.wait_for_no_condition("tight", "QuotaWouldBlock")
    assert [(entry.name, entry.code) for entry in lab.calls("resize")] == [(name_of(old), 200)]
    assert lab.calls("eviction") == []
