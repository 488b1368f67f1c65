"""The manifests against what the processes themselves expect: their flags, and the names that go with an API group."""

from __future__ import annotations

import pytest

from admission.config import AdmissionConfig
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from evenkeel.crd.schema import Schema
from recommender.config import RecommenderConfig
from tests.manifests.rendering import DROP_IN, OWN, container, of_kind, reference, rendered, texts
from tests.manifests.structural import as_list, as_object
from updater.config import UpdaterConfig

_NAMESPACE = "evenkeel-system"
_INSTALLATIONS = pytest.mark.parametrize(
    ("row", "folder", "group"),
    [("product:2", OWN, ApiGroup.EVENKEEL), ("product:2", DROP_IN, ApiGroup.UPSTREAM)],
)


def _arguments(folder: str, name: str) -> list[str]:
    process = container(of_kind(folder, "Deployment")[name])
    return [argument.replace("$(NAMESPACE)", _NAMESPACE) for argument in texts(process["args"])]


@_INSTALLATIONS
def test_the_recommender_understands_its_arguments(row: str, folder: str, group: ApiGroup) -> None:
    config = RecommenderConfig.from_command_line(_arguments(folder, "evenkeel-recommender"), {"NAMESPACE": _NAMESPACE})
    names = cluster_names(group)
    assert (config.api_group, config.leader_elect) == (group, True), row
    assert config.leader_elect_resource_name == names.recommender_lease
    assert config.leader_elect_resource_namespace == names.namespace
    assert config.warnings() == ()


@_INSTALLATIONS
def test_the_updater_understands_its_arguments(row: str, folder: str, group: ApiGroup) -> None:
    config = UpdaterConfig.from_command_line(_arguments(folder, "evenkeel-updater"), {"NAMESPACE": _NAMESPACE})
    names = cluster_names(group)
    assert (config.api_group, config.leader_elect) == (group, True), row
    assert config.leader_elect_resource_name == names.updater_lease
    assert config.leader_elect_resource_namespace == names.namespace
    assert config.admission_controller_status_lease_name == names.status_lease
    assert config.admission_controller_status_lease_namespace == names.namespace
    assert config.warnings() == ()


@_INSTALLATIONS
def test_the_admission_controller_understands_its_arguments(row: str, folder: str, group: ApiGroup) -> None:
    arguments = _arguments(folder, "evenkeel-admission-controller")
    config = AdmissionConfig.from_command_line(arguments, {"NAMESPACE": _NAMESPACE})
    names = cluster_names(group)
    assert config.api_group is group, row
    assert (config.status_lease_name, config.status_lease_namespace) == (names.status_lease, names.namespace)
    assert (config.webhook_service, config.service_namespace) == (names.webhook_service, _NAMESPACE)
    assert config.webhook_timeout_seconds == 10
    assert config.reload_cert
    assert config.warnings() == ()


@_INSTALLATIONS
def test_the_shared_objects_have_the_groups_names(row: str, folder: str, group: ApiGroup) -> None:
    names = cluster_names(group)
    assert names.webhook_service in of_kind(folder, "Service"), row
    assert set(of_kind(folder, "Secret")) == {names.webhook_secret}


@_INSTALLATIONS
def test_rights_are_on_the_groups_names_where_they_lie(row: str, folder: str, group: ApiGroup) -> None:
    """Every name a right is narrowed to, with the namespace it is in; the other group's webhook may only be read."""
    names = cluster_names(group)
    other = next(cluster_names(entry) for entry in ApiGroup if entry is not group)
    expected = {
        ("", names.webhook_configuration, "get patch"),
        ("", other.webhook_configuration, "get"),
        (names.namespace, names.recommender_lease, "get update"),
        (names.namespace, names.updater_lease, "get update"),
        (names.namespace, names.status_lease, "get update"),
        (names.namespace, names.status_lease, "get"),
        (_NAMESPACE, names.certificate_lease, "get update"),
        (_NAMESPACE, names.webhook_secret, "get patch"),
    }
    assert {entry for role in rendered(folder) for entry in _narrowed(role)} == expected, row


def _narrowed(role: Schema) -> set[tuple[str, str, str]]:
    if role["kind"] not in {"Role", "ClusterRole"}:
        return set()
    return {
        (reference(role)[1], name, " ".join(texts(rule["verbs"])))
        for rule in map(as_object, as_list(role["rules"]))
        for name in texts(rule.get("resourceNames", []))
    }
