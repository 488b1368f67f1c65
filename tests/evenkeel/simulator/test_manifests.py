"""The shipped manifests as a simulated cluster reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.api.fields import child, text
from evenkeel.simulator.manifests import read_manifests
from tests.manifests.rendering import OWN, reference, rendered


def test_the_shipped_manifests_are_read_as_kubectl_renders_them() -> None:
    found = {reference(one): one for one in read_manifests().objects}  # type: ignore[arg-type]
    wanted = {reference(one): one for one in rendered(OWN)}
    assert set(found) == set(wanted)
    for key, one in wanted.items():
        assert folded(found[key]) == folded(one), key


def folded(value: object) -> object:
    """A document without the line breaks that Kustomize adds to long texts."""
    if isinstance(value, dict):
        return {key: folded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [folded(inner) for inner in value]
    return " ".join(value.split()) if isinstance(value, str) else value


def test_namespaces_come_first() -> None:
    assert text(read_manifests().objects[0], "kind") == "Namespace"


def test_the_programs_are_run_as_their_deployments_say() -> None:
    programs = read_manifests().programs
    assert set(programs) == {"recommender", "updater", "admission"}
    updater = programs["updater"]
    assert updater.name == updater.service_account == "evenkeel-updater"
    assert updater.namespace == "evenkeel-system"
    assert "--leader-elect" in updater.arguments
    assert "--leader-elect-resource-namespace=evenkeel-system" in updater.arguments, "$(NAMESPACE) is filled in"


def test_common_labels_reach_every_object() -> None:
    for one in read_manifests().objects:
        assert child(one, "metadata", "labels")["app.kubernetes.io/part-of"] == "evenkeel"


def test_a_folder_without_manifests_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"kustomization\.yaml: No such file.*run from a checkout"):
        read_manifests(tmp_path)


def test_what_needs_kustomize_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\npatches: []\nnamePrefix: x-\n")
    with pytest.raises(ConfigurationError, match="namePrefix, patches needs kubectl kustomize"):
        read_manifests(tmp_path)


def test_an_unknown_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [d.yaml]\n")
    (tmp_path / "d.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: n}\n"
        "spec: {template: {spec: {containers: [{name: c, command: [other]}]}}}\n"
    )
    with pytest.raises(
        ConfigurationError, match=r"Deployment n/d: command \['other'\] is none of evenkeel-recommender"
    ):
        read_manifests(tmp_path)
