"""Room on real nodes: growing no further than there is room, waiting for it, and moving only where that helps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, condition, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Installation
from e2e.updater_lab import (
    DEFERRED_SECONDS,
    INTERVAL_SECONDS,
    TWO_ROUNDS_SECONDS,
    Lab,
    Workload,
    asked_of,
    held_millicores,
    name_of,
    node_of,
    pending_reason,
    time_at,
    uid_of,
    updater_installed,
    wait_for_empty_nodes,
)
from e2e.workloads import amounts

SMALL = "node2"
OTHER = "node1"


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with its own way of doing things, and short limits."""
    with updater_installed(cluster) as running:
        yield running


@pytest.fixture
def lab(installation: Installation, kube: Kube) -> Iterator[Lab]:
    """Two empty nodes and a namespace; afterwards everything runs still, within its rights."""
    wait_for_empty_nodes(kube)
    lab = Lab(kube, installation)
    yield lab
    lab.assert_well()


def allocatable_millicores(kube: Kube, node: str) -> int:
    """Return the CPU that a node has for pods."""
    return Quantity.parse(text_at(kube.read("node", node), "status", "allocatable", "cpu")).milli_value()


def ask_beyond(lab: Lab, name: str, cpu: str, reason: str) -> JsonObject:
    """Ask for a resize of a workload's pod beside the updater, and wait until the kubelet calls it so."""
    lab.kube.resize(name_of(lab.only_pod(name)), "main", {"requests": {"cpu": cpu}})

    def told() -> JsonObject | None:
        pod = lab.only_pod(name)
        return pod if pending_reason(pod) == reason else None

    return lab.kube.wait_for(told, f"the kubelet's {reason}")


def test_what_the_kubelet_defers_for_too_long_moves_to_a_node_with_room(lab: Lab) -> None:
    """Rows updater:D-26, beyond:B-20, beyond:B-25."""
    lab.block(SMALL, "1000m")
    (old,) = lab.deploy("mover", Workload(prefers=SMALL))
    assert node_of(old) == SMALL
    deferred = ask_beyond(lab, "mover", "1000m", "Deferred")
    since = time_at(condition(deferred, "PodResizePending"), "lastTransitionTime")
    lab.recommend("mover", "1000m")

    new = lab.wait_for_replacement("mover", old, timeout_seconds=DEFERRED_SECONDS + 30.0)
    assert (node_of(new), asked_of(new)) == (OTHER, "1")
    assert text_at(new, "metadata", "annotations", "vpaUpdates"), "admission gave it the recommendation"
    (eviction,) = lab.calls("eviction")
    assert (eviction.name, eviction.code) == (name_of(old), 201)
    # The condition's time has whole seconds.
    limit = timedelta(seconds=DEFERRED_SECONDS)
    assert limit - timedelta(seconds=1) <= eviction.at - since <= limit + timedelta(seconds=TWO_ROUNDS_SECONDS)
    assert {t.reason for t in lab.decisions(name_of(old)) if t.action == "wait"} == {"resize_pending"}
    assert lab.calls("resize") == []


def test_a_pod_takes_the_room_there_is_and_moves_for_the_rest(lab: Lab) -> None:
    """Rows beyond:B-24, beyond:B-25: the kubelet never has to defer anything."""
    lab.block(SMALL, "1000m")
    (old,) = lab.deploy("mover", Workload(prefers=SMALL))
    with lab.watching() as seen:
        lab.recommend("mover", "1000m")
        part = lab.wait_until_given("mover", {"cpu": "500m"})
        assert (node_of(part), uid_of(part)) == (SMALL, uid_of(old))
        blocked = lab.wait_for_condition("mover", "ResizeBlocked")
        assert "500m cpu missing" in text_at(blocked, "message")
        new = lab.wait_for_replacement("mover", old, timeout_seconds=DEFERRED_SECONDS + 30.0)
    assert (node_of(new), asked_of(new)) == (OTHER, "1")
    assert not [pod for now in seen.instants() for pod in now.values() if pending_reason(pod)]
    assert [entry.code for entry in lab.calls("resize")] == [200]
    assert [entry.code for entry in lab.calls("eviction")] == [201]
    lab.wait_for_no_condition("mover", "ResizeBlocked")


def test_room_that_comes_in_time_is_used_and_nothing_evicted(lab: Lab) -> None:
    """Rows updater:D-26, beyond:B-24; one pod waits at the kubelet, the other one is held back by the updater."""
    lab.block(SMALL, "1400m")
    (held,) = lab.deploy("held", Workload(prefers=SMALL))
    (waiting,) = lab.deploy("waiting", Workload(prefers=SMALL))
    ask_beyond(lab, "waiting", "700m", "Deferred")
    lab.recommend("waiting", "700m")
    lab.recommend("held", "800m")
    lab.wait_for_reason(held, "no_room")
    lab.wait_for_reason(waiting, "resize_pending")
    assert lab.calls("resize") == []

    lab.kube.delete("deployment", "blocker")
    lab.wait_until_given("waiting", {"cpu": "700m"})
    lab.wait_until_given("held", {"cpu": "800m"})
    after = lab.wait_for_rounds(held, int(DEFERRED_SECONDS / INTERVAL_SECONDS) + 2)
    assert {t.action for t in after} == {"skip"}
    assert [uid_of(lab.only_pod(name)) for name in ("held", "waiting")] == [uid_of(held), uid_of(waiting)]
    assert lab.calls("eviction") == []
    assert [entry.name for entry in lab.calls("resize")] == [name_of(held)]


def test_what_no_node_can_take_gets_what_fits_and_stays(lab: Lab) -> None:
    """Rows beyond:B-24 (precedence), beyond:B-25, beyond:B-41."""
    (old,) = lab.deploy("giant", Workload(prefers=OTHER))
    lab.recommend("giant", "3900m")
    whole_node = allocatable_millicores(lab.kube, OTHER)
    lab.wait_until_given("giant", {"cpu": str(whole_node // 1000)})
    told = lab.wait_for_reason(old, "resize_blocked", timeout_seconds=DEFERRED_SECONDS + 30.0)
    assert f"{3900 - whole_node}m cpu missing on node node1" in told.detail
    lab.wait_for_rounds(old, 2)
    blocked = lab.wait_for_condition("giant", "ResizeBlocked")
    assert text_at(blocked, "reason") == "ResizeBlocked"
    assert name_of(old) in text_at(blocked, "message")
    assert uid_of(lab.only_pod("giant")) == uid_of(old)
    assert lab.calls("eviction") == []
    assert [entry.code for entry in lab.calls("resize")] == [200]


def test_what_the_kubelet_calls_infeasible_is_given_back_where_no_node_can_take_it(lab: Lab) -> None:
    """Rows beyond:B-24 (precedence), beyond:B-28; in profile upstream such a pod is evicted (see test_eviction)."""
    (old,) = lab.deploy("giant", Workload(prefers=OTHER))
    ask_beyond(lab, "giant", "3900m", "Infeasible")
    lab.recommend("giant", "3900m")
    lab.wait_for_reason(old, "claim_released")

    def settled() -> JsonObject | None:
        pod = lab.only_pod("giant")
        return pod if asked_of(pod) == "50m" and not pending_reason(pod) else None

    lab.kube.wait_for(settled, "the claim to be given back")
    lab.wait_for_condition("giant", "ResizeBlocked")
    told = lab.wait_for_rounds(old, 3)
    assert {(t.action, t.reason) for t in told} == {("skip", "resize_blocked")}
    assert uid_of(lab.only_pod("giant")) == uid_of(old)
    assert lab.calls("eviction") == []
    assert [entry.code for entry in lab.calls("resize")] == [200]


def test_pods_of_one_node_never_ask_for_more_than_it_has_together(lab: Lab) -> None:
    """Rows beyond:B-24, updater K-9: both would fit alone, and both are decided in one round."""
    wanted = amounts("200m", "16Mi", limit_cpu="8", limit_memory="32Mi")
    pods = lab.deploy("twins", Workload(wanted, replicas=2, prefers=SMALL))
    assert {node_of(pod) for pod in pods} == {SMALL}
    most = allocatable_millicores(lab.kube, SMALL)
    with lab.watching() as seen:
        lab.recommend("twins", "1000m")

        def is_full() -> bool:
            return sum(held_millicores(pod) for pod in lab.kube.pods("app=twins")) == most

        lab.kube.wait_for(is_full, "the node to be full", timeout_seconds=30.0)
        lab.wait_for_rounds(pods[0], 2)
    sums = [sum(map(held_millicores, now.values())) for now in seen.instants() if len(now) == len(pods)]
    assert max(sums) == most
    assert not [pod for now in seen.instants() for pod in now.values() if pending_reason(pod)]
    assert sorted(map(asked_of, lab.kube.pods("app=twins"))) == ["1", "500m"]
    assert sorted(entry.name for entry in lab.calls("resize")) == sorted(map(name_of, pods))
    assert lab.calls("eviction") == []
