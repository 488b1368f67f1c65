"""The committed files against the definitions they were written from."""

from __future__ import annotations

import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.crd.files import definition_files
from tests.manifests.rendering import MANIFESTS


@pytest.mark.parametrize("group", ApiGroup, ids=lambda group: group.name)
def test_the_committed_files_are_current(group: ApiGroup) -> None:
    for name, content in definition_files(group).items():
        assert (MANIFESTS / name).read_text(encoding="utf-8") == content, "run: python -m evenkeel.crd manifests"


@pytest.mark.parametrize("group", ApiGroup, ids=lambda group: group.name)
def test_a_file_says_what_the_definition_says(group: ApiGroup) -> None:
    loaded = {
        yaml.safe_load(content)["metadata"]["name"]: yaml.safe_load(content)
        for content in definition_files(group).values()
    }
    assert loaded == {f"{plural}.{group.value}": definition for plural, definition in definitions(group).items()}


def test_no_other_definition_lies_beside_them() -> None:
    written = {MANIFESTS / name for group in ApiGroup for name in definition_files(group)}
    beside = {path for path in (MANIFESTS / "crd").rglob("*.yaml") if path.name != "kustomization.yaml"}
    assert beside == written
