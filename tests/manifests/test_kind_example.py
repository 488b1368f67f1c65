"""The example for kind: its configuration by the fields that kind documents, and what it installs (spec: product:9).

e2e/test_kind_example.py has the configuration decoded by kind's own package.
"""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.document_flags import render_flags
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Json, Schema
from tests.evenkeel.crd.offline import refused_fields
from tests.manifests.rendering import MANIFESTS, OWN, container, of_kind, reference, rendered, texts
from tests.manifests.structural import as_list, as_object, at

FOLDER = "examples/kind/evenkeel"
EXAMPLE = MANIFESTS / "examples" / "kind"
CLUSTER = as_object(yaml.safe_load((EXAMPLE / "cluster.yaml").read_text()))
BURN = tuple(as_object(document) for document in yaml.safe_load_all((EXAMPLE / "burn.yaml").read_text()))

_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_NODE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["role"],
    "properties": {
        "role": {"enum": ["control-plane", "worker"]},
        "image": {"type": "string", "pattern": r"^kindest/node:v1\.[0-9]+\.[0-9]+(@sha256:[0-9a-f]{64})?$"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "kubeadmConfigPatches": _TEXTS,
    },
}
_CONTROL_PLANE: Schema = {"properties": {"role": {"const": "control-plane"}}}
KIND_CLUSTER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "apiVersion", "nodes"],
    "properties": {
        "kind": {"const": "Cluster"},
        "apiVersion": {"const": "kind.x-k8s.io/v1alpha4"},
        "name": {"type": "string", "pattern": "^[a-z0-9.-]+$"},
        "nodes": {"type": "array", "minItems": 1, "items": _NODE, "contains": _CONTROL_PLANE},
        "featureGates": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "runtimeConfig": {"type": "object", "additionalProperties": {"type": "string"}},
        "kubeadmConfigPatches": _TEXTS,
        "containerdConfigPatches": _TEXTS,
    },
}
"""What kind takes, of the fields that an example of ours may want."""


def _is_taken(configuration: Schema) -> bool:
    return jsonschema.Draft202012Validator(KIND_CLUSTER).is_valid(configuration)


def test_the_configuration_is_one_that_kind_takes() -> None:
    jsonschema.validate(CLUSTER, KIND_CLUSTER)


@pytest.mark.parametrize(
    ("change", "is_taken"),
    [
        ({}, True),
        ({"featureGates": {"InPlacePodVerticalScaling": True}}, True),
        ({"featureGates": {"InPlacePodVerticalScaling": "true"}}, False),
        ({"featureGate": {}}, False),
        ({"apiVersion": "kind.x-k8s.io/v1alpha3"}, False),
        ({"nodes": [{"role": "worker"}]}, False),
        ({"nodes": [{"role": "control-plane"}, {"role": "master"}]}, False),
        ({"nodes": [{"role": "control-plane", "image": "kindest/node:v1.35.0"}]}, True),
        ({"nodes": [{"role": "control-plane", "image": "kindest/node"}]}, False),
    ],
)
def test_what_kind_would_refuse_is_found(change: Schema, is_taken: bool) -> None:
    assert _is_taken({**CLUSTER, **change}) is is_taken


def test_there_are_nodes_to_move_between() -> None:
    roles = [str(as_object(node)["role"]) for node in as_list(CLUSTER["nodes"])]
    assert roles.count("worker") >= 2


def test_it_installs_what_the_manifests_do_with_a_few_flags_more() -> None:
    assert {reference(item) for item in rendered(FOLDER)} == {reference(item) for item in rendered(OWN)}
    added: set[str] = set()
    for name, deployment in of_kind(FOLDER, "Deployment").items():
        before = texts(container(of_kind(OWN, "Deployment")[name])["args"])
        after = texts(container(deployment)["args"])
        assert after[: len(before)] == before
        added |= {word.partition("=")[0] for word in after[len(before) :]}
    assert added == {"--recommender-interval", "--updater-interval", "--pod-recommendation-min-memory-mb"}
    assert all(f"| `{flag}` |" in render_flags() for flag in added)


def test_the_workload_runs_the_image_that_was_loaded() -> None:
    workload, _ = BURN
    images = {str(container(deployment)["image"]) for deployment in of_kind(FOLDER, "Deployment").values()}
    assert {container(workload)["image"]} == images


def test_the_autoscaler_is_one_of_ours_for_that_workload() -> None:
    workload, autoscaler = BURN
    schema = at(definitions(ApiGroup.EVENKEEL)["verticalpodautoscalers"], "spec", "versions", 0, "schema")
    assert refused_fields(as_object(at(schema, "openAPIV3Schema")), autoscaler) == set()
    expected: Json = {"apiVersion": workload["apiVersion"], "kind": workload["kind"], "name": reference(workload)[2]}
    assert at(autoscaler, "spec", "targetRef") == expected
    assert reference(autoscaler)[1] == reference(workload)[1]
    labels = at(workload, "spec", "template", "metadata", "labels")
    assert at(workload, "spec", "selector", "matchLabels") == labels
