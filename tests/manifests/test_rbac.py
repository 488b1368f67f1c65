"""Who may do what: every rule of both installations, and the policy that narrows the updater."""

from __future__ import annotations

import pytest

from evenkeel.crd.schema import Schema
from tests.manifests.rendering import DROP_IN, INSTALLATIONS, OWN, of_kind, reference, rendered, texts
from tests.manifests.structural import as_list, as_object, at

_TARGETS = {
    "replicationcontrollers: list watch",
    "apps/daemonsets: list watch",
    "apps/deployments: list watch",
    "apps/replicasets: list watch",
    "apps/statefulsets: list watch",
    "batch/cronjobs: list watch",
    "batch/jobs: list watch",
    "*/*/scale: get",
}


def _recommender(group: str) -> set[str]:
    return {
        f"{group}/verticalpodautoscalers: list watch",
        f"{group}/verticalpodautoscalers/status: patch",
        f"{group}/verticalpodautoscalercheckpoints: list watch create patch delete",
        "metrics.k8s.io/pods: list",
        "pods: list watch",
        "events: list watch create patch",
        "autoscaling/horizontalpodautoscalers: list watch",
        "nodes: list watch",
        *_TARGETS,
    }


def _updater(group: str) -> set[str]:
    return {
        f"{group}/verticalpodautoscalers: list watch",
        f"{group}/verticalpodautoscalers/status: patch",
        "pods: get list watch patch",
        "pods/resize: patch",
        "pods/eviction: create",
        "limitranges: list watch",
        "nodes: list watch",
        "resourcequotas: list watch",
        "policy/poddisruptionbudgets: list watch",
        "metrics.k8s.io/pods: list",
        "events: create patch",
        *_TARGETS,
    }


def _admission(group: str, webhook: str, other_webhook: str) -> set[str]:
    webhooks = "admissionregistration.k8s.io/mutatingwebhookconfigurations"
    return {
        f"{group}/verticalpodautoscalers: list watch",
        f"{webhooks}[{webhook}]: get patch",
        f"{webhooks}[{other_webhook}]: get",
        f"{webhooks}: create",
        "limitranges: list watch",
        *_TARGETS,
    }


_LEASES = "coordination.k8s.io/leases"
_OWN_GROUP = "autoscaling.evenkeel.dev"
_UPSTREAM_GROUP = "autoscaling.k8s.io"

_ROLES: list[tuple[str, str, str, str, set[str]]] = [
    ("product:9", OWN, "", "evenkeel-recommender", _recommender(_OWN_GROUP)),
    ("product:9", OWN, "", "evenkeel-updater", _updater(_OWN_GROUP)),
    (
        "product:9",
        OWN,
        "",
        "evenkeel-admission-controller",
        _admission(_OWN_GROUP, "evenkeel-webhook-config", "vpa-webhook-config"),
    ),
    (
        "product:2",
        OWN,
        "evenkeel-system",
        "evenkeel-recommender-leader",
        {f"{_LEASES}: create", f"{_LEASES}[evenkeel-recommender]: get update"},
    ),
    (
        "product:2",
        OWN,
        "evenkeel-system",
        "evenkeel-updater-leader",
        {
            f"{_LEASES}: create",
            f"{_LEASES}[evenkeel-updater]: get update",
            f"{_LEASES}[evenkeel-admission-controller]: get",
        },
    ),
    (
        "product:2",
        OWN,
        "evenkeel-system",
        "evenkeel-admission-controller-status",
        {f"{_LEASES}: create", f"{_LEASES}[evenkeel-admission-controller]: get update"},
    ),
    (
        "product:2",
        OWN,
        "evenkeel-system",
        "evenkeel-admission-controller-certificates",
        {
            "secrets[evenkeel-tls-certs]: get patch",
            f"{_LEASES}: create",
            f"{_LEASES}[evenkeel-admission-certs]: get update",
        },
    ),
    ("product:9", DROP_IN, "", "evenkeel-recommender", _recommender(_UPSTREAM_GROUP)),
    ("product:9", DROP_IN, "", "evenkeel-updater", _updater(_UPSTREAM_GROUP)),
    (
        "product:9",
        DROP_IN,
        "",
        "evenkeel-admission-controller",
        _admission(_UPSTREAM_GROUP, "vpa-webhook-config", "evenkeel-webhook-config"),
    ),
    (
        "api:5",
        DROP_IN,
        "kube-system",
        "evenkeel-recommender-leader",
        {f"{_LEASES}: create", f"{_LEASES}[vpa-recommender-lease]: get update"},
    ),
    (
        "api:5",
        DROP_IN,
        "kube-system",
        "evenkeel-updater-leader",
        {f"{_LEASES}: create", f"{_LEASES}[vpa-updater]: get update", f"{_LEASES}[vpa-admission-controller]: get"},
    ),
    (
        "api:5",
        DROP_IN,
        "kube-system",
        "evenkeel-admission-controller-status",
        {f"{_LEASES}: create", f"{_LEASES}[vpa-admission-controller]: get update"},
    ),
    (
        "api:5",
        DROP_IN,
        "evenkeel-system",
        "evenkeel-admission-controller-certificates",
        {
            "secrets[vpa-tls-certs]: get patch",
            f"{_LEASES}: create",
            f"{_LEASES}[evenkeel-admission-certs]: get update",
        },
    ),
]


def _rules(role: Schema) -> list[str]:
    lines: list[str] = []
    for rule in map(as_object, as_list(role["rules"])):
        assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
        names = ",".join(texts(rule.get("resourceNames", [])))
        suffix = f"[{names}]" if names else ""
        verbs = " ".join(texts(rule["verbs"]))
        lines += [
            f"{group}/{resource}{suffix}: {verbs}".removeprefix("/")
            for group in texts(rule["apiGroups"])
            for resource in texts(rule["resources"])
        ]
    return lines


def _roles(folder: str) -> dict[tuple[str, str], Schema]:
    return {reference(item)[1:]: item for item in rendered(folder) if item["kind"] in {"Role", "ClusterRole"}}


@pytest.mark.parametrize(("row", "folder", "namespace", "name", "expected"), _ROLES)
def test_rules(row: str, folder: str, namespace: str, name: str, expected: set[str]) -> None:
    """Spec: api:4."""
    rules = _rules(_roles(folder)[namespace, name])
    assert set(rules) == expected, row
    assert len(rules) == len(expected), "a rule is given twice"


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_the_table_is_complete(folder: str) -> None:
    listed = {(namespace, name) for _, where, namespace, name, _ in _ROLES if where == folder}
    assert set(_roles(folder)) == listed


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_only_the_scale_subresource_is_given_in_every_group(folder: str) -> None:
    """Spec: api:7.10."""
    wide = {rule for role in _roles(folder).values() for rule in _rules(role) if "*" in rule}
    assert wide == {"*/*/scale: get"}


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_each_role_is_bound_to_its_own_account_alone(folder: str) -> None:
    bound: set[tuple[str, str]] = set()
    accounts = of_kind(folder, "ServiceAccount")
    for binding in rendered(folder):
        if binding["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        kind, namespace, name = reference(binding)
        role_kind = kind.removesuffix("Binding")
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": name}
        assert binding["roleRef"] == role
        (subject,) = map(as_object, as_list(binding["subjects"]))
        account = str(subject["name"])
        assert subject == {"kind": "ServiceAccount", "name": account, "namespace": "evenkeel-system"}
        assert account in accounts
        assert name == account or name.startswith(f"{account}-")
        bound.add((namespace, name))
    assert bound == set(_roles(folder))


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_an_account_is_no_pods_without_being_asked_for(folder: str) -> None:
    accounts = of_kind(folder, "ServiceAccount")
    assert set(accounts) == {"evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller"}
    for account in accounts.values():
        assert account["automountServiceAccountToken"] is False


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_whoever_may_patch_pods_is_held_by_a_policy(folder: str) -> None:
    """Spec: api:7.10."""
    writers = {
        name for (_, name), role in _roles(folder).items() if any(_may_write_pods(rule) for rule in _rules(role))
    }
    assert writers == {"evenkeel-updater"}
    policy = of_kind(folder, "ValidatingAdmissionPolicy")["evenkeel-updater-pods"]
    (condition,) = as_list(at(policy, "spec", "matchConditions"))
    account = 'request.userInfo.username == "system:serviceaccount:evenkeel-system:evenkeel-updater"'
    assert at(condition, "expression") == account
    assert at(policy, "spec", "failurePolicy") == "Fail"
    assert at(policy, "spec", "matchConstraints", "resourceRules") == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
    ]
    binding = of_kind(folder, "ValidatingAdmissionPolicyBinding")["evenkeel-updater-pods"]
    assert binding["spec"] == {"policyName": "evenkeel-updater-pods", "validationActions": ["Deny"]}


def _may_write_pods(rule: str) -> bool:
    resource, _, verbs = rule.partition(": ")
    return resource == "pods" and bool({"patch", "update", "create", "delete"} & set(verbs.split()))
