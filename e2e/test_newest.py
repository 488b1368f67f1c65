"""What is new in Kubernetes 1.36 and later: the API server refuses a resize beyond the pod's node itself.

Run on the newest release, see ``EVENKEEL_KUBERNETES`` in CONTRIBUTING.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from autoscaling.kube.refusals import refusal_of
from autoscaling.quantity import Quantity
from e2e.api_socket import Answer, ApiSocket, api_socket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.metrics_page import UPDATER_PORT, total
from e2e.updater_lab import (
    Lab,
    Workload,
    asked_of,
    name_of,
    pending_reason,
    uid_of,
    updater_installed,
    wait_for_empty_nodes,
)
from e2e.workloads import IDLE_SCRIPT, container, pod_on
from updater.decision import Outcome
from updater.shell.verdicts import outcome_of

pytestmark = pytest.mark.newest

NODE = "node1"
IN_PLACE_ON = "--feature-gates=InPlace=true"
FAILED = "vpa_updater_failed_in_place_update_attempts_total"
SKIPPED = "vpa_updater_in_place_infeasible_skip_pods_total"


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiSocket]:
    """Requests to the API server, on the release that these tests are about."""
    assert cluster.release.refuses_beyond_node, "set EVENKEEL_KUBERNETES to a release from 1.36 on"
    with api_socket(cluster, "newest") as opened:
        yield opened


def allocatable(kube: Kube, resource: str) -> Quantity:
    """Return what the larger node has for pods."""
    return Quantity.parse(text_at(kube.read("node", NODE), "status", "allocatable", resource))


def ask(api: ApiSocket, kube: Kube, resource: str, request: str) -> Answer:
    """Ask for another request of the one pod on the node."""
    path = f"/api/v1/namespaces/{kube.namespace}/pods/{NODE}/resize"
    place = f"/spec/containers/0/resources/requests/{resource}"
    return api.patch(path, [{"op": "add", "path": place, "value": request}])


@pytest.mark.parametrize(("resource", "step"), [("cpu", Quantity.parse("1m")), ("memory", Quantity.parse("1"))])
def test_the_api_takes_no_more_than_the_node_has(api: ApiSocket, kube: Kube, resource: str, step: Quantity) -> None:
    """Rows updater:D-48, upstream-1.8.1 2.4; one step less is left to the kubelet, which may defer it."""
    wait_for_empty_nodes(kube)
    kube.apply(pod_on(NODE, container(IDLE_SCRIPT, {"requests": {"cpu": "50m", "memory": "16Mi"}})))
    kube.wait_for_pods("app=placed")
    most = allocatable(kube, resource)

    refused = ask(api, kube, resource, str(most.plus(step)))
    assert refused.code == 403
    assert f"{resource}, requested: " in refused.message
    assert objects_at(refused.body, "details", "causes") == [{"reason": "NodeCapacity"}]
    error = refusal_of("PATCH resize", refused.code, {}, json.dumps(refused.body).encode())
    assert outcome_of(error) is Outcome.NO_NODE_CAPACITY
    pod = kube.read("pod", NODE)
    assert asked_of(pod, resource) in {"50m", "16Mi"}
    assert pending_reason(pod) == ""

    assert ask(api, kube, resource, str(most)).code == 200


@contextmanager
def lab_of(cluster: Cluster, kube: Kube, *flags: str) -> Iterator[Lab]:
    """Two empty nodes, and all processes with some flags; afterwards they run still, within their rights."""
    with updater_installed(cluster, everywhere=flags) as running:
        wait_for_empty_nodes(kube)
        lab = Lab(kube, running)
        yield lab
        lab.assert_well()


def codes(lab: Lab) -> list[int]:
    """Return what the API server has answered to the updater's resizes."""
    return [entry.code for entry in lab.calls("resize")]


def failures(lab: Lab, reason: str) -> float:
    """Return how many resizes have failed for a reason, by the updater's counter."""
    return total(lab.cluster, UPDATER_PORT, FAILED, vpa_namespace=lab.kube.namespace, reason=reason)


def workload(mode: str) -> Workload:
    """Return a small pod on the larger node."""
    return Workload(prefers=NODE, mode=mode)


def test_upstreams_mode_in_place_remembers_the_refusal(cluster: Cluster, kube: Kube) -> None:
    """Rows updater:D-48, updater:D-44, updater:D-45: skipped each round, until less is recommended."""
    with lab_of(cluster, kube, "--profile=upstream", IN_PLACE_ON) as lab:
        (old,) = lab.deploy("giant", workload("InPlace"))
        lab.recommend("giant", "3900m")
        lab.wait_for_reason(old, "infeasible_remembered")
        told = lab.wait_for_rounds(old, 3)
        assert {(t.action, t.reason) for t in told} == {("skip", "infeasible_remembered")}
        assert codes(lab) == [403]
        assert failures(lab, "InPlaceUpdateInfeasible") == 1
        assert lab.metric(SKIPPED) >= len(told)
        assert kube.events(name_of(old), "InPlaceResizeSkipped")
        assert kube.events(name_of(old), "InPlaceResizedByVPA") == []

        lab.recommend("giant", "200m")
        pod = lab.wait_until_given("giant", {"cpu": "200m"})
        assert uid_of(pod) == uid_of(old)
        assert codes(lab) == [403, 200]
        assert lab.calls("eviction") == []


def test_our_mode_in_place_waits_until_less_is_asked_for(cluster: Cluster, kube: Kube) -> None:
    """Rows beyond:B-28, updater:D-48; without ``free_room``, by which no such resize would be sent at all."""
    with lab_of(cluster, kube, "--behaviour=free_room=false", IN_PLACE_ON) as lab:
        (old,) = lab.deploy("giant", workload("InPlace"))
        lab.recommend("giant", "3900m")
        told = lab.wait_for_reason(old, "resize_infeasible")
        assert told.detail.startswith("cpu of container main refused, tried again from ")
        told_since = lab.wait_for_rounds(old, 3)
        assert {(t.action, t.reason) for t in told_since} == {("skip", "resize_infeasible")}
        assert codes(lab) == [403]
        assert failures(lab, "InPlaceUpdateInfeasible") == 1
        assert text_at(lab.wait_for_condition("giant", "ResizeBlocked"), "reason") == "ResizeInfeasible"

        lab.recommend("giant", "200m")
        pod = lab.wait_until_given("giant", {"cpu": "200m"})
        assert uid_of(pod) == uid_of(old)
        assert codes(lab) == [403, 200]
        assert lab.calls("eviction") == []


def test_our_mode_in_place_or_recreate_evicts_as_for_an_infeasible_resize(cluster: Cluster, kube: Kube) -> None:
    """Rows beyond:B-24 (precedence), updater:D-25; without ``free_room`` nobody looks whether that helps."""
    with lab_of(cluster, kube, "--behaviour=free_room=false") as lab:
        (old,) = lab.deploy("giant", workload("InPlaceOrRecreate"))
        lab.recommend("giant", "3900m")
        lab.wait_for_reason(old, "resize_failed")
        kube.wait_for(lambda: lab.calls("eviction"), "the eviction")
        assert (codes(lab), [entry.code for entry in lab.calls("eviction")]) == ([403], [201])
        assert failures(lab, "InPlaceUpdateError") == 1


@pytest.mark.parametrize("mode", ["InPlace", "InPlaceOrRecreate"])
def test_by_default_nothing_is_asked_for_that_would_be_refused(cluster: Cluster, kube: Kube, mode: str) -> None:
    """Rows beyond:B-24, beyond:B-41: the pod gets what its node has, and the rest is told of."""
    with lab_of(cluster, kube, IN_PLACE_ON) as lab:
        (old,) = lab.deploy("giant", workload(mode))
        lab.recommend("giant", "3900m")
        pod = lab.wait_until_given("giant", {"cpu": str(allocatable(kube, "cpu"))})
        assert uid_of(pod) == uid_of(old)
        lab.wait_for_rounds(old, 3)
        assert codes(lab) == [200]
        assert lab.calls("eviction") == []
        message = text_at(lab.wait_for_condition("giant", "ResizeBlocked"), "message")
        assert name_of(old) in message
