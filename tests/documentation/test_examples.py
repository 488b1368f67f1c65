"""Examples in pages are what they seem to be: YAML and JSON, overlays that render, objects and values that fit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Json, Schema
from tests.documentation.pages import ROOT, Page, guides
from tests.evenkeel.crd.offline import refused_fields
from tests.manifests.structural import as_list, as_object, at

PAGES = guides()
EXAMPLES = [(page, text) for page in PAGES for language, text in page.blocks if language == "yaml"]
OVERLAYS = [(page.name, text) for page, text in EXAMPLES if "kind: Kustomization" in text]
AUTOSCALERS = [(page.name, text) for page, text in EXAMPLES if "kind: VerticalPodAutoscaler" in text]
VALUES = [(page.name, text) for page, text in EXAMPLES if "extraArgs:" in text]
_PATCH = re.compile(r"--patch '([^']*)'")
PATCHES = [(page, found) for page in PAGES for line in page.lines_of_code for found in _PATCH.findall(line)]


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=lambda value: value.name if isinstance(value, Page) else "")
def test_an_example_is_yaml(page: Page, text: str) -> None:
    assert yaml.safe_load(text), page.name


@pytest.mark.parametrize(("page", "text"), OVERLAYS)
def test_an_overlay_beside_the_manifests_renders(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text(text)
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run([str(kubectl), "kustomize", str(overlay)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), page
    arguments = re.findall(r"value: (--[^\s}]+)", text)
    assert [flag for flag in arguments if flag not in done.stdout] == []


@pytest.mark.parametrize(("page", "text"), AUTOSCALERS)
def test_an_autoscaler_is_one_that_the_definition_takes(page: str, text: str) -> None:
    schema = at(definitions(ApiGroup.EVENKEEL)["verticalpodautoscalers"], "spec", "versions", 0, "schema")
    found: Json = yaml.safe_load(text)
    assert refused_fields(as_object(at(schema, "openAPIV3Schema")), found) == set(), page
    assert as_object(found)["apiVersion"] == "autoscaling.evenkeel.dev/v1"


@pytest.mark.parametrize(("page", "text"), VALUES)
def test_values_are_those_that_the_chart_has(page: str, text: str) -> None:
    chart = ROOT / "manifests" / "helm" / "evenkeel"
    schema = as_object(json.loads((chart / "values.schema.json").read_text()))
    values = as_object(yaml.safe_load((chart / "values.yaml").read_text()))
    given = as_object(yaml.safe_load(text))
    merged: Schema = {
        **values,
        **{name: {**as_object(values[name]), **as_object(of_one)} for name, of_one in given.items()},
    }
    jsonschema.validate(merged, schema)
    assert jsonschema.Draft202012Validator(schema).is_valid({**merged, "updaters": {}}) is False, page


@pytest.mark.parametrize(("page", "text"), PATCHES, ids=lambda value: value.name if isinstance(value, Page) else "")
def test_a_patch_is_json(page: Page, text: str) -> None:
    found: Json = json.loads(text)
    if isinstance(found, list):
        assert all({"op", "path"} <= set(as_object(step)) for step in as_list(found)), page.name


def test_there_are_examples_of_each() -> None:
    assert all((OVERLAYS, AUTOSCALERS, VALUES, PATCHES))
