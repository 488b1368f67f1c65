"""Fallback to eviction: a resize that the node cannot do ends in one eviction, and the replacement is admitted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, Installation, installed, recommendation, vpa
from e2e.workloads import IDLE_SCRIPT, amounts, container, deployment

# Short enough for a test, long enough to see that a Deferred pod is waited for first.
_DEFERRED_SECONDS = 20

UPSTREAM_WAY = Flags(
    all=("--profile=upstream",),
    recommender=("--recommender-interval=10s",),
    updater=("--updater-interval=5s", f"--in-place-deferred-timeout={_DEFERRED_SECONDS}s"),
    admission=("--status-lease-update-interval=2s",),
)


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel deciding as upstream does."""
    with installed(cluster, Group.OWN, UPSTREAM_WAY) as running:
        yield running


def deploy(kube: Kube, name: str, target_cpu: str) -> JsonObject:
    """Deploy one small idle pod with a recommendation that no recommender of ours touches; return the pod."""
    policy: JsonObject = {"containerName": "*", "controlledValues": "RequestsOnly", "controlledResources": ["cpu"]}
    scaler = vpa(Group.OWN, name, [policy], minReplicas=1)
    spec = scaler["spec"]
    assert isinstance(spec, dict)
    spec["recommenders"] = [{"name": "by-hand"}]
    resources = amounts("50m", "32Mi", limit_cpu="8", limit_memory="64Mi")
    kube.apply(deployment(name, container(IDLE_SCRIPT, resources)), scaler)
    pod = kube.wait_for_pods(f"app={name}")[0]
    kube.patch(
        Group.OWN.resource, name, recommendation("main", target_cpu, "32Mi"), subresource="status", style="merge"
    )
    return pod


def wait_for_replacement(kube: Kube, name: str, old_uid: str) -> JsonObject:
    """Wait until the one pod of a workload is another one."""

    def replaced() -> JsonObject | None:
        pods = kube.pods(f"app={name}")
        assert len(pods) == 1, f"{len(pods)} pods"
        return pods[0] if text_at(pods[0], "metadata", "uid") != old_uid else None

    return kube.wait_for(replaced, "the replacement", timeout_seconds=_DEFERRED_SECONDS + 60.0)


def pending_reason(kube: Kube, name: str) -> str:
    """Return why the kubelet has not taken the resize up, empty if it has nothing to say."""
    conditions = at(kube.read("pod", name), "status", "conditions")
    found = [c for c in conditions if at(c, "type") == "PodResizePending"] if isinstance(conditions, list) else []
    return text_at(found[0], "reason") if found else ""


def assert_one_eviction(installation: Installation, kube: Kube, old: str, new: JsonObject, cpu: str) -> None:
    """Check the outcome: one eviction of the old pod, told by events, and the new one with the new request."""
    evictions = [e for e in installation.requests() if e.subresource == "eviction" and e.namespace == kube.namespace]
    assert [(e.name, e.code) for e in evictions] == [(old, 201)]
    assert [e.type for e in kube.events(old, "EvictedByVPA")] == ["Normal"]
    assert at(new, "spec", "containers", 0, "resources", "requests", "cpu") == cpu
    assert text_at(new, "metadata", "annotations", "vpaUpdates")
    assert installation.ended() == []
    assert installation.forbidden() == []


@pytest.mark.smoke
def test_infeasible_is_evicted_once(installation: Installation, kube: Kube) -> None:
    old = deploy(kube, "giant", "3900m")
    name, uid = text_at(old, "metadata", "name"), text_at(old, "metadata", "uid")
    new = wait_for_replacement(kube, "giant", uid)
    tried = {e.code for e in installation.requests() if e.subresource == "resize" and e.namespace == kube.namespace}
    is_refused = kube.cluster.release.refuses_beyond_node
    assert tried == ({403} if is_refused else {200}), "updater:D-25, updater:D-29: a resize was tried first"
    assert bool(kube.events(name, "InPlaceResizedByVPA")) is not is_refused
    assert_one_eviction(installation, kube, name, new, "3900m")
    assert text_at(new, "status", "phase") == "Pending", "no node has room for it"


def test_deferred_past_the_limit_is_evicted_once(installation: Installation, kube: Kube) -> None:
    # Something else already has a share of each node, so this target fits a whole node but not what is free of it.
    blockers = deployment(
        "blocker", container(IDLE_SCRIPT, amounts("400m", "16Mi", limit_cpu="1", limit_memory="32Mi"))
    )
    kube.apply(blockers)
    kube.patch("deployment", "blocker", {"spec": {"replicas": 4}})
    kube.wait_for_pods("app=blocker", 4)
    old = deploy(kube, "large", "1400m")
    name, uid = text_at(old, "metadata", "name"), text_at(old, "metadata", "uid")
    kube.wait_for(lambda: pending_reason(kube, name) == "Deferred", "the kubelet's Deferred")
    assert text_at(kube.read("pod", name), "metadata", "uid") == uid, "updater:D-26: it is waited for"
    new = wait_for_replacement(kube, "large", uid)
    assert_one_eviction(installation, kube, name, new, "1400m")
