"""What the two installations put on a cluster."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.autoscaler import autoscaler_schema
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Schema
from tests.manifests.rendering import (
    DROP_IN,
    INSTALLATIONS,
    MANIFESTS,
    OWN,
    container,
    of_kind,
    reference,
    rendered,
    rendered_text,
    texts,
)
from tests.manifests.structural import as_list, as_object, at

_PROCESSES = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")
# What other programs than the API server read: Prometheus, promtool, kube-state-metrics and a Collector.
_PLAIN = {
    MANIFESTS / "monitoring" / name
    for name in ("rules.yaml", "rules.test.yaml", "kube-state-metrics.yaml", "collector.yaml")
}
# What lies in the chart is for helm, and mostly no YAML before helm has read it.
EXAMPLES = MANIFESTS / "examples"
_FILES = sorted(path for path in {*MANIFESTS.rglob("*.yaml")} - _PLAIN if MANIFESTS / "helm" not in path.parents)
_FOLDERS = sorted(str(path.parent.relative_to(MANIFESTS)) for path in MANIFESTS.rglob("kustomization.yaml"))

_EVERY_DEPLOYMENT = pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder in INSTALLATIONS for name in _PROCESSES]
)


def _deployment(folder: str, name: str) -> Schema:
    return of_kind(folder, "Deployment")[name]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_every_file_holds_objects(path: Path) -> None:
    documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    assert documents
    assert all({"apiVersion", "kind"} <= set(document) for document in documents)


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_folder_renders(folder: str) -> None:
    references = [reference(item) for item in rendered(folder)]
    assert references
    assert len(references) == len(set(references))


def test_what_others_read_is_there() -> None:
    assert all(path.is_file() for path in _PLAIN)


def test_every_file_is_in_some_folder_that_renders() -> None:
    """A file that no kustomization names would be forgotten silently."""
    named = {"kustomization.yaml"}
    for path in MANIFESTS.rglob("kustomization.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        named |= {str(path.parent / entry) for entry in content["resources"]}
        named |= {str(path.parent / entry["path"]) for entry in content.get("patches", []) if "path" in entry}
    manifests = {path for path in _FILES if path.name != "kustomization.yaml"}
    assert {str(path) for path in manifests if path.parent not in {EXAMPLES, EXAMPLES / "kind"}} <= named


def test_the_own_installation_brings_its_definitions() -> None:
    found = of_kind(OWN, "CustomResourceDefinition")
    assert {name.split(".", 1)[0] for name in found} == set(definitions(ApiGroup.EVENKEEL))
    for name, definition in found.items():
        assert definition["spec"] == definitions(ApiGroup.EVENKEEL)[name.split(".", 1)[0]]["spec"]


def test_the_drop_in_leaves_upstreams_definitions_alone() -> None:
    assert of_kind(DROP_IN, "CustomResourceDefinition") == {}
    assert len(of_kind("crd/upstream-group", "CustomResourceDefinition")) == 2


@pytest.mark.parametrize("folder", INSTALLATIONS)
def test_namespaces(folder: str) -> None:
    namespaces = of_kind(folder, "Namespace")
    assert set(namespaces) == {"evenkeel-system"}
    labels = as_object(at(namespaces["evenkeel-system"], "metadata", "labels"))
    levels = {key.rsplit("/", 1)[1]: value for key, value in labels.items() if key.startswith("pod-security")}
    assert levels == {
        "enforce": "restricted",
        "enforce-version": "latest",
        "audit": "restricted",
        "audit-version": "latest",
        "warn": "restricted",
        "warn-version": "latest",
    }
    elsewhere = {reference(item)[1] for item in rendered(folder)} - {"", "evenkeel-system"}
    assert elsewhere == (set() if folder == OWN else {"kube-system"})


_ARGUMENTS = [
    (
        "product:2",
        OWN,
        "evenkeel-recommender",
        [
            "--leader-elect",
            "--leader-elect-resource-name=evenkeel-recommender",
            "--leader-elect-resource-namespace=$(NAMESPACE)",
        ],
    ),
    (
        "product:2",
        OWN,
        "evenkeel-updater",
        [
            "--leader-elect",
            "--leader-elect-resource-name=evenkeel-updater",
            "--leader-elect-resource-namespace=$(NAMESPACE)",
            "--admission-controller-status-lease-name=evenkeel-admission-controller",
            "--admission-controller-status-lease-namespace=$(NAMESPACE)",
        ],
    ),
    (
        "product:3",
        OWN,
        "evenkeel-admission-controller",
        [
            "--reload-cert",
            "--status-lease-name=evenkeel-admission-controller",
            "--status-lease-namespace=$(NAMESPACE)",
            "--webhook-service=evenkeel-webhook",
            "--webhook-timeout-seconds=10",
        ],
    ),
    (
        "api:5",
        DROP_IN,
        "evenkeel-recommender",
        [
            "--api-group=autoscaling.k8s.io",
            "--leader-elect",
            "--leader-elect-resource-name=vpa-recommender-lease",
            "--leader-elect-resource-namespace=kube-system",
        ],
    ),
    (
        "api:5",
        DROP_IN,
        "evenkeel-updater",
        [
            "--api-group=autoscaling.k8s.io",
            "--leader-elect",
            "--leader-elect-resource-name=vpa-updater",
            "--leader-elect-resource-namespace=kube-system",
            "--admission-controller-status-lease-name=vpa-admission-controller",
            "--admission-controller-status-lease-namespace=kube-system",
        ],
    ),
    (
        "api:5",
        DROP_IN,
        "evenkeel-admission-controller",
        [
            "--api-group=autoscaling.k8s.io",
            "--reload-cert",
            "--status-lease-name=vpa-admission-controller",
            "--status-lease-namespace=kube-system",
            "--webhook-service=vpa-webhook",
            "--webhook-timeout-seconds=10",
        ],
    ),
]


@pytest.mark.parametrize(("row", "folder", "name", "arguments"), _ARGUMENTS)
def test_arguments(row: str, folder: str, name: str, arguments: list[str]) -> None:
    process = container(_deployment(folder, name))
    assert process["command"] == [name], row
    assert process["args"] == arguments
    assert process["env"] == [{"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]


@_EVERY_DEPLOYMENT
def test_a_pod_meets_the_restricted_standard(folder: str, name: str) -> None:
    pod = as_object(at(_deployment(folder, name), "spec", "template", "spec"))
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(_deployment(folder, name))["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)
    volumes = map(as_object, as_list(pod.get("volumes", [])))
    assert {key for volume in volumes for key in volume} <= {"name", "secret", "emptyDir"}


@_EVERY_DEPLOYMENT
def test_a_pod_has_its_account_image_and_bounds(folder: str, name: str) -> None:
    deployment = _deployment(folder, name)
    pod = as_object(at(deployment, "spec", "template", "spec"))
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == (name, True)
    process = container(deployment)
    assert process["image"] == "evenkeel:dev"
    assert set(as_object(at(process, "resources", "requests"))) == {"cpu", "memory"}
    # A CPU limit would throttle admission when many pods start at once.
    assert set(as_object(at(process, "resources", "limits"))) == {"memory"}


_METRICS_PORTS = {"evenkeel-recommender": 8942, "evenkeel-updater": 8943, "evenkeel-admission-controller": 8944}


@_EVERY_DEPLOYMENT
def test_probes_ask_the_metrics_port(folder: str, name: str) -> None:
    process = container(_deployment(folder, name))
    ports = {at(port, "name"): at(port, "containerPort") for port in as_list(process["ports"])}
    webhook = {"webhook": 8000} if name == "evenkeel-admission-controller" else {}
    assert ports == {"metrics": _METRICS_PORTS[name], **webhook}
    assert at(process, "livenessProbe", "httpGet") == {"path": "/health-check", "port": "metrics"}
    assert at(process, "readinessProbe", "httpGet") == {"path": "/readyz", "port": "metrics"}


@_EVERY_DEPLOYMENT
def test_two_replicas_one_of_which_may_go(folder: str, name: str) -> None:
    deployment = _deployment(folder, name)
    assert at(deployment, "spec", "replicas") == 2
    labels = as_object(at(deployment, "spec", "template", "metadata", "labels"))
    selector = {"matchLabels": {"app.kubernetes.io/name": name}}
    assert labels["app.kubernetes.io/name"] == name
    assert at(deployment, "spec", "selector") == selector
    (constraint,) = as_list(at(deployment, "spec", "template", "spec", "topologySpreadConstraints"))
    assert at(constraint, "labelSelector") == selector
    budget = of_kind(folder, "PodDisruptionBudget")[name]
    assert budget["spec"] == {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": selector,
    }


@pytest.mark.parametrize(
    ("row", "folder", "webhook"), [("product:2", OWN, "evenkeel-webhook"), ("api:5", DROP_IN, "vpa-webhook")]
)
def test_services(row: str, folder: str, webhook: str) -> None:
    """Spec: admission:3.14."""
    services = of_kind(folder, "Service")
    assert set(services) == {webhook, *_PROCESSES}, row
    spec = as_object(services[webhook]["spec"])
    assert spec["selector"] == {"app.kubernetes.io/name": "evenkeel-admission-controller"}
    assert spec["ports"] == [{"name": "webhook", "port": 443, "targetPort": "webhook"}]
    for name in _PROCESSES:
        assert services[name]["spec"] == {
            "clusterIP": "None",
            "selector": {"app.kubernetes.io/name": name},
            "ports": [{"name": "metrics", "port": _METRICS_PORTS[name], "targetPort": "metrics"}],
        }


@pytest.mark.parametrize(
    ("row", "folder", "secret"), [("product:2", OWN, "evenkeel-tls-certs"), ("api:5", DROP_IN, "vpa-tls-certs")]
)
def test_certificates_come_from_a_secret_that_is_shipped_empty(row: str, folder: str, secret: str) -> None:
    shipped = of_kind(folder, "Secret")
    assert set(shipped) == {secret}, row
    assert not {"data", "stringData"} & set(shipped[secret])
    deployment = _deployment(folder, "evenkeel-admission-controller")
    volumes = {at(volume, "name"): volume for volume in as_list(at(deployment, "spec", "template", "spec", "volumes"))}
    assert at(volumes["certificates"], "secret") == {"secretName": secret, "defaultMode": 0o440}
    assert at(volumes["memory"], "emptyDir", "medium") == "Memory"
    mounts = {at(mount, "name"): at(mount, "mountPath") for mount in as_list(container(deployment)["volumeMounts"])}
    assert mounts == {"certificates": "/etc/tls-certs", "memory": "/tmp"}


def test_the_drop_in_does_not_mention_the_own_group() -> None:
    assert "autoscaling.evenkeel.dev" not in rendered_text(DROP_IN)
    assert "autoscaling.k8s.io" not in rendered_text(OWN)


def test_both_installations_have_the_same_objects_but_for_names() -> None:
    kinds = [
        sorted(str(item["kind"]) for item in rendered(folder) if item["kind"] != "CustomResourceDefinition")
        for folder in INSTALLATIONS
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", sorted((MANIFESTS / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_follow_the_schema(path: Path) -> None:
    example = as_object(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert (example["apiVersion"], example["kind"]) == ("autoscaling.evenkeel.dev/v1", "VerticalPodAutoscaler")
    jsonschema.validate(example, autoscaler_schema(strict=True))
    fields = as_object(at(autoscaler_schema(strict=True), "properties", "spec", "properties"))
    assert set(texts(list(as_object(example["spec"])))) <= set(fields)
