"""What a twin takes over from its original."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from autoscaling.wire.objects import decode_vpa
from evenkeel.crd.schema import Json, Schema
from evenkeel.shadow.twins import Twin, known_part
from evenkeel.simulator.api.schemas import StructuralSchema
from tests.evenkeel.shadow.objects import MARK, original, target

WHOLE = "vpa-post-processor.kubernetes.io/main_integerCPU"
POLICY: Schema = {"containerPolicies": [{"containerName": "*", "maxAllowed": {"cpu": "1", "memory": 1073741824}}]}


@pytest.mark.parametrize(
    ("spec_id", "given", "kept"),
    [
        ("beyond:B-35", {}, {"updatePolicy": {"updateMode": "Off"}}),
        (
            "beyond:B-35",
            {"updatePolicy": {"updateMode": "Recreate", "minReplicas": 1}},
            {"updatePolicy": {"updateMode": "Off", "minReplicas": 1}},
        ),
        ("beyond:B-35", {"updatePolicy": None}, {"updatePolicy": {"updateMode": "Off"}}),
        ("beyond:B-35", {"resourcePolicy": POLICY}, {"resourcePolicy": POLICY, "updatePolicy": {"updateMode": "Off"}}),
        (
            "beyond:B-35",
            {"recommenders": [{"name": "slow", "future": 1}], "fieldOfTomorrow": {"a": 1}},
            {"recommenders": [{"name": "slow"}], "updatePolicy": {"updateMode": "Off"}},
        ),
        (
            "beyond:B-35",
            {"resourcePolicy": {"containerPolicies": [{"containerName": "a", "mode": None, "minAllowed": {"cpu": 1}}]}},
            {
                "resourcePolicy": {"containerPolicies": [{"containerName": "a", "minAllowed": {"cpu": 1}}]},
                "updatePolicy": {"updateMode": "Off"},
            },
        ),
    ],
)
def test_a_twin_has_the_spec_of_its_original_and_never_acts(spec_id: str, given: Schema, kept: Schema) -> None:
    source = original()
    assert Twin.of(replace(source, spec=source.spec | given)).spec == target() | kept, spec_id


@pytest.mark.parametrize(
    ("spec_id", "label", "is_carried"),
    [
        ("beyond:B-35", "team", True),
        ("beyond:B-35", "app.kubernetes.io/name", True),
        ("beyond:B-35", "app.kubernetes.io/instance", False),
        ("beyond:B-35", "app.kubernetes.io/managed-by", False),
        ("beyond:B-35", "argocd.argoproj.io/instance", False),
        ("beyond:B-35", "kustomize.toolkit.fluxcd.io/name", False),
        ("beyond:B-35", "addonmanager.kubernetes.io/mode", False),
    ],
)
def test_labels_are_carried_unless_a_deploying_tool_would_take_the_twin_for_its_own(
    spec_id: str, label: str, is_carried: bool
) -> None:
    labels = Twin.of(original(labels={label: "x"})).labels
    assert labels == ({label: "x"} if is_carried else {}) | MARK, spec_id


def test_an_original_cannot_unmark_its_twin() -> None:
    assert Twin.of(original(labels={"evenkeel.dev/shadow": "false"})).labels == MARK, "beyond:B-35"


def test_annotations_are_carried_where_a_recommendation_depends_on_them() -> None:
    annotations = {WHOLE: "true", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert Twin.of(original(annotations=annotations)).annotations == {WHOLE: "true"}, "beyond:B-35"


def test_what_is_kept_is_what_an_api_server_would_keep() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"kept": {"type": "string"}}},
            },
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    value: Schema = {
        "list": [{"kept": "a", "dropped": 1}, {}],
        "map": {"any": "b"},
        "free": {"deep": {"er": [1]}},
        "unknown": {"gone": True},
    }
    stored: dict[str, object] = copy.deepcopy({**value})
    StructuralSchema({**schema}).prune(stored)
    expected: Json = {"list": [{"kept": "a"}, {}], "map": {"any": "b"}, "free": {"deep": {"er": [1]}}}
    assert known_part(value, schema) == expected == stored, "beyond:B-35"


def test_the_snapshot_of_a_twin_reads_like_that_of_its_original() -> None:
    source = original(resourcePolicy=POLICY)
    twin = Twin.of(source)
    body = b'{"apiVersion":"autoscaling.evenkeel.dev/v1","metadata":{"name":"web","namespace":"shop"},"spec":%s}'
    ours, theirs = (decode_vpa(body % json.dumps(spec).encode()) for spec in (twin.spec, source.spec))
    assert ours.container_policies == theirs.container_policies, "beyond:B-35"
    assert ours.target_ref == theirs.target_ref
