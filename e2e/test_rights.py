"""Least rights on a real API server: everything the processes do is made to happen, and the audit log tells of it.

Each right in the roles is used by then, nothing was refused, and nothing was allowed by anybody else's roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.cluster.rights import Right, RightsUse, granted, rights_use
from e2e.cluster.waiting import wait_for
from e2e.deployment import FAST, PROCESSES, WORKLOAD, await_resize, deploy_workload
from e2e.installation import MANIFESTS, NAMESPACE, Flags, Group, Installation, installed, vpa
from e2e.updater_lab import Lab, Workload
from tests.manifests.rendering import OWN, rendered

_FLAGS = Flags(
    recommender=(*FAST["evenkeel-recommender"], "--checkpoints-gc-interval=5s"),
    updater=("--updater-interval=3s", "--v=5"),
    admission=("--status-lease-update-interval=2s",),
)
_OWN = Group.OWN
_ROCKETS = "rockets.e2e.example.com"
_SECONDS = 120.0
_EXTERNAL = "external-metrics"
_EXTERNAL_FLAGS = (
    "--use-external-metrics",
    "--external-metrics-cpu-metric=e2e_cpu",
    "--external-metrics-memory-metric=e2e_memory",
)


def _any_object(description: str) -> JsonObject:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}


_DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": _ROCKETS},
    "spec": {
        "group": "e2e.example.com",
        "scope": "Namespaced",
        "names": {"plural": "rockets", "singular": "rocket", "kind": "Rocket"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _any_object("A controller of a kind that nobody knows.")},
                "subresources": {
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    }
                },
            }
        ],
    },
}
_ROCKET: JsonObject = {
    "apiVersion": "e2e.example.com/v1",
    "kind": "Rocket",
    "metadata": {"name": "rocket"},
    "spec": {"replicas": 1},
    "status": {"replicas": 1, "selector": "app=rocket"},
}


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel where nothing is left of an earlier one, so that its Leases, Secret and webhook are made anew."""
    Kube(cluster).delete("namespace", NAMESPACE)
    Kube(cluster).delete("mutatingwebhookconfiguration", _OWN.webhook_configuration)
    with installed(cluster, _OWN, _FLAGS) as running:
        yield running


@pytest.fixture(scope="module")
def kube(cluster: Cluster, installation: Installation) -> Iterator[Kube]:
    """A namespace in which everything has happened that the processes are there for."""
    kube = Kube(cluster, "e2e-rights")
    kube.delete("namespace", kube.namespace)
    cluster.kubectl("create", "namespace", kube.namespace)
    cluster.apply(_DEFINITION)
    try:
        kube.wait_for(lambda: kube.find("serviceaccount", "default"), "the default service account")
        lab = Lab(kube, installation)
        resized = deploy_workload(kube)
        for happening in (_custom_controller, _conflict, _unreadable, _other_registration):
            happening(lab)
        _eviction(lab)
        await_resize(kube, resized)
        _orphaned_checkpoint(kube)
        yield kube
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "namespace", kube.namespace)
        cluster.kubectl("delete", "--ignore-not-found", "crd", _ROCKETS)


def _custom_controller(lab: Lab) -> None:
    """A target of a kind that is known by its scale alone."""
    lab.kube.wait_for(lambda: _applied(lab.kube, _ROCKET), "the new kind to be served")
    scaler = vpa(_OWN, "rocket", [])
    spec = scaler["spec"]
    assert isinstance(spec, dict)
    spec["targetRef"] = {"apiVersion": "e2e.example.com/v1", "kind": "Rocket", "name": "rocket"}
    lab.kube.apply(scaler)


def _applied(kube: Kube, document: JsonObject) -> bool:
    """Apply an object of a kind that is not served at once after its definition."""
    if kube.cluster.kubectl("api-resources", "--api-group=e2e.example.com", "-o", "name").split() != [_ROCKETS]:
        return False
    kube.apply(document)
    return True


def _conflict(lab: Lab) -> None:
    """Two VPAs on one target, which both are told by a condition."""
    lab.deploy("twice", Workload())
    second = Workload().documents("twice")[1]
    second["metadata"] = {"name": "twice-more"}
    lab.kube.apply(second)
    lab.wait_for_condition("twice", "TargetConflict", timeout_seconds=_SECONDS)


def _unreadable(lab: Lab) -> None:
    """A VPA that the API server takes and nobody can read; its owner is told, and told again when it is so again."""
    lab.kube.apply(vpa(_OWN, "odd", []))
    lab.recommend("odd", "1e999")
    told_by = {"evenkeel-recommender", "evenkeel-updater"}

    def told(count: int) -> bool:
        counts = {event.source: event.count for event in lab.kube.events("odd", "InvalidObject")}
        assert {source for source, seen in counts.items() if seen >= count} == told_by, counts
        return True

    lab.kube.wait_for(partial(told, 1), "word of the odd VPA", timeout_seconds=_SECONDS)
    lab.recommend("odd", "1")
    lab.recommend("odd", "1e999")
    lab.kube.wait_for(partial(told, 2), "the same word again", timeout_seconds=_SECONDS)


def _other_registration(lab: Lab) -> None:
    """Somebody changes the webhook's registration, which is changed back."""

    def timeout() -> object:
        (webhook,) = objects_at(lab.kube.read("mutatingwebhookconfiguration", _OWN.webhook_configuration), "webhooks")
        return webhook["timeoutSeconds"]

    wanted = timeout()
    other: JsonObject = {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}
    lab.kube.patch("mutatingwebhookconfiguration", _OWN.webhook_configuration, [other], style="json")
    lab.kube.wait_for(lambda: timeout() == wanted, "the registration as it was", timeout_seconds=_SECONDS)


def _eviction(lab: Lab) -> None:
    """A pod that is sized by its replacement."""
    (old,) = lab.deploy("moved", Workload(mode="Recreate"))
    lab.recommend("moved", "150m")
    new = lab.wait_for_replacement("moved", old, timeout_seconds=_SECONDS)
    assert at(new, "spec", "containers", 0, "resources", "requests", "cpu") == "150m"


def _orphaned_checkpoint(kube: Kube) -> None:
    """A checkpoint whose VPA goes."""

    def names() -> list[str]:
        found = [text_at(each, "metadata", "name") for each in kube.objects(_OWN.checkpoints)]
        return [name for name in found if name.startswith(f"{WORKLOAD}-")]

    kube.wait_for(names, "a checkpoint", timeout_seconds=_SECONDS)
    kube.delete(_OWN.resource, WORKLOAD)
    kube.wait_for(lambda: not names(), "the end of the orphan", timeout_seconds=_SECONDS)


def _use_of(installation: Installation, process: str, *folders: str) -> RightsUse:
    """Tell how a process has used what the objects of folders below ``manifests/`` let it do."""
    user = f"system:serviceaccount:{NAMESPACE}:{process}"
    requests = [entry for entry in installation.requests() if entry.user == user]
    documents = [document for folder in folders for document in rendered(folder)]
    return rights_use(granted(documents, NAMESPACE, process), requests)


def _texts(rights: tuple[Right, ...]) -> list[str]:
    return [str(right) for right in rights]


@pytest.mark.parametrize("process", PROCESSES)
def test_every_right_is_used_and_none_is_missing(kube: Kube, installation: Installation, process: str) -> None:
    """Spec: product:9."""
    assert kube.namespace

    def used() -> RightsUse:
        use = _use_of(installation, process, OWN)
        assert not use.unused, f"not used: {_texts(use.unused)}"
        return use

    use = wait_for(used, _SECONDS, f"every right of {process} to be used", every_seconds=3)
    assert not _texts(use.refused)
    assert not _texts(use.elsewhere), "allowed by other roles"
    assert installation.ended() == []


def test_external_metrics_need_one_right_more_and_use_it(kube: Kube, installation: Installation) -> None:
    """Spec: recommender:8.2, product:9; nobody serves such metrics here, which the authorizer does not know."""
    optional = Right("external.metrics.k8s.io", "*", "list")
    deploy_workload(kube)
    kube.cluster.kubectl("apply", "--server-side", "-k", str(MANIFESTS / _EXTERNAL))
    try:
        with installation.otherwise("recommender", *_FLAGS.recommender, *_EXTERNAL_FLAGS):

            def used() -> RightsUse:
                use = _use_of(installation, "evenkeel-recommender", OWN, _EXTERNAL)
                assert use.counts[optional], "no question yet"
                return use

            use = wait_for(used, _SECONDS, "a question for external metrics", every_seconds=1)
            assert not _texts(use.refused)
            assert not _texts(use.elsewhere), "allowed by other roles"
    finally:
        kube.cluster.kubectl("delete", "-k", str(MANIFESTS / _EXTERNAL))
