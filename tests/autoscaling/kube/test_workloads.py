"""Objects of the seven well-known kinds."""

from __future__ import annotations

import json

import msgspec
import pytest

from autoscaling.kube.workloads import WELL_KNOWN, workload_decoder
from autoscaling.matching import EVERYTHING, NOTHING, InvalidSelectorError, Selector, of_label_selector, of_labels
from autoscaling.ownership import WELL_KNOWN_KINDS
from autoscaling.placement import Placement
from autoscaling.pod import Owner
from autoscaling.resources import ContainerResources
from autoscaling.workload import Workload
from tests.builders import amounts

META = {
    "namespace": "shop",
    "name": "web",
    "uid": "u-1",
    "resourceVersion": "7",
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d-1", "controller": True},
        {"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "t-1"},
    ],
}
OWNERS = (Owner("apps/v1", "Deployment", "web", controller=True, uid="d-1"), Owner("v1", "Thing", "t", None, "t-1"))
LABELS = {"app": "web"}
LABEL_SELECTOR = {
    "matchLabels": LABELS,
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}
SELECTOR = of_label_selector(LABELS, [("tier", "In", ("a", "b")), ("old", "DoesNotExist", ())])
CRON = {"jobTemplate": {"spec": {"template": {"metadata": {"labels": LABELS}}}}}


def read(kind: str, spec: object, status: object = None) -> Workload:
    body = {"metadata": META, "spec": spec} | ({"status": status} if status is not None else {})
    key, version, workload = workload_decoder(kind)(json.dumps(body).encode())
    assert (key, version) == (("shop", "web"), "7")
    return workload


def test_the_kinds_are_the_seven() -> None:
    assert WELL_KNOWN.keys() == WELL_KNOWN_KINDS


ASKED = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}
PODS = {
    "metadata": {"labels": LABELS},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": ASKED}, {"name": "bare"}],
        "initContainers": [{"name": "init", "resources": {"limits": {"cpu": "2"}}}],
    },
}
PLACED = {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": None}}
BROKEN = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "Mi"}}}]}}


@pytest.mark.parametrize(
    "kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"]
)
def test_the_template_is_read(kind: str) -> None:
    one, other = read(kind, {"template": PODS}), read(kind, {"template": PODS, "replicas": 3})
    assert dict(one.template) == {
        "c": ContainerResources(amounts("100m"), amounts("1/1Gi")),
        "bare": ContainerResources(),
        "init": ContainerResources(None, amounts("2")),
    }, "updater:K-17"
    assert one.template is other.template, "performance:R-5"


@pytest.mark.parametrize(
    ("row", "kind", "spec"),
    [
        ("updater:K-17", "ReplicaSet", {}),
        ("updater:K-17", "ReplicationController", {}),
        ("updater:K-17", "ReplicaSet", {"template": {"spec": {}}}),
        ("updater:K-17", "ReplicaSet", {"template": {"spec": {"containers": None}}}),
        ("updater:K-17", "CronJob", {"jobTemplate": {"spec": {"template": PODS}}}),
        ("beyond:B-32", "ReplicaSet", {"template": BROKEN}),
    ],
)
def test_a_template_that_cannot_be_told_is_not_known(row: str, kind: str, spec: object) -> None:
    assert read(kind, spec).template == {}, row


@pytest.mark.parametrize(
    ("spec", "kind", "body", "status", "expected"),
    [
        ("updater:R-4", "Deployment", {"replicas": 3, "selector": LABEL_SELECTOR}, {}, (SELECTOR, 3, 0)),
        ("updater:R-4", "ReplicaSet", {"replicas": 3, "selector": LABEL_SELECTOR}, {}, (SELECTOR, 3, 0)),
        ("updater:R-4", "StatefulSet", {"replicas": 0, "selector": LABEL_SELECTOR}, {}, (SELECTOR, 0, 0)),
        ("updater:R-4", "StatefulSet", {"selector": LABEL_SELECTOR}, {}, (SELECTOR, None, 0)),
        ("updater:R-4", "ReplicationController", {"replicas": 2, "selector": LABELS}, {}, (of_labels(LABELS), 2, 0)),
        (
            "updater:R-4",
            "DaemonSet",
            {"selector": {"matchLabels": LABELS}},
            {"desiredNumberScheduled": 5, "numberReady": 4},
            (of_labels(LABELS), None, 5),
        ),
        (
            "updater:R-4",
            "Job",
            {"selector": {"matchLabels": LABELS}, "parallelism": 4},
            {},
            (of_labels(LABELS), None, 0),
        ),
        ("recommender:11.1", "CronJob", CRON, {}, (of_labels(LABELS), None, 0)),
        ("recommender:11.1", "Deployment", {}, None, (NOTHING, None, 0)),
        ("recommender:11.1", "Deployment", {"selector": {}}, None, (EVERYTHING, None, 0)),
        ("recommender:11.1", "Deployment", {"selector": None}, None, (NOTHING, None, 0)),
        ("recommender:11.1", "ReplicationController", {}, None, (NOTHING, None, 0)),
        ("recommender:11.1", "ReplicationController", {"selector": {}}, None, (NOTHING, None, 0)),
        ("recommender:11.1", "CronJob", {"jobTemplate": {"spec": {"template": {}}}}, None, (NOTHING, None, 0)),
        ("recommender:11.1", "CronJob", {}, None, (NOTHING, None, 0)),
    ],
)
def test_what_is_read(
    spec: str, kind: str, body: object, status: object, expected: tuple[Selector, int | None, int]
) -> None:
    """Spec: admission:6.7."""
    workload = read(kind, body, status)
    assert (workload.selector, workload.replicas, workload.desired_scheduled) == expected


@pytest.mark.parametrize("kind", sorted(WELL_KNOWN))
def test_what_names_and_owns_it(kind: str) -> None:
    workload = read(kind, {})
    assert (workload.kind, workload.namespace, workload.name, workload.uid) == (kind, "shop", "web", "u-1")
    assert (workload.api_version, workload.owners) == (WELL_KNOWN[kind].api_version, OWNERS)


def test_an_object_that_nobody_owns() -> None:
    body = b'{"metadata":{"namespace":"shop","name":"web","ownerReferences":null},"spec":{}}'
    assert workload_decoder("Deployment")(body)[2].owners == ()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, InvalidSelectorError),
        ({"selector": "app=web"}, msgspec.ValidationError),
        ({"replicas": "three"}, msgspec.ValidationError),
    ],
)
def test_objects_that_cannot_be_read(body: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        read("Deployment", body)


def test_other_kinds_have_no_decoder() -> None:
    with pytest.raises(KeyError):
        workload_decoder("Pod")


@pytest.mark.parametrize(
    ("row", "kind", "template", "expected"),
    [
        ("beyond:B-11", "Deployment", PLACED, Placement({"disk": "ssd"})),
        ("beyond:B-11", "StatefulSet", PLACED, Placement({"disk": "ssd"})),
        ("beyond:B-11", "DaemonSet", {"spec": {}}, Placement()),
        ("performance:R-5", "ReplicaSet", PLACED, None),
        ("beyond:B-11", "Deployment", None, None),
        ("beyond:B-32", "Deployment", {"spec": {"overhead": {"cpu": "Mi"}}}, None),
        ("beyond:B-32", "Deployment", {"spec": {"priority": "high"}}, None),
    ],
)
def test_where_the_template_lets_pods_run(row: str, kind: str, template: object, expected: Placement | None) -> None:
    spec = {"replicas": 2} if template is None else {"replicas": 2, "template": template}
    found = read(kind, spec)
    assert (found.placement, found.replicas) == (expected, 2), row
