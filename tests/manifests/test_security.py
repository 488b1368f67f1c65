"""What the manifests give to whoever takes a process over: rights, ways through the network, and the machine below.

``test_rbac`` lists every rule and ``test_rendering`` the whole security context of pods; here is what must not be there
whatever they list. The chart makes the same objects, which e2e/test_chart.py sees to.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenkeel.crd.schema import Json, Schema
from tests.manifests.rendering import INSTALLATIONS, OWN, container, of_kind, rendered, texts
from tests.manifests.structural import as_list, as_object, at

PROCESSES = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")
_FOLDERS = (*INSTALLATIONS, "external-metrics", "prometheus")
_EVERY_PROCESS = pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder in INSTALLATIONS for name in PROCESSES]
)
_ANY_SCALE = ({"*"}, {"*/scale"}, {"get"})
_ANY_EXTERNAL_METRIC = ({"external.metrics.k8s.io"}, {"*"}, {"list"})
_DANGEROUS = {"bind", "escalate", "impersonate", "approve", "sign", "deletecollection", "proxy"}
_TAKE_OVER = {
    *("nodes/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "pods/log"),
    *("serviceaccounts", "serviceaccounts/token", "roles", "clusterroles", "rolebindings", "clusterrolebindings"),
    *("configmaps", "persistentvolumes", "validatingwebhookconfigurations", "tokenreviews"),
}


def _rules(folder: str) -> Iterator[tuple[str, Schema]]:
    """Yield the kind of a role with each of its rules."""
    for item in rendered(folder):
        if item["kind"] in {"Role", "ClusterRole"}:
            yield from ((str(item["kind"]), as_object(rule)) for rule in as_list(item["rules"]))


def _words(rule: Schema, field: str) -> set[str]:
    return set(texts(rule.get(field, [])))


@pytest.mark.parametrize("folder", _FOLDERS)
def test_nothing_is_given_by_an_asterisk(folder: str) -> None:
    """Spec: product:9; two exceptions, both for reading what has no name yet when a role is written."""
    wide = [
        tuple(_words(rule, field) for field in ("apiGroups", "resources", "verbs"))
        for _, rule in _rules(folder)
        if any(
            "*" in word
            for field in ("apiGroups", "resources", "verbs", "resourceNames")
            for word in _words(rule, field)
        )
    ]
    allowed = {"external-metrics": [_ANY_EXTERNAL_METRIC], "prometheus": []}.get(folder, 3 * [_ANY_SCALE])
    assert wide == allowed
    assert not any("nonResourceURLs" in rule for _, rule in _rules(folder))


@pytest.mark.parametrize("folder", _FOLDERS)
def test_no_right_leads_to_further_rights(folder: str) -> None:
    for _, rule in _rules(folder):
        assert not _words(rule, "verbs") & _DANGEROUS
        assert not _words(rule, "resources") & _TAKE_OVER


@pytest.mark.parametrize("folder", _FOLDERS)
def test_secrets_are_those_of_the_webhook_alone(folder: str) -> None:
    found = [(kind, rule) for kind, rule in _rules(folder) if "secrets" in _words(rule, "resources")]
    assert len(found) == (1 if folder in INSTALLATIONS else 0)
    for kind, rule in found:
        assert kind == "Role"
        assert _words(rule, "verbs") <= {"get", "update", "patch"}
        assert len(_words(rule, "resourceNames")) == 1


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_whatever_is_written_cluster_wide_is_known(folder: str) -> None:
    """Everything else that a ClusterRole gives is reading."""
    written = {
        f"{group}/{resource}"
        for kind, rule in _rules(folder)
        if kind == "ClusterRole" and _words(rule, "verbs") - {"get", "list", "watch"}
        for group in _words(rule, "apiGroups")
        for resource in _words(rule, "resources")
    }
    group = "autoscaling.evenkeel.dev" if folder == OWN else "autoscaling.k8s.io"
    assert written <= {
        f"{group}/verticalpodautoscalers/status",
        f"{group}/verticalpodautoscalercheckpoints",
        "/pods",
        "/pods/resize",
        "/pods/eviction",
        "/events",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
    }


@_EVERY_PROCESS
def test_a_container_has_no_more_of_its_machine_than_it_needs(folder: str, name: str) -> None:
    """Spec: product:9."""
    pod = as_object(at(of_kind(folder, "Deployment")[name], "spec", "template", "spec"))
    process = container(of_kind(folder, "Deployment")[name])
    assert at(pod, "securityContext", "runAsNonRoot") is True
    assert at(pod, "securityContext", "seccompProfile", "type") == "RuntimeDefault"
    assert at(process, "securityContext", "readOnlyRootFilesystem") is True
    assert at(process, "securityContext", "allowPrivilegeEscalation") is False
    assert at(process, "securityContext", "capabilities") == {"drop": ["ALL"]}
    assert "privileged" not in as_object(process["securityContext"])
    assert all("hostPort" not in as_object(port) for port in as_list(process["ports"]))
    # No secret is on a command line or in an environment, where others could see it.
    assert not [word for word in texts(process["args"]) if "password" in word or "token" in word]
    assert {str(at(entry, "name")) for entry in as_list(process["env"])} == {"NAMESPACE"}


def _ports(rule: Json) -> set[tuple[str, str]]:
    return {(str(at(port, "protocol")), str(at(port, "port"))) for port in as_list(at(rule, "ports"))}


def _peers(rule: Json, field: str) -> list[str]:
    """Return the namespaces that a rule is about; none stands for anybody."""
    found = as_list(as_object(rule).get(field, []))
    return [str(at(peer, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name")) for peer in found]


_API_SERVER: tuple[list[str], set[tuple[str, str]]] = ([], {("TCP", "443"), ("TCP", "6443")})
_SCRAPED = (["monitoring"], {("TCP", "metrics")})
_REVIEWED: tuple[list[str], set[tuple[str, str]]] = ([], {("TCP", "webhook")})


@_EVERY_PROCESS
def test_the_network_lets_through_what_is_needed_and_no_more(folder: str, name: str) -> None:
    """Spec: product:9."""
    spec = as_object(of_kind(folder, "NetworkPolicy")[name]["spec"])
    assert spec["policyTypes"] == ["Ingress", "Egress"], "what is not named is not let through"
    pods = at(of_kind(folder, "Deployment")[name], "spec", "template", "metadata", "labels")
    assert as_object(at(spec, "podSelector", "matchLabels")).items() <= as_object(pods).items()
    assert [(_peers(rule, "to"), _ports(rule)) for rule in as_list(spec["egress"])] == [_API_SERVER]
    serves = [_REVIEWED] if name == "evenkeel-admission-controller" else []
    assert [(_peers(rule, "from"), _ports(rule)) for rule in as_list(spec["ingress"])] == [_SCRAPED, *serves]


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_every_process_has_its_own_policy_and_named_ports_are_those_of_its_pod(folder: str) -> None:
    policies = of_kind(folder, "NetworkPolicy")
    assert set(policies) == set(PROCESSES) == set(of_kind(folder, "Deployment"))
    for name, policy in policies.items():
        named = {port for rule in as_list(at(policy, "spec", "ingress")) for _, port in _ports(rule)}
        ports = as_list(container(of_kind(folder, "Deployment")[name])["ports"])
        assert named == {str(at(port, "name")) for port in ports}


def test_prometheus_is_reached_by_a_policy_of_its_own() -> None:
    (policy,) = of_kind("prometheus", "NetworkPolicy").values()
    assert at(policy, "spec", "podSelector", "matchLabels") == {"app.kubernetes.io/name": "evenkeel-recommender"}
    assert at(policy, "spec", "policyTypes") == ["Egress"]
    assert [(_peers(rule, "to"), _ports(rule)) for rule in as_list(at(policy, "spec", "egress"))] == [
        (["kube-system"], {("UDP", "53"), ("TCP", "53")}),
        (["monitoring"], {("TCP", "9090")}),
    ]
