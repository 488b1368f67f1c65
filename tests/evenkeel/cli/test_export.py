"""``evenkeel export`` against the embedded API server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.server import ApiServer
from tests.embedded import Json, recommended_status, vpa_object
from tests.evenkeel.cli.running import evenkeel

RESOURCES = {"requests": {"cpu": "250m", "memory": "150Mi"}, "limits": {"cpu": "500m", "memory": "300Mi"}}


def deployment(name: str) -> Json:
    given = {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}}
    container = {"name": "main", "image": "i", "resources": given}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


@pytest.fixture
def web(server: ApiServer) -> ApiServer:
    for name in ("web", "api"):
        server.store.create(deployment(name))
        server.store.create(vpa_object(name, status=recommended_status("250m", "150Mi")))
    return server


def test_patches(web: ApiServer, cluster: str) -> None:
    """beyond:B-38."""
    answer = evenkeel("export", cluster)
    assert answer.status == 0, answer.errors
    api, web_patch = yaml.safe_load_all(answer.output)
    assert (api["metadata"]["name"], web_patch["metadata"]) == ("api", {"name": "web", "namespace": "default"})
    assert web_patch["spec"]["template"]["spec"]["containers"] == [{"name": "main", "resources": RESOURCES}]


def test_nothing_in_the_cluster_is_changed(web: ApiServer, cluster: str) -> None:
    """beyond:B-38."""
    web.requests.clear()
    evenkeel("export", cluster, "--format", "kustomize")
    assert {call.verb for call in web.requests.calls()} == {"get", "list"}


def test_one_vpa_as_json(web: ApiServer, cluster: str) -> None:
    document = evenkeel("export", "web", cluster, "-o", "json").document
    assert isinstance(document, list)
    assert [patch["metadata"]["name"] for patch in document] == ["web"]


def test_a_component_in_a_folder(web: ApiServer, cluster: str, tmp_path: Path) -> None:
    """beyond:B-38."""
    folder = tmp_path / "a" / "sizes"
    answer = evenkeel("export", cluster, "--format", "kustomize", "--directory", str(folder))
    assert answer.status == 0, answer.errors
    component = yaml.safe_load((folder / "kustomization.yaml").read_text())
    paths = [patch["path"] for patch in component["patches"]]
    assert paths == ["default_apps_deployment_api.yaml", "default_apps_deployment_web.yaml"]
    assert all(yaml.safe_load((folder / path).read_text())["kind"] == "Deployment" for path in paths)
    assert str(folder / "kustomization.yaml") in answer.output


@pytest.mark.parametrize(
    ("form", "files"), [("helm", ["values.yaml"]), ("patches", ["default_apps_deployment_web.yaml"])]
)
def test_files(web: ApiServer, cluster: str, tmp_path: Path, form: str, files: list[str]) -> None:
    evenkeel("export", "web", cluster, "--format", form, "--directory", str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files


def test_helm_values_and_the_table(web: ApiServer, cluster: str) -> None:
    """beyond:B-38."""
    values = yaml.safe_load(evenkeel("export", cluster, "--format", "helm").output)
    assert values["web"] == {"main": {"resources": RESOURCES}}
    table = evenkeel("export", "web", cluster, "-o", "table").output.splitlines()
    assert table[1].split() == ["default", "Deployment/web", "main", "cpu", "request", "100m", "250m"]


def test_what_cannot_be_exported_is_named(web: ApiServer, cluster: str) -> None:
    web.store.create(vpa_object("early"))
    web.store.create(deployment("early"))
    web.store.create(vpa_object("lost", status=recommended_status("1", "1Gi")))
    answer = evenkeel("export", cluster)
    assert answer.status == 1
    assert len(list(yaml.safe_load_all(answer.output))) == 2
    assert "VerticalPodAutoscaler default/early: has no recommendation yet" in answer.errors
    assert "VerticalPodAutoscaler default/lost: Deployment lost: not found" in answer.errors


WRONG = [
    (("wbe",), 1, "VerticalPodAutoscaler wbe: not found in namespace default; did you mean web?"),
    (("--format", "helm", "--helm-key", "resources"), 2, "--helm-key resources: container main"),
    (("--format", "toml"), 2, "toml"),
    (("--directory", "/proc/none"), 1, "--directory /proc/none: cannot be written"),
]


@pytest.mark.parametrize(("words", "status", "said"), WRONG)
def test_wrong_usage(web: ApiServer, cluster: str, words: tuple[str, ...], status: int, said: str) -> None:
    answer = evenkeel("export", *words, cluster)
    assert answer.status == status
    assert said in answer.errors
