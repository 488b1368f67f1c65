"""The generated page of the API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from admission.field_errors import Fault
from admission.submitted_vpa import SubmittedVpa, submitted_vpa
from admission.vpa_validation import Gates, validate
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.document_api import GATES, fields, render_api, undocumented
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Schema
from tests.manifests.structural import as_object, at, nodes

ROOT = Path(__file__).parents[3]
KINDS = ("VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint")
PAGE = render_api()
ROWS = {
    line.split("`")[1]: line for line in PAGE.split("## What the webhook")[0].splitlines() if line.startswith("| `")
}


def schema(kind: str, group: ApiGroup = ApiGroup.EVENKEEL) -> Schema:
    """Return the schema of a kind."""
    definition = definitions(group)[f"{kind.lower()}s"]
    return as_object(at(definition, "spec", "versions", 0, "schema", "openAPIV3Schema"))


def test_the_page_in_the_repository_is_current() -> None:
    assert (ROOT / "docs" / "api-reference.md").read_text() == PAGE, "run `make docs`"


@pytest.mark.parametrize("kind", KINDS)
def test_every_node_with_a_name_has_its_row(kind: str) -> None:
    """Found by another walk over the schema than the page's own."""
    part = PAGE.split(f"## {kind}\n")[1].split("\n## ")[0]
    paths = {path.removeprefix(".") for path, _ in nodes(schema(kind))}
    named = {p for p in paths if not p.endswith(("[]", "{}")) and p.split(".")[0] in {"spec", "status"}}
    assert {line.split("`")[1] for line in part.splitlines() if line.startswith("| `")} == named


@pytest.mark.parametrize("kind", KINDS)
def test_additions_to_upstreams_schema_are_marked_and_nothing_else_is(kind: str) -> None:
    theirs = {field.path for field in fields(schema(kind, ApiGroup.UPSTREAM))}
    for field in fields(schema(kind)):
        row = next(line for line in PAGE.split(f"## {kind}\n")[1].splitlines() if line.startswith(f"| `{field.path}`"))
        assert row.startswith(f"| `{field.path}` **own group** |") == (field.path not in theirs), field.path


@pytest.mark.parametrize(
    ("row", "path", "cells"),
    [
        ("api:1.1", "spec.updatePolicy.minReplicas", "`--min-replicas` of the updater (`2`) | own group: at least 1 |"),
        ("api:1.1", "spec.targetRef.kind", "| string |  | required |"),
        ("api:1.1", "spec.resourcePolicy.containerPolicies[].mode", "| string | `Auto` | one of `Auto`, `Off` |"),
        ("api:1.1", "spec.resourcePolicy.containerPolicies[].minAllowed", "| quantities by resource | no bound |"),
        ("api:1.1", "spec.startupBoost.cpu", "CEL: give factor with type Factor, and with no other type;"),
        ("api:1.1", "spec.startupBoost.cpu.durationSeconds", "| int32 | `0` |"),
        ("api:7.1", "spec.recommenders", "| own group: at most 1 entry |"),
        ("api:7.1", "spec.resourcePolicy.containerPolicies", "own group: one entry for each `containerName` |"),
        ("beyond:B-10", "spec.recommender.strategy", "**own group** | string | `vpa-default` |"),
        ("beyond:B-2", "status.runningWindows", "**own group** | list of object |"),
    ],
)  # fmt: skip
def test_type_default_and_rules_are_told(row: str, path: str, cells: str) -> None:
    assert cells in ROWS[path], row


def test_what_is_said_beside_the_schema_is_about_fields_that_there_are() -> None:
    paths = {field.path for field in fields(schema("VerticalPodAutoscaler"))}
    assert undocumented(paths) == []
    assert undocumented(paths - {"spec.startupBoost"}) == ["spec.startupBoost"]


GATES_ON = {"PerVPAConfig": Gates(per_vpa_config=True), "CPUStartupBoost": Gates(cpu_startup_boost=True)}
VALUES: dict[str, object] = {"startupBoost": {"cpu": {"type": "Factor", "factor": 2}}, "oomMinBumpUp": "1Mi"}


@pytest.mark.parametrize(("path", "gate"), GATES.items())
def test_the_webhook_asks_for_the_gate_that_the_page_names(path: str, gate: str) -> None:
    parent, _, name = path.rpartition(".")
    policy = {name: VALUES.get(name, 2)}
    of_spec: dict[str, object] = {
        "spec": policy,
        "spec.updatePolicy": {"updatePolicy": {"updateMode": "Off", **policy}},
        "spec.resourcePolicy.containerPolicies[]": {
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", **policy}]}
        },
    }
    submitted = submitted_vpa({"spec": of_spec[parent]})
    refused = validate(submitted, SubmittedVpa(), Gates()).errors
    assert [(error.path, error.fault) for error in refused] == [(path.replace("[]", "[0]"), Fault.FORBIDDEN)]
    assert validate(submitted, SubmittedVpa(), GATES_ON[gate]).errors == ()


def test_every_table_has_rows_of_as_many_cells_as_its_head() -> None:
    for part in PAGE.split("\n## ")[1:]:
        rows = [line.replace("\\|", "") for line in part.splitlines() if line.startswith("|")]
        assert len(rows) > 2
        assert len({row.count("|") for row in rows}) == 1


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    command = [sys.executable, "-m", "evenkeel.cli.document_api", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "docs" / "api-reference.md").read_text() == PAGE
