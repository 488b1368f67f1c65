"""The Helm chart without helm: its values, their schema, the definitions it carries; e2e/test_chart.py renders it."""

from __future__ import annotations

import copy
import json
import re
import tomllib

import jsonschema
import pytest
import yaml

from evenkeel.crd.schema import Json, Schema
from tests.manifests.rendering import MANIFESTS, OWN, container, of_kind
from tests.manifests.structural import as_list, as_object, at

CHART = MANIFESTS / "helm" / "evenkeel"
VALUES = as_object(yaml.safe_load((CHART / "values.yaml").read_text()))
SCHEMA = as_object(json.loads((CHART / "values.schema.json").read_text()))
TEMPLATES = "".join(file.read_text() for file in sorted((CHART / "templates").iterdir()))
_PROCESSES = {
    "recommender": "evenkeel-recommender",
    "updater": "evenkeel-updater",
    "admissionController": "evenkeel-admission-controller",
}


def _with(path: str, value: Json) -> Schema:
    """The default values, one of them replaced or added."""
    *folders, name = path.split(".")
    values = copy.deepcopy(VALUES)
    as_object(at(values, *folders))[name] = value
    return values


def test_the_defaults_are_valid() -> None:
    """Spec: product:9."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("apiGroup", "autoscaling.k8s.io"),
        ("image.digest", f"sha256:{64 * 'a'}"),
        ("admissionController.webhookTimeoutSeconds", 1),
        ("admissionController.webhookTimeoutSeconds", 30),
        ("recommender.replicas", 0),
        ("updater.extraArgs", ["--min-replicas=1", "-v=4"]),
        ("updater.resources", {"requests": {"cpu": 1, "memory": "1Gi"}}),
    ],
)
def test_values_that_are_meant_are_taken(path: str, value: Json) -> None:
    jsonschema.validate(_with(path, value), SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("apiGroup", "autoscaling"),
        ("replicas", 2),
        ("image.tag", ""),
        ("image.digest", "sha256:ab"),
        ("image.pullPolicy", "Sometimes"),
        ("admissionController.webhookTimeoutSeconds", 0),
        ("admissionController.webhookTimeoutSeconds", 31),
        ("recommender.webhookTimeoutSeconds", 10),
        ("recommender.replicas", -1),
        ("recommender.replicas", "2"),
        ("updater.extraArgs", ["min-replicas=1"]),
        ("updater.extraArgs", "--min-replicas=1"),
        ("updater.resources", {"request": {}}),
        ("crds.create", True),
    ],
)
def test_a_mistake_in_a_value_is_refused(path: str, value: Json) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_with(path, value), SCHEMA)


def test_every_value_is_used_and_has_a_place_in_the_schema() -> None:
    shared = as_object(at(SCHEMA, "definitions", "process", "properties"))
    for name, content in VALUES.items():
        assert name in as_object(SCHEMA["properties"])
        if name not in _PROCESSES:
            for path in [f"{name}.{key}" for key in content] if isinstance(content, dict) else [name]:
                assert re.search(rf"\.Values\.{re.escape(path)}\b", TEMPLATES), f"{path} is not used"
            continue
        assert set(as_object(content)) <= set(shared) | {"webhookTimeoutSeconds"}
        assert all(re.search(rf"\$?\.?values\.{key}\b", TEMPLATES) for key in as_object(content)), name


@pytest.mark.parametrize("name", _PROCESSES)
def test_the_defaults_are_those_of_the_manifests(name: str) -> None:
    deployment = of_kind(OWN, "Deployment")[_PROCESSES[name]]
    assert at(VALUES, name, "replicas") == at(deployment, "spec", "replicas")
    assert at(VALUES, name, "resources") == container(deployment)["resources"]
    assert container(deployment)["image"] == f"{at(VALUES, 'image', 'repository')}:{at(VALUES, 'image', 'tag')}"


def test_the_definitions_are_those_of_the_manifests() -> None:
    """A chart can read no file outside of itself."""
    folder = MANIFESTS / "crd"
    shipped = [str(file) for file in as_list(yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"])]
    assert sorted(file.name for file in (CHART / "definitions").iterdir()) == sorted(shipped)
    for name in shipped:
        copied = (CHART / "definitions" / name).read_text()
        assert copied == (folder / name).read_text(), (
            f"copy manifests/crd/{name} to manifests/helm/evenkeel/definitions"
        )


def test_no_definition_has_what_a_template_would_be() -> None:
    assert not [file for file in (CHART / "definitions").iterdir() if "{{" in file.read_text()]


def test_the_version_is_that_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((MANIFESTS.parent / "pyproject.toml").read_text())["project"]
    assert (chart["version"], chart["appVersion"]) == (project["version"], project["version"])
    assert chart["description"] == project["description"]
