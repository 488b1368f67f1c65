"""The main job on a real node: real use, a recommendation, a resize in place, and a new pod admitted with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, Installation, installed, resources_of, restarts, vpa
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

MEBIBYTE = 2**20
# Lower bounds rise with the time that was seen, so a young pod needs most of a minute before it counts as out of range.
_RESIZE_SECONDS = 180.0

FAST = Flags(
    recommender=("--recommender-interval=10s", "--pod-recommendation-min-memory-mb=100"),
    updater=("--updater-interval=10s",),
    admission=("--status-lease-update-interval=2s",),
)
# Far less than the container burns, also where others leave it little of the machine.
POLICY: JsonObject = {
    "containerName": "*",
    "maxAllowed": {"cpu": "200m", "memory": "256Mi"},
    "controlledValues": "RequestsAndLimits",
}


@dataclass(frozen=True, slots=True)
class Burning:
    """The burn workload under a running installation."""

    kube: Kube
    installation: Installation
    group: Group


@pytest.fixture(
    scope="module",
    params=[pytest.param(Group.OWN, marks=pytest.mark.smoke), pytest.param(Group.UPSTREAM)],
    ids=lambda group: group.name.lower(),
)
def burning(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Burning]:
    """Install Evenkeel for one API group, then deploy the burn workload with its VPA."""
    group: Group = request.param
    kube = Kube(cluster, f"burn-{group.name.lower()}")
    cluster.kubectl("create", "namespace", kube.namespace)
    try:
        with installed(cluster, group, FAST) as installation:
            kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
            resources = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
            kube.apply(
                deployment("burn", container(BURN_SCRIPT, resources)), vpa(group, "burn", [POLICY], minReplicas=1)
            )
            kube.wait_for_pods("app=burn")
            yield Burning(kube, installation, group)
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


def only_pod(kube: Kube) -> JsonObject:
    """Return the one pod of the workload that is not being deleted."""
    pods = kube.pods("app=burn")
    assert len(pods) == 1, f"{len(pods)} pods"
    return pods[0]


def target_of(burning: Burning) -> JsonObject:
    """Return the recommendation of the one container."""
    found = objects_at(
        burning.kube.read(burning.group.resource, "burn"), "status", "recommendation", "containerRecommendations"
    )
    assert len(found) == 1, found
    return found[0]


def test_real_use_leads_to_a_resize_in_place(burning: Burning, capsys: pytest.CaptureFixture[str]) -> None:
    kube = burning.kube
    before = only_pod(kube)
    name, uid = text_at(before, "metadata", "name"), text_at(before, "metadata", "uid")
    assert restarts(before) == 0

    resized = kube.wait_for(
        lambda: kube.events(name, "InPlaceResizedByVPA"), "the event of the resize", timeout_seconds=_RESIZE_SECONDS
    )
    assert resized[0].source == ("evenkeel-updater" if burning.group is Group.OWN else "vpa-updater")
    kube.wait_for(lambda: kube.events(name, "ResizeCompleted"), "the kubelet's ResizeCompleted")

    def settled() -> JsonObject | None:
        pod = only_pod(kube)
        assert resources_of(pod) == ({"cpu": "200m", "memory": "100Mi"}, {"cpu": "2", "memory": "200Mi"})
        return pod

    after = kube.wait_for(settled, "requests and limits in the pod's status")
    assert text_at(after, "metadata", "uid") == uid, "it is the same pod"
    assert restarts(after) == 1, "memory is resized with a restart, and only once"
    assert text_at(after, "metadata", "annotations", "vpaInPlaceUpdated") == "true"

    identity = text_at(after, "status", "containerStatuses", 0, "containerID")
    group = kube.cluster.container_cgroup(uid, identity)
    assert (group.cpu_limit_millicores, group.memory_limit_bytes) == (2000, 200 * MEBIBYTE)

    recommended = target_of(burning)
    assert at(recommended, "target") == {"cpu": "200m", "memory": "100Mi"}
    assert at(recommended, "upperBound") == {"cpu": "200m", "memory": "256Mi"}
    uncapped = Quantity.parse(text_at(recommended, "uncappedTarget", "cpu"))
    assert Quantity.parse("200m") < uncapped, "the need that was seen is above what is allowed"
    with capsys.disabled():
        print(f"\nburn ({burning.group.value}): {recommended}, restarts {restarts(after)}")


def test_conditions_and_generation_are_written(burning: Burning) -> None:
    status = at(burning.kube.read(burning.group.resource, "burn"), "status")
    conditions = {text_at(c, "type"): text_at(c, "status") for c in objects_at(status, "conditions")}
    wanted = ("CappedBelowObservedNeed", "LowConfidence", "RecommendationProvided")
    assert conditions == dict.fromkeys(wanted, "True")
    assert at(status, "observedGeneration") == 1


def test_a_checkpoint_is_written(burning: Burning) -> None:
    checkpoint = burning.kube.wait_for(
        lambda: (
            burning.kube.find(burning.group.checkpoints, "burn-burn")
            or burning.kube.find(burning.group.checkpoints, "burn-main")
        ),
        "the checkpoint",
    )
    assert text_at(checkpoint, "spec", "vpaObjectName") == "burn"
    assert text_at(checkpoint, "status", "version") == "v3"
    weights = at(checkpoint, "status", "cpuHistogram", "bucketWeights")
    assert isinstance(weights, dict)
    assert max(w for w in weights.values() if isinstance(w, int)) == 10000


def test_a_new_pod_is_admitted_with_the_recommendation(burning: Burning) -> None:
    kube = burning.kube
    old = text_at(only_pod(kube), "metadata", "name")
    kube.delete("pod", old)

    def replaced() -> JsonObject | None:
        pod = only_pod(kube)
        return pod if text_at(pod, "metadata", "name") != old else None

    pod = kube.wait_for(replaced, "the replacement")
    spec = at(pod, "spec", "containers", 0, "resources")
    assert at(spec, "requests") == {"cpu": "200m", "memory": "100Mi"}
    assert at(spec, "limits") == {"cpu": "2", "memory": "200Mi"}
    annotations = at(pod, "metadata", "annotations")
    assert at(annotations, "vpaObservedContainers") == "main"
    updates = text_at(annotations, "vpaUpdates")
    assert updates.startswith("Pod resources updated by burn: container 0: ")
    assert updates.endswith("cpu request, memory request, cpu limit, memory limit")


def test_every_process_lives_within_its_rights(burning: Burning) -> None:
    assert burning.installation.ended() == []
    assert burning.installation.forbidden() == []
    users = {e.user.rsplit(":", 1)[1] for e in burning.installation.requests()}
    assert users == {"evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller"}
    resizes = [e for e in burning.installation.requests() if e.subresource == "resize"]
    assert {(e.verb, e.code) for e in resizes} == {("patch", 200)}
