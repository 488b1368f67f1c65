"""The Helm chart as helm renders it: object by object what Kustomize makes of the manifests, for both API groups."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from e2e.cluster import binaries
from e2e.cluster.commands import run
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.deployment import CHART, PROCESSES
from e2e.installation import MANIFESTS, NAMESPACE, Group
from tests.manifests.rendering import as_one_line, reference, rendered

_GROUPS = pytest.mark.parametrize("group", Group, ids=lambda group: group.name.lower())


@pytest.fixture(scope="module")
def program() -> Path:
    """The built helm."""
    return binaries.build("helm") / "helm"


def _template(program: Path, values: Mapping[str, object]) -> dict[tuple[str, str, str], JsonObject]:
    """The chart's objects by kind, namespace and name."""
    command = [str(program), "template", "evenkeel", str(CHART), f"--namespace={NAMESPACE}", "--values=-"]
    text = run(command, remedy="see the message of helm", stdin=json.dumps(values))
    documents: list[JsonObject] = [document for document in yaml.safe_load_all(text) if document]
    found = {reference(document): document for document in documents}
    assert len(found) == len(documents), "no object is made twice"
    return found


def _deployments(program: Path, values: Mapping[str, object]) -> dict[str, JsonValue]:
    """The pod specs of the chart's Deployments by name."""
    found = _template(program, values).items()
    return {name: at(item, "spec", "template", "spec") for (kind, _, name), item in found if kind == "Deployment"}


@_GROUPS
def test_it_makes_what_kustomize_makes(program: Path, group: Group) -> None:
    """Spec: product:9."""
    folder = str(group.overlay.relative_to(MANIFESTS))
    expected = {reference(document): document for document in rendered(folder)}
    made = _template(program, {"apiGroup": group.value, "namespace": {"create": True}, "crds": {"keep": False}})
    assert set(made) == set(expected)
    for name, item in expected.items():
        assert as_one_line(made[name]) == as_one_line(item), name


@_GROUPS
def test_by_default_it_leaves_the_namespace_alone_and_the_definitions_in_place(program: Path, group: Group) -> None:
    made = _template(program, {"apiGroup": group.value})
    whole = _template(program, {"apiGroup": group.value, "namespace": {"create": True}, "crds": {"keep": False}})
    assert set(whole) - set(made) == {("Namespace", "", NAMESPACE)}
    definitions = {name: item for name, item in made.items() if name[0] == "CustomResourceDefinition"}
    assert len(definitions) == (2 if group is Group.OWN else 0)
    for name, item in definitions.items():
        without = copy.deepcopy(item)
        metadata = at(without, "metadata")
        assert isinstance(metadata, dict)
        annotations = metadata.pop("annotations")
        assert isinstance(annotations, dict)
        assert annotations.pop("helm.sh/resource-policy") == "keep"
        if annotations:
            metadata["annotations"] = annotations
        assert without == whole[name]


def test_names_follow_another_namespace(program: Path) -> None:
    command = [str(program), "template", "evenkeel", str(CHART), "--namespace=elsewhere"]
    text = run(command, remedy="see the message of helm")
    assert NAMESPACE not in text
    assert "system:serviceaccount:elsewhere:evenkeel-updater" in text


def test_values_reach_the_pods(program: Path) -> None:
    digest = f"sha256:{64 * 'b'}"
    placed: JsonObject = {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "critical", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
    }
    process: JsonObject = {**placed, "extraArgs": ["--v=4"], "resources": {"requests": {"cpu": "1"}}}
    specs = _deployments(
        program,
        {
            "image": {"repository": "example.test/evenkeel", "digest": digest, "pullSecrets": ["key"]},
            **dict.fromkeys(("recommender", "updater", "admissionController"), process),
        },
    )
    assert set(specs) == set(PROCESSES)
    for spec in specs.values():
        assert {name: at(spec, name) for name in placed} == placed
        (container,) = objects_at(spec, "containers")
        assert text_at(container, "image") == f"example.test/evenkeel@{digest}"
        assert at(container, "args", -1) == "--v=4"
        assert at(container, "resources", "requests", "cpu") == "1"
        assert at(spec, "imagePullSecrets") == [{"name": "key"}]


def test_disruption_budgets_and_definitions_can_be_left_out(program: Path) -> None:
    off: JsonObject = {"podDisruptionBudget": False}
    values = {**dict.fromkeys(("recommender", "updater", "admissionController"), off), "crds": {"install": False}}
    kinds = {kind for kind, _, _ in _template(program, values)}
    assert not kinds & {"PodDisruptionBudget", "CustomResourceDefinition"}
    assert "Deployment" in kinds


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"apiGroup": "autoscaling"}, "apiGroup"),
        ({"updater": {"replica": 1}}, "replica"),
        ({"admissionController": {"webhookTimeoutSeconds": 31}}, "webhookTimeoutSeconds"),
    ],
)
def test_helm_refuses_a_mistake_by_name(program: Path, values: Mapping[str, object], said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        _template(program, values)


def test_helm_finds_no_fault(program: Path) -> None:
    said = run([str(program), "lint", "--strict", str(CHART)], remedy="see the message of helm")
    assert "1 chart(s) linted, 0 chart(s) failed" in said
