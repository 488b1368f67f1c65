"""A kubelet or an updater that restarts in the middle of a resize, and a quota that only the API server knows of.

The updater sends every resize at once here, whatever room there is, so that the kubelet defers its resizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, condition, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Installation
from e2e.updater_lab import (
    INTERVAL_SECONDS,
    TWO_ROUNDS_SECONDS,
    Lab,
    Workload,
    asked_of,
    name_of,
    node_of,
    pending_reason,
    time_at,
    uid_of,
    updater_installed,
    wait_for_empty_nodes,
)
from e2e.workloads import amounts

NODE = "node2"
# Longer than both restarts take, so that the times to tell apart are apart.
LIMIT_SECONDS = 35
PATIENT: JsonObject = {"minReplicas": 1, "inPlaceDeferredTimeoutSeconds": LIMIT_SECONDS}
# The kubelet looks at what it finds changed half a minute after its start.
BLIND_SECONDS = 31.0


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel without looking at room and quotas before a call."""
    switches = "--behaviour=free_room=false,limit_range_and_quota=false"
    with updater_installed(cluster, switches) as running:
        yield running


@pytest.fixture
def lab(installation: Installation, kube: Kube) -> Iterator[Lab]:
    """Two empty nodes and a namespace; afterwards everything runs still, within its rights."""
    wait_for_empty_nodes(kube)
    yield Lab(kube, installation)
    assert installation.ended() == []


def wait_for_call(lab: Lab) -> datetime:
    """Wait for the updater's first resize, and return when it was sent."""

    def sent() -> datetime | None:
        calls = lab.calls("resize")
        return calls[0].at if calls else None

    return lab.kube.wait_for(sent, "the resize", timeout_seconds=20.0)


def test_a_resize_over_a_restart_of_the_kubelet_is_neither_sent_again_nor_given_up(lab: Lab) -> None:
    """Rows beyond:B-45, resize R53: the kubelet shows no condition before it looks at what it finds changed."""
    (old,) = lab.deploy("steady", Workload(prefers=NODE))

    def ask_while_the_kubelet_is_down() -> None:
        lab.recommend("steady", "300m")
        wait_for_call(lab)

    with lab.watching() as seen:
        lab.cluster.restart_kubelet(NODE, meanwhile=ask_while_the_kubelet_is_down)
        pod = lab.wait_until_given("steady", {"cpu": "300m"}, timeout_seconds=BLIND_SECONDS + 15.0)
        lab.wait_for_rounds(pod, 2)
    assert uid_of(pod) == uid_of(old)
    shown = [(looks_done(pod), shown_of(pod)) for now in seen.instants() for pod in now.values()]
    assert any(is_blind for is_blind, _ in shown), f"conditions told of the resize all the time: {shown}"
    (call,) = lab.calls("resize")
    assert call.code == 200
    assert lab.calls("eviction") == []
    told = [t.reason for t in lab.decisions(name_of(old))]
    waiting = [reason for reason in told[told.index("outside_bounds") + 1 :] if reason == "resize_pending"]
    assert len(waiting) >= BLIND_SECONDS / INTERVAL_SECONDS - 3, told


def looks_done(pod: JsonObject) -> bool:
    """Say whether no condition tells of a pod's resize, although its container does not have what it asks for."""
    in_force, asked, conditions = shown_of(pod)
    return not conditions and in_force != asked


def shown_of(pod: JsonObject) -> tuple[str, str, list[str]]:
    """Return what CPU a pod's container has, what it asks for, and which conditions tell of a resize."""
    in_force = text_at(pod, "status", "containerStatuses", 0, "resources", "requests", "cpu")
    kinds = ("PodResizePending", "PodResizeInProgress")
    return in_force, asked_of(pod), [kind for kind in kinds if condition(pod, kind) is not None]


def test_the_limit_counts_from_the_request_through_restarts_of_updater_and_kubelet(
    lab: Lab, installation: Installation
) -> None:
    """Rows beyond:B-20, updater K-1, K-32: the kubelet's own time of the condition begins anew."""
    lab.block(NODE, "1000m")
    (old,) = lab.deploy("mover", Workload(prefers=NODE, settings=PATIENT))
    lab.recommend("mover", "1000m")
    requested = wait_for_call(lab)
    lab.kube.wait_for(
        lambda: is_noted_and_deferred(lab.only_pod("mover")), "the updater's note and the kubelet's Deferred"
    )
    lab.wait_for_reason(old, "resize_pending")

    with installation.without("updater"):
        lab.cluster.restart_kubelet(NODE, pause_seconds=8.0)
        renewed = lab.kube.wait_for(lambda: renewed_since(lab, requested), "the condition's new time")
    new = lab.wait_for_replacement("mover", old, timeout_seconds=LIMIT_SECONDS + 20.0)
    assert node_of(new) != NODE
    (eviction,) = lab.calls("eviction")
    waited = eviction.at - requested
    limit = timedelta(seconds=LIMIT_SECONDS)
    assert limit <= waited <= limit + timedelta(seconds=TWO_ROUNDS_SECONDS)
    assert eviction.at < renewed + limit, "by the condition's time it would have had longer"
    assert len(lab.calls("resize")) == 1


def is_noted_and_deferred(pod: JsonObject) -> bool:
    """Say whether a pod's resize is deferred and the pod says since when it has been asked for."""
    noted = text_at(pod, "metadata", "annotations", "evenkeel.dev/resize-requested")
    return bool(noted) and pending_reason(pod) == "Deferred"


def renewed_since(lab: Lab, requested: datetime) -> datetime | None:
    """Return the time of the pod's condition once it is some seconds later than the request."""
    told = time_at(condition(lab.only_pod("mover"), "PodResizePending"), "lastTransitionTime")
    return told if told - requested > timedelta(seconds=TWO_ROUNDS_SECONDS) else None


def test_a_refusal_by_a_quota_evicts_nothing(lab: Lab) -> None:
    """Rows beyond:B-21, updater K-3: the API server refuses, and what it refused is not asked for again at once."""
    lab.kube.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "memory"},
            "spec": {"hard": {"limits.memory": "100Mi"}},
        }
    )
    resources = amounts("50m", "32Mi", limit_cpu="8", limit_memory="64Mi")
    (old,) = lab.deploy("tight", Workload(resources, controlled=("memory",), keeps_ratio=True))
    lab.recommend("tight", "50m", "64Mi")
    lab.wait_for_reason(old, "quota_would_block")
    lab.wait_for_condition("tight", "QuotaWouldBlock")
    lab.wait_for_rounds(old, 2)
    assert [(entry.name, entry.code) for entry in lab.calls("resize")] == [(name_of(old), 403)]
    assert lab.calls("eviction") == []
    assert uid_of(lab.only_pod("tight")) == uid_of(old)
