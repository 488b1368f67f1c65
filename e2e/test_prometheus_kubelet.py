"""Usage and history of real containers: a real Prometheus scrapes the real kubelets, and the recommender asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from autoscaling.quantity import Quantity
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, condition, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, Installation, define, installed, vpa
from e2e.prometheus.kubelets import ADDRESS, scraping
from e2e.prometheus.programs import find_programs
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

_LIMIT_MILLICORES = 300
_LEAST_SHARE = 0.5
"""Of its limit that the container gets at least, however busy the machine is."""

_LEAST_READINGS = 5
"""So many that at least two lie in one of the half minutes that history is read by, wherever these begin."""

_SETTLING_SECONDS = 120.0
_LABELS = ("--container-pod-name-label=pod", "--container-name-label=container")
_ASKS = ("--recommender-interval=5s", f"--prometheus-address={ADDRESS}", *_LABELS)
_HISTORY = ("--storage=prometheus", "--history-length=10m", "--history-resolution=30s")


@pytest.fixture
def burning(cluster: Cluster, kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A container that burns what it may, seen by Prometheus for long enough; yields its pod's name."""
    with scraping(cluster, find_programs(), tmp_path_factory.mktemp("prometheus")) as scraper:
        resources = amounts("50m", "32Mi", limit_cpu=f"{_LIMIT_MILLICORES}m", limit_memory="64Mi")
        kube.apply(deployment("burn", container(BURN_SCRIPT, resources)))
        (pod,) = kube.wait_for_pods("app=burn")
        name = text_at(pod, "metadata", "name")
        scraper.follow(kube, "app=burn")

        def is_seen() -> bool:
            used = scraper.used_millicores(kube, name)
            assert used is not None, "nothing is seen"
            assert used > _LEAST_SHARE * _LIMIT_MILLICORES, f"{used:.0f}m are used"
            readings = scraper.readings(kube, name)
            assert readings >= _LEAST_READINGS, f"{readings} readings"
            return True

        kube.wait_for(is_seen, "the burning container in Prometheus", timeout_seconds=_SETTLING_SECONDS)
        yield name


def recommended_millicores(kube: Kube) -> int | None:
    """Return the CPU target of the one container, None as long as there is none."""
    found = objects_at(kube.read(Group.OWN.resource, "burn"), "status", "recommendation", "containerRecommendations")
    target = text_at(found[0], "target", "cpu") if found else ""
    return Quantity.parse(target).milli_value() if target else None


def assert_near_use(kube: Kube, installation: Installation) -> None:
    """Check that the target is what is used and the margin of 15 %, in buckets of 5 %."""
    least = _LEAST_SHARE * _LIMIT_MILLICORES

    def is_near() -> bool:
        target = recommended_millicores(kube)
        assert target is not None, "nothing is recommended"
        assert least < target <= 1.35 * _LIMIT_MILLICORES, f"{target}m are recommended"
        return True

    kube.wait_for(is_near, "a target near the use", timeout_seconds=_SETTLING_SECONDS)
    assert installation.ended() == []
    assert installation.forbidden() == []


def scaler() -> JsonObject:
    return vpa(Group.OWN, "burn", [], updateMode="Off")


def test_usage_is_what_the_kubelet_counts(cluster: Cluster, kube: Kube, burning: str) -> None:
    """Spec: beyond:B-44, recommender:7."""
    with installed(cluster, Group.OWN, Flags(recommender=("--usage-source=prometheus", *_ASKS))) as running:
        kube.apply(scaler())
        assert_near_use(kube, running)
        shown = kube.read(Group.OWN.resource, "burn")
        assert condition(shown, "UsageFallback") is None, json.dumps(shown["status"])
    assert [text_at(pod, "metadata", "name") for pod in kube.pods("app=burn")] == [burning]


@pytest.mark.parametrize(
    "way",
    [
        ("--profile=evenkeel",),
        ("--profile=upstream", '--metric-for-pod-labels=up{job="kubernetes-pods"}[8d]'),
    ],
    ids=["evenkeel", "upstream"],
)
def test_history_is_what_the_kubelet_has_counted(
    cluster: Cluster, kube: Kube, burning: str, way: tuple[str, ...]
) -> None:
    """Of a pod that has gone before the recommender starts, so that nothing else can tell of it.

    Spec: recommender:7, beyond:B-7.
    """
    kube.run("scale", "deployment", "burn", "--replicas=0")
    kube.run("wait", "--for=delete", f"pod/{burning}", "--timeout=60s")
    define(cluster, Group.OWN)
    kube.apply(scaler())
    with installed(cluster, Group.OWN, Flags(recommender=(*way, *_HISTORY, *_ASKS))) as running:
        assert_near_use(kube, running)
        assert "history loaded" in cluster.logs("evenkeel-recommender", lines=400)
