"""Beside upstream's own recommender on one real node, on the same workload at the same time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster import binaries
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, Installation, installed, vpa
from e2e.test_resize import POLICY
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

_SAME_FLAGS = ("--recommender-interval=10s", "--pod-recommendation-min-memory-mb=100")
# One bucket is 5 % wide; the two engines do not fetch at the same moment.
_ONE_BUCKET = 1.06
_MOST_CPU = text_at(POLICY, "maxAllowed", "cpu")


@pytest.fixture(scope="module")
def side_by_side(cluster: Cluster) -> Iterator[tuple[Kube, Installation]]:
    """Our recommender and upstream's, each serving a VPA of its own for one burning pod."""
    kube = Kube(cluster, "side-by-side")
    cluster.kubectl("create", "namespace", kube.namespace)
    peer = binaries.build("vpa") / "vpa-recommender"
    try:
        with installed(cluster, Group.UPSTREAM, Flags(recommender=_SAME_FLAGS)) as installation:
            kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
            resources = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
            kube.apply(deployment("burn", container(BURN_SCRIPT, resources)))
            kube.wait_for_pods("app=burn")
            kube.apply(served_by("ours"), served_by("peer"))
            flags = ["--recommender-name=peer", "--address=:8952", f"--kubeconfig={cluster.kubeconfig}"]
            process = cluster.start_process("vpa-recommender", [str(peer), *_SAME_FLAGS, *flags])
            try:
                yield kube, installation
            finally:
                cluster.stop_process(process)
    finally:
        kube.delete("namespace", kube.namespace, wait=False)


def served_by(name: str) -> JsonObject:
    """Return a VPA for the burning pod that only recommends, for the recommender of one side."""
    scaler = vpa(Group.UPSTREAM, "burn", [POLICY])
    scaler["metadata"] = {"name": name}
    spec = scaler["spec"]
    assert isinstance(spec, dict)
    spec["updatePolicy"] = {"updateMode": "Off"}
    if name != "ours":
        spec["recommenders"] = [{"name": name}]
    return scaler


def recommended(kube: Kube, name: str) -> JsonObject:
    """Return the recommendation of one side for the one container, based on use that was seen."""
    status = kube.read(Group.UPSTREAM.resource, name)
    entries = objects_at(status, "status", "recommendation", "containerRecommendations")
    assert len(entries) == 1, f"{name} has no recommendation yet"
    assert at(entries[0], "target", "cpu") == _MOST_CPU, f"{name} has not seen the burning yet"
    return entries[0]


def test_both_recommend_the_same(side_by_side: tuple[Kube, Installation], capsys: pytest.CaptureFixture[str]) -> None:
    kube, installation = side_by_side
    kube.wait_for(lambda: recommended(kube, "peer"), "upstream's recommendation", timeout_seconds=90)
    kube.wait_for(lambda: recommended(kube, "ours"), "our recommendation", timeout_seconds=90)

    def alike() -> tuple[JsonObject, JsonObject]:
        ours, theirs = recommended(kube, "ours"), recommended(kube, "peer")
        assert at(ours, "target") == at(theirs, "target") == {"cpu": _MOST_CPU, "memory": "100Mi"}
        assert at(ours, "upperBound") == at(theirs, "upperBound")
        assert at(ours, "uncappedTarget", "memory") == at(theirs, "uncappedTarget", "memory")
        cpu = sorted(Quantity.parse(text_at(side, "uncappedTarget", "cpu")).milli_value() for side in (ours, theirs))
        assert cpu[1] <= cpu[0] * _ONE_BUCKET, f"uncapped CPU {cpu}"
        return ours, theirs

    ours, theirs = kube.wait_for(alike, "two recommendations that agree", timeout_seconds=60)
    assert installation.ended() == []
    with capsys.disabled():
        print(f"\nburn, ours:     {ours}\nburn, upstream: {theirs}")
