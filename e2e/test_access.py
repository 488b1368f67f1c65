"""What the manifests let each process do, asked of a real API server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from e2e.api_socket import Answer, ApiSocket, api_socket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, text_at
from tests.manifests.rendering import DROP_IN, OWN, rendered

_NAMESPACE = "evenkeel-system"
_PATIENCE_SECONDS = 60.0
_CLUSTER_WIDE = {
    "Namespace": "/api/v1/namespaces",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}
_NAMESPACED = {
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Secret": ("/api/v1", "secrets"),
    "Service": ("/api/v1", "services"),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
}
_LATER = ("Deployment", "PodDisruptionBudget", "Service", "NetworkPolicy")
"""Kinds left out of the real installation: no process is started here."""


def _path(item: JsonObject) -> str:
    kind, name = text_at(item, "kind"), text_at(item, "metadata", "name")
    if kind in _CLUSTER_WIDE:
        return f"{_CLUSTER_WIDE[kind]}/{name}"
    group, plural = _NAMESPACED[kind]
    return f"{group}/namespaces/{text_at(item, 'metadata', 'namespace')}/{plural}/{name}"


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiSocket]:
    """The API server with the own installation's accounts, rights, definitions and policy."""
    with api_socket(cluster, "access-proxy") as opened:
        # Another test may have left the other installation's rights, which add up with these.
        for item in rendered(DROP_IN):
            if item["kind"] == "RoleBinding":
                assert opened.delete(_path(item)).code in {200, 404}
        for item in rendered(OWN):
            if item["kind"] not in _LATER:
                answer = opened.apply(f"{_path(item)}?fieldManager=evenkeel&force=true", item)
                assert answer.code in {200, 201}, answer.message
        yield opened


@pytest.mark.parametrize("folder", [OWN, DROP_IN])
def test_the_server_takes_every_object_as_it_is(api: ApiSocket, folder: str) -> None:
    """Product 9; nothing is written, and no field is unknown to the server."""
    for item in rendered(folder):
        query = "fieldManager=evenkeel&force=true&dryRun=All&fieldValidation=Strict"
        answer = api.apply(f"{_path(item)}?{query}", item)
        assert answer.code in {200, 201}, answer.message


@pytest.mark.parametrize("folder", [OWN, DROP_IN])
def test_pod_security_lets_the_pods_in(api: ApiSocket, folder: str) -> None:
    """The namespace enforces the restricted standard on pods, not on Deployments; so the pods themselves are tried."""
    deployments = [item for item in rendered(folder) if item["kind"] == "Deployment"]
    assert len(deployments) == 3
    for deployment in deployments:
        metadata = {"generateName": "try-", "namespace": _NAMESPACE}
        spec = at(deployment, "spec", "template", "spec")
        pod: JsonValue = {"apiVersion": "v1", "kind": "Pod", "metadata": dict(metadata), "spec": spec}
        answer = api.post(f"/api/v1/namespaces/{_NAMESPACE}/pods?dryRun=All", pod)
        assert answer.code == 201, answer.message


def test_pod_security_keeps_a_laxer_pod_out(api: ApiSocket) -> None:
    spec: JsonObject = {"containers": [{"name": "app", "image": "local.test/busybox:1"}]}
    pod: JsonValue = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "try-"}, "spec": spec}
    assert api.post(f"/api/v1/namespaces/{_NAMESPACE}/pods?dryRun=All", pod).code == 403


@dataclass(frozen=True, slots=True)
class Question:
    """May an account do this?"""

    account: str
    verb: str
    resource: str
    namespace: str = "default"
    name: str = ""

    def attributes(self) -> JsonObject:
        """The question as an API server takes it; a resource is ``group/plural`` or ``group/plural/subresource``."""
        group, plural, *rest = self.resource.split("/")
        found = {"verb": self.verb, "group": group, "resource": plural, "namespace": self.namespace, "name": self.name}
        return {**found, "subresource": rest[0] if rest else ""}


_RECOMMENDER, _UPDATER, _ADMISSION = "evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller"
_VPAS = "autoscaling.evenkeel.dev/verticalpodautoscalers"
_CHECKPOINTS = "autoscaling.evenkeel.dev/verticalpodautoscalercheckpoints"
_LEASES = "coordination.k8s.io/leases"
_WEBHOOKS = "admissionregistration.k8s.io/mutatingwebhookconfigurations"
_EVERYBODY = (_RECOMMENDER, _UPDATER, _ADMISSION)

_YES = [
    *(Question(account, verb, _VPAS) for account in _EVERYBODY for verb in ("list", "watch")),
    *(
        Question(account, verb, resource, "")
        for account in _EVERYBODY
        for verb in ("list", "watch")
        for resource in (
            "/replicationcontrollers",
            "apps/daemonsets",
            "apps/deployments",
            "apps/replicasets",
            "apps/statefulsets",
            "batch/cronjobs",
            "batch/jobs",
        )
    ),
    *(Question(account, "get", "example.com/rockets/scale", name="one") for account in _EVERYBODY),
    Question(_RECOMMENDER, "patch", f"{_VPAS}/status"),
    *(Question(_RECOMMENDER, verb, _CHECKPOINTS) for verb in ("list", "watch", "create", "patch", "delete")),
    Question(_RECOMMENDER, "list", "metrics.k8s.io/pods", ""),
    *(
        Question(_RECOMMENDER, verb, resource, "")
        for verb in ("list", "watch")
        for resource in ("/pods", "/events", "/nodes")
    ),
    *(Question(_RECOMMENDER, verb, "/events") for verb in ("create", "patch")),
    Question(_RECOMMENDER, "create", _LEASES, _NAMESPACE),
    *(Question(_RECOMMENDER, verb, _LEASES, _NAMESPACE, _RECOMMENDER) for verb in ("get", "update")),
    *(Question(_UPDATER, verb, "/pods") for verb in ("get", "list", "watch", "patch")),
    Question(_UPDATER, "patch", "/pods/resize", name="web"),
    Question(_UPDATER, "create", "/pods/eviction", name="web"),
    *(
        Question(_UPDATER, verb, resource, "")
        for verb in ("list", "watch")
        for resource in ("/limitranges", "/nodes", "/resourcequotas", "policy/poddisruptionbudgets")
    ),
    Question(_UPDATER, "list", "metrics.k8s.io/pods", ""),
    Question(_UPDATER, "patch", f"{_VPAS}/status"),
    *(Question(_UPDATER, verb, "/events") for verb in ("create", "patch")),
    *(Question(_UPDATER, verb, _LEASES, _NAMESPACE, _UPDATER) for verb in ("get", "update")),
    Question(_UPDATER, "get", _LEASES, _NAMESPACE, _ADMISSION),
    *(Question(_ADMISSION, verb, "/limitranges", "") for verb in ("list", "watch")),
    *(Question(_ADMISSION, verb, _WEBHOOKS, "", "evenkeel-webhook-config") for verb in ("get", "patch")),
    Question(_ADMISSION, "create", _WEBHOOKS, ""),
    Question(_ADMISSION, "get", _WEBHOOKS, "", "vpa-webhook-config"),
    *(Question(_ADMISSION, verb, _LEASES, _NAMESPACE, _ADMISSION) for verb in ("get", "update")),
    *(Question(_ADMISSION, verb, _LEASES, _NAMESPACE, "evenkeel-admission-certs") for verb in ("get", "update")),
    *(Question(_ADMISSION, verb, "/secrets", _NAMESPACE, "evenkeel-tls-certs") for verb in ("get", "patch")),
]

_NO = [
    *(Question(account, verb, _VPAS) for account in _EVERYBODY for verb in ("get", "update")),
    Question(_RECOMMENDER, "get", _CHECKPOINTS),
    *(Question(account, "list", "/secrets", "") for account in _EVERYBODY),
    *(Question(account, "get", "/secrets", _NAMESPACE) for account in _EVERYBODY),
    *(Question(account, "create", _LEASES, "kube-system") for account in _EVERYBODY),
    *(Question(account, "delete", _LEASES, _NAMESPACE, account) for account in _EVERYBODY),
    *(Question(account, "update", "apps/deployments/scale", name="web") for account in _EVERYBODY),
    *(Question(account, "delete", "/pods", name="web") for account in _EVERYBODY),
    *(Question(account, "list", "/configmaps", "") for account in _EVERYBODY),
    Question(_ADMISSION, "list", "/nodes", ""),
    *(Question(account, "update", f"{_VPAS}/status") for account in _EVERYBODY),
    Question(_ADMISSION, "patch", f"{_VPAS}/status"),
    *(Question(account, "list", "autoscaling.k8s.io/verticalpodautoscalers", "") for account in _EVERYBODY),
    Question(_RECOMMENDER, "patch", "/pods", name="web"),
    Question(_RECOMMENDER, "patch", "/pods/resize", name="web"),
    Question(_RECOMMENDER, "create", "/pods/eviction", name="web"),
    Question(_RECOMMENDER, "update", _LEASES, _NAMESPACE, _UPDATER),
    Question(_UPDATER, "patch", _VPAS),
    *(Question(account, "update", "/nodes", "", "node1") for account in (_RECOMMENDER, _UPDATER)),
    Question(_UPDATER, "list", _CHECKPOINTS),
    Question(_UPDATER, "update", "/pods", name="web"),
    Question(_UPDATER, "update", _LEASES, _NAMESPACE, _ADMISSION),
    Question(_ADMISSION, "list", "/pods", ""),
    Question(_ADMISSION, "patch", "/pods", name="web"),
    Question(_ADMISSION, "patch", _WEBHOOKS, "", "vpa-webhook-config"),
    Question(_ADMISSION, "delete", _WEBHOOKS, "", "evenkeel-webhook-config"),
    Question(_ADMISSION, "update", _WEBHOOKS, "", "evenkeel-webhook-config"),
    Question(_ADMISSION, "create", "/secrets", _NAMESPACE),
    Question(_ADMISSION, "update", "/secrets", _NAMESPACE, "evenkeel-tls-certs"),
    Question(_ADMISSION, "update", _LEASES, _NAMESPACE, _UPDATER),
]


def _is_allowed(api: ApiSocket, question: Question) -> bool:
    user = f"system:serviceaccount:{_NAMESPACE}:{question.account}"
    review: JsonValue = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": question.attributes()},
    }
    answer = api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.code == 201, answer.message
    return at(answer.body, "status", "allowed") is True


@pytest.mark.parametrize("question", _YES, ids=str)
def test_what_a_process_needs_it_may(api: ApiSocket, question: Question) -> None:
    assert _is_allowed(api, question)


@pytest.mark.parametrize("question", _NO, ids=str)
def test_what_a_process_does_not_need_it_may_not(api: ApiSocket, question: Question) -> None:
    assert not _is_allowed(api, question)


_POD = "/api/v1/namespaces/default/pods/policed"
_ANNOTATIONS: JsonObject = {
    "example.com/owner": "somebody",
    "vpaObservedContainers": "app",
    "vpaCpuStartupBoost/app": "{}",
    "evenkeel.dev/resize-requested": "1",
}
_USER = f"system:serviceaccount:{_NAMESPACE}:{_UPDATER}"


@pytest.fixture(scope="module")
def policed(api: ApiSocket) -> Iterator[ApiSocket]:
    """A pod, once the policy is in force; nobody runs it."""
    pod: JsonValue = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "policed", "annotations": _ANNOTATIONS, "labels": {"app": "a"}},
        "spec": {
            "schedulerName": "nobody",
            "containers": [{"name": "app", "image": "local.test/busybox:1", "resources": {"requests": {"cpu": "10m"}}}],
        },
    }
    assert api.post("/api/v1/namespaces/default/pods", pod).code == 201
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while _as_updater(api, [_set("example.com/owner", "me")]).code == 200:
            assert time.monotonic() < deadline, "the policy does not come into force"
            time.sleep(0.2)
        yield api
    finally:
        assert api.delete(f"{_POD}?gracePeriodSeconds=0").code == 200


def _as_updater(api: ApiSocket, operations: JsonValue, path: str = _POD) -> Answer:
    return api.patch(f"{path}?dryRun=All", operations, user=_USER)


def _annotation_path(key: str) -> str:
    return f"/metadata/annotations/{key.replace('/', '~1')}"


def _set(key: str, value: str) -> JsonObject:
    return {"op": "add", "path": _annotation_path(key), "value": value}


def _drop(key: str) -> JsonObject:
    return {"op": "remove", "path": _annotation_path(key)}


def _change(path: str, value: JsonValue) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


_OWNER: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}
_TOLERATION: JsonObject = {"key": "a", "operator": "Exists"}


@pytest.mark.parametrize(
    ("row", "operations"),
    [
        ("updater:X-5", [_set("vpaInPlaceUpdated", "true")]),
        ("updater:X-5", [_set("vpaInPlaceUpdated", "true"), _drop("vpaCpuStartupBoost/app")]),
        ("beyond:B-20", [_set("evenkeel.dev/resize-requested", "2")]),
        ("beyond:B-20", [_set("evenkeel.dev/other", "2"), _drop("evenkeel.dev/resize-requested")]),
        ("updater:X-5", [_set("vpaObservedContainers", "app")]),
    ],
)
def test_the_updater_may_keep_its_annotations(policed: ApiSocket, row: str, operations: JsonValue) -> None:
    answer = _as_updater(policed, operations)
    assert answer.code == 200, f"{row}: {answer.message}"


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ([_set("example.com/owner", "me")], "may only set the annotations"),
        ([_set("example.com/new", "me")], "may only set the annotations"),
        ([_set("vpaInPlaceUpdated", "false")], "may only set the annotations"),
        ([_set("vpaObservedContainers", "")], "may only set the annotations"),
        ([_set("vpaCpuStartupBoost/app", '{"requests":{}}')], "may only set the annotations"),
        ([_set("vpaCpuStartupBoost/other", "{}")], "may only set the annotations"),
        ([_drop("example.com/owner")], "may only remove the annotations"),
        ([_drop("vpaObservedContainers")], "may only remove the annotations"),
        ([{"op": "remove", "path": "/metadata/annotations"}], "may only remove the annotations"),
        ([_change("/metadata/labels/app", "b")], "labels, owners or finalizers"),
        ([{"op": "remove", "path": "/metadata/labels"}], "labels, owners or finalizers"),
        ([_change("/metadata/ownerReferences", [_OWNER])], "labels, owners or finalizers"),
        ([_change("/metadata/finalizers", ["example.com/a"])], "labels, owners or finalizers"),
        ([_change("/spec/containers/0/image", "local.test/other:1")], "pod's spec"),
        ([_change("/spec/activeDeadlineSeconds", 1)], "pod's spec"),
        ([_change("/spec/tolerations/-", _TOLERATION)], "pod's spec"),
        ([_set("vpaInPlaceUpdated", "true"), _change("/spec/containers/0/image", "local.test/other:1")], "pod's spec"),
    ],
)
def test_the_updater_may_change_nothing_else(policed: ApiSocket, operations: JsonValue, reason: str) -> None:
    answer = _as_updater(policed, operations)
    assert answer.code == 422, answer.body
    assert "evenkeel-updater-pods" in answer.message
    assert reason in answer.message


def test_the_updater_may_resize(policed: ApiSocket) -> None:
    resize: JsonValue = [_change("/spec/containers/0/resources/requests/cpu", "20m")]
    answer = _as_updater(policed, resize, f"{_POD}/resize")
    assert (answer.code, answer.message) == (200, "")


def test_a_pod_without_annotations_gets_its_first(policed: ApiSocket) -> None:
    with _pod(policed, "bare", {}, containers=1) as path:
        first: JsonValue = [_change("/metadata/annotations", {}), _set("vpaInPlaceUpdated", "true")]
        answer = _as_updater(policed, first, path)
        assert (answer.code, answer.message) == (200, "")
        other: JsonValue = [_change("/metadata/annotations", {"a": "b"})]
        assert _as_updater(policed, other, path).code == 422


def test_the_largest_pods_are_not_too_much_for_the_policy(policed: ApiSocket) -> None:
    """The cost of an expression is bounded; going over it would keep the updater from such pods."""
    annotations: JsonObject = {f"example.com/{number}": "x" * 240 for number in range(1000)}
    with _pod(policed, "bulky", annotations, containers=200) as path:
        answer = _as_updater(policed, [_set("vpaInPlaceUpdated", "true")], path)
        assert (answer.code, answer.message) == (200, "")
        assert _as_updater(policed, [_set("example.com/999", "y")], path).code == 422


@contextmanager
def _pod(api: ApiSocket, name: str, annotations: JsonObject, *, containers: int) -> Iterator[str]:
    """The path of a pod that nobody runs."""
    image: JsonObject = {"image": "local.test/busybox:1", "env": [{"name": f"V{n}", "value": "x"} for n in range(20)]}
    pod: JsonValue = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "spec": {"schedulerName": "nobody", "containers": [{"name": f"c{n}", **image} for n in range(containers)]},
    }
    created = api.post("/api/v1/namespaces/default/pods", pod)
    assert created.code == 201, created.message
    path = f"/api/v1/namespaces/default/pods/{name}"
    try:
        yield path
    finally:
        assert api.delete(f"{path}?gracePeriodSeconds=0").code == 200


def test_others_are_not_held_by_the_policy(policed: ApiSocket) -> None:
    assert policed.patch(f"{_POD}?dryRun=All", [_set("example.com/owner", "me")]).code == 200
