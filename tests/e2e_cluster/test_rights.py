"""Which rights an audit log shows to be used, with no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cluster.audit import AuditEntry, read
from e2e.cluster.documents import JsonObject, JsonValue
from e2e.cluster.rights import Right, granted, rights_use
from tests.manifests.rendering import INSTALLATIONS, rendered

SYSTEM = "evenkeel-system"
PATCH_PODS = Right("", "pods", "patch")
RESIZE = Right("", "pods/resize", "patch")
SCALE = Right("*", "*/scale", "get")
LEASE = Right("coordination.k8s.io", "leases", "get", "mine", SYSTEM)
MAKE_LEASE = Right("coordination.k8s.io", "leases", "create", "", SYSTEM)


@pytest.mark.parametrize(
    ("row", "right", "asked", "is_allowed"),
    [
        ("product:9 itself", PATCH_PODS, Right("", "pods", "patch", "web", "shop"), True),
        ("product:9 another verb", PATCH_PODS, Right("", "pods", "get", "web", "shop"), False),
        ("product:9 another group", PATCH_PODS, Right("metrics.k8s.io", "pods", "patch", "web", "shop"), False),
        ("product:9 a subresource", PATCH_PODS, Right("", "pods/resize", "patch", "web", "shop"), False),
        ("product:9 the subresource", RESIZE, Right("", "pods/resize", "patch", "web", "shop"), True),
        ("product:9 no subresource", RESIZE, Right("", "pods", "patch", "web", "shop"), False),
        ("product:9 any scale", SCALE, Right("example.com", "rockets/scale", "get", "one", "shop"), True),
        ("product:9 not any status", SCALE, Right("example.com", "rockets/status", "get", "one", "shop"), False),
        ("product:9 its name", LEASE, Right("coordination.k8s.io", "leases", "get", "mine", SYSTEM), True),
        ("product:9 another name", LEASE, Right("coordination.k8s.io", "leases", "get", "yours", SYSTEM), False),
        ("product:9 elsewhere", LEASE, Right("coordination.k8s.io", "leases", "get", "mine", "shop"), False),
        ("product:9 made", MAKE_LEASE, Right("coordination.k8s.io", "leases", "create", "mine", SYSTEM), True),
    ],
)
def test_what_a_right_allows(row: str, right: Right, asked: Right, is_allowed: bool) -> None:
    assert right.allows(asked) is is_allowed, row


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (RESIZE, "patch pods/resize"),
        (SCALE, "get */scale.*"),
        (LEASE, "get leases.coordination.k8s.io mine in evenkeel-system"),
    ],
)
def test_a_right_in_words(right: Right, text: str) -> None:
    assert str(right) == text


def _role(kind: str, namespace: str, name: str, *rules: JsonObject) -> JsonObject:
    return {"kind": kind, "metadata": _metadata(namespace, name), "rules": list[JsonValue](rules)}


def _binding(kind: str, namespace: str, role: tuple[str, str], *accounts: tuple[str, str]) -> JsonObject:
    subjects: list[JsonValue] = [{"kind": "ServiceAccount", "namespace": n, "name": a} for n, a in accounts]
    reference: JsonObject = {"kind": role[0], "name": role[1]}
    return {"kind": kind, "metadata": _metadata(namespace, "bound"), "roleRef": reference, "subjects": subjects}


def _metadata(namespace: str, name: str) -> JsonObject:
    return {"name": name, **({"namespace": namespace} if namespace else {})}


_PODS: JsonObject = {"apiGroups": [""], "resources": ["pods", "pods/resize"], "verbs": ["patch"]}
_ONE: JsonObject = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "resourceNames": ["mine"],
    "verbs": ["get"],
}
_ME = (SYSTEM, "me")


def test_rights_are_those_of_the_roles_that_are_bound() -> None:
    """Spec: product:9."""
    documents = [
        _role("ClusterRole", "", "pods", _PODS),
        _role("Role", SYSTEM, "lease", _ONE),
        _role("Role", "kube-system", "lease", _PODS),
        _role("ClusterRole", "", "lease", _PODS),
        _binding("ClusterRoleBinding", "", ("ClusterRole", "pods"), _ME),
        _binding("RoleBinding", SYSTEM, ("Role", "lease"), ("shop", "me"), _ME),
        _binding("RoleBinding", "kube-system", ("Role", "lease"), (SYSTEM, "you"), ("shop", "me")),
    ]
    assert granted(documents, *_ME) == {PATCH_PODS, RESIZE, LEASE}
    assert granted(documents, SYSTEM, "you") == {
        Right("", resource, "patch", "", "kube-system") for resource in ("pods", "pods/resize")
    }
    assert granted(documents, SYSTEM, "nobody") == frozenset()


def test_a_cluster_role_bound_in_a_namespace_counts_there_alone() -> None:
    documents = [
        _role("ClusterRole", "", "pods", _PODS),
        _binding("RoleBinding", "shop", ("ClusterRole", "pods"), _ME),
    ]
    assert {right.namespace for right in granted(documents, *_ME)} == {"shop"}


def test_a_binding_to_a_role_that_is_not_there_is_told() -> None:
    with pytest.raises(KeyError, match="missing"):
        granted([_binding("ClusterRoleBinding", "", ("ClusterRole", "missing"), _ME)], *_ME)


@pytest.mark.parametrize("folder", INSTALLATIONS)
@pytest.mark.parametrize("process", ["recommender", "updater", "admission-controller"])
def test_the_manifests_grant_something_to_each_process(folder: str, process: str) -> None:
    rights = granted(rendered(folder), SYSTEM, f"evenkeel-{process}")
    assert SCALE in rights
    assert any(right.resource == "verticalpodautoscalers" for right in rights)
    assert {right.resource for right in rights if right.namespace} == {"leases"} | (
        {"secrets"} if process == "admission-controller" else set()
    )


def _logged(tmp_path: Path, *documents: JsonObject) -> list[AuditEntry]:
    file = tmp_path / "audit.jsonl"
    file.write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    return list(read(file))


def _request(right: Right, code: int = 200, decision: str = "allow") -> JsonObject:
    """A request as the audit log tells it."""
    resource, _, subresource = right.resource.partition("/")
    about: JsonObject = {"apiGroup": right.group, "resource": resource, "namespace": right.namespace}
    return {
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "verb": right.verb,
        "objectRef": {**about, "subresource": subresource, "name": right.name},
        "responseStatus": {"code": code},
        "annotations": {"authorization.k8s.io/decision": decision},
    }


def test_each_right_is_counted_and_what_nobody_needed_is_named(tmp_path: Path) -> None:
    web = Right("", "pods/resize", "patch", "web", "shop")
    requests = _logged(tmp_path, _request(web), _request(web, 409), _request(LEASE, 404))
    use = rights_use([PATCH_PODS, RESIZE, SCALE, LEASE, MAKE_LEASE], requests)
    assert use.counts == {PATCH_PODS: 0, RESIZE: 2, SCALE: 0, LEASE: 1, MAKE_LEASE: 0}
    assert use.unused == (PATCH_PODS, SCALE, MAKE_LEASE)
    assert (use.refused, use.elsewhere) == ((), ())


def test_a_request_counts_for_every_right_that_allows_it(tmp_path: Path) -> None:
    wide = Right("coordination.k8s.io", "leases", "get")
    use = rights_use([LEASE, wide], _logged(tmp_path, _request(LEASE)))
    assert use.counts == {LEASE: 1, wide: 1}


def test_what_was_refused_is_told_once_and_uses_nothing(tmp_path: Path) -> None:
    refused = Right("", "secrets", "get", "other", SYSTEM)
    requests = _logged(tmp_path, _request(refused, 403, "forbid"), _request(refused, 403, "forbid"))
    assert rights_use([RESIZE], requests).refused == (refused,)
    assert rights_use([RESIZE], requests).unused == (RESIZE,)


def test_a_refusal_by_quota_is_no_want_of_a_right(tmp_path: Path) -> None:
    """The API server answers 403 there as well, but its authorizer has let the request pass."""
    web = Right("", "pods/resize", "patch", "web", "shop")
    use = rights_use([RESIZE], _logged(tmp_path, _request(web, 403)))
    assert (use.unused, use.refused) == ((), ())


def test_what_other_roles_allow_is_told(tmp_path: Path) -> None:
    review = Right("authorization.k8s.io", "selfsubjectaccessreviews", "create")
    assert rights_use([RESIZE], _logged(tmp_path, _request(review))).elsewhere == (review,)


def test_a_bare_path_is_everybodys(tmp_path: Path) -> None:
    bare: JsonObject = {"requestReceivedTimestamp": "2026-01-01T00:00:00Z", "verb": "get", "requestURI": "/apis"}
    use = rights_use([], _logged(tmp_path, bare))
    assert (use.refused, use.elsewhere) == ((), ())
