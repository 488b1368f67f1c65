"""The definitions on a real API server: what it takes, refuses, prunes and prints."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from e2e.api_socket import Answer, ApiSocket, api_socket
from e2e.cluster.binaries import MODULES
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, condition, objects_at, text_at
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import QUANTITY_PATTERN
from tests.manifests.custom_objects import (
    CHECKPOINTS,
    SPECS,
    STATUSES,
    TAKEN,
    TARGET,
    Case,
    autoscaler,
    checkpoint,
)
from tests.manifests.rendering import MANIFESTS, rendered

_FOLDERS = {ApiGroup.EVENKEEL: "crd", ApiGroup.UPSTREAM: "crd/upstream-group"}
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACE = "default"
_ESTABLISHED_SECONDS = 30.0

_GROUPS = pytest.mark.parametrize("group", ApiGroup, ids=lambda group: group.name)


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiSocket]:
    """The API server with the definitions of both groups."""
    with api_socket(cluster, "definitions-proxy") as opened:
        for folder in _FOLDERS.values():
            for definition in rendered(folder):
                _install(opened, definition)
        yield opened


def _install(api: ApiSocket, definition: JsonObject) -> None:
    path = f"{_DEFINITIONS}/{text_at(definition, 'metadata', 'name')}"
    answer = api.apply(f"{path}?fieldManager=evenkeel&force=true", definition)
    assert answer.code in {200, 201}, answer.message
    deadline = time.monotonic() + _ESTABLISHED_SECONDS
    while text_at(condition(api.read(path).body, "Established"), "status") != "True":
        assert time.monotonic() < deadline, api.read(path).body
        time.sleep(0.1)
    while api.read(_collection(definition)).code != 200:
        assert time.monotonic() < deadline, path
        time.sleep(0.1)


def _collection(definition: JsonObject) -> str:
    group, plural = text_at(definition, "spec", "group"), text_at(definition, "spec", "names", "plural")
    return f"/apis/{group}/v1/namespaces/{_NAMESPACE}/{plural}"


def _autoscalers(group: ApiGroup) -> str:
    return f"/apis/{group.value}/v1/namespaces/{_NAMESPACE}/verticalpodautoscalers"


def _checkpoints(group: ApiGroup) -> str:
    return f"/apis/{group.value}/v1/namespaces/{_NAMESPACE}/verticalpodautoscalercheckpoints"


@pytest.fixture
def stored(api: ApiSocket, group: ApiGroup) -> Iterator[str]:
    """The path of a stored autoscaler named stored, without any optional field."""
    path = f"{_autoscalers(group)}/stored"
    assert api.post(_autoscalers(group), autoscaler(group, {"targetRef": TARGET}, "stored")).code == 201
    yield path
    assert api.delete(path).code == 200


def _assert_verdict(case: Case, group: ApiGroup, answer: Answer) -> None:
    expected = case.refused(group)
    if expected == TAKEN:
        assert answer.code in {200, 201}, answer.message
    else:
        assert answer.code == 422, answer.body
        assert expected in answer.fields, answer.fields


@_GROUPS
@pytest.mark.parametrize("plural", ["verticalpodautoscalers", "verticalpodautoscalercheckpoints"])
def test_the_definition_is_established_and_structural(api: ApiSocket, group: ApiGroup, plural: str) -> None:
    definition = api.read(f"{_DEFINITIONS}/{plural}.{group.value}").body
    found = {
        text_at(entry, "type"): text_at(entry, "status") for entry in objects_at(definition, "status", "conditions")
    }
    approval = {"KubernetesAPIApprovalPolicyConformant": "True"} if group is ApiGroup.UPSTREAM else {}
    assert found == {"NamesAccepted": "True", "Established": "True", **approval}
    assert at(definition, "status", "storedVersions") == ["v1"]


@_GROUPS
def test_short_names_and_subresources(api: ApiSocket, group: ApiGroup) -> None:
    resources = {
        text_at(entry, "name"): entry for entry in objects_at(api.read(f"/apis/{group.value}/v1").body, "resources")
    }
    assert set(resources) == {
        "verticalpodautoscalers",
        "verticalpodautoscalers/status",
        "verticalpodautoscalercheckpoints",
    }
    prefix = "e" if group is ApiGroup.EVENKEEL else ""
    assert resources["verticalpodautoscalers"]["shortNames"] == [f"{prefix}vpa"]
    assert resources["verticalpodautoscalercheckpoints"]["shortNames"] == [f"{prefix}vpacheckpoint"]


@_GROUPS
@pytest.mark.parametrize("case", SPECS, ids=lambda case: case.label)
def test_spec(api: ApiSocket, case: Case, group: ApiGroup) -> None:
    _assert_verdict(case, group, api.post(f"{_autoscalers(group)}?dryRun=All", autoscaler(group, case.body)))


@_GROUPS
@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case.label)
def test_checkpoint(api: ApiSocket, case: Case, group: ApiGroup) -> None:
    _assert_verdict(case, group, api.post(f"{_checkpoints(group)}?dryRun=All", checkpoint(group, case.body)))


@pytest.fixture(scope="module", params=ApiGroup, ids=lambda group: group.name)
def with_status(api: ApiSocket, request: pytest.FixtureRequest) -> Iterator[ApiGroup]:
    """A group with a stored autoscaler named with-status."""
    group: ApiGroup = request.param
    assert api.post(_autoscalers(group), autoscaler(group, {"targetRef": TARGET}, "with-status")).code == 201
    yield group
    assert api.delete(f"{_autoscalers(group)}/with-status").code == 200


@pytest.mark.parametrize("case", STATUSES, ids=lambda case: case.label)
def test_status(api: ApiSocket, case: Case, with_status: ApiGroup) -> None:
    """Written as the recommender writes it: the whole status in one operation."""
    path = f"{_autoscalers(with_status)}/with-status/status?dryRun=All"
    operations: JsonValue = [{"op": "add", "path": "/status", "value": case.body}]
    _assert_verdict(case, with_status, api.patch(path, operations))


@pytest.mark.parametrize("path", sorted((MANIFESTS / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_examples(api: ApiSocket, path: Path) -> None:
    query = "dryRun=All&fieldValidation=Strict"
    answer = api.post(f"{_autoscalers(ApiGroup.EVENKEEL)}?{query}", yaml.safe_load(path.read_text(encoding="utf-8")))
    assert answer.code == 201, answer.message


@_GROUPS
@pytest.mark.usefixtures("stored")
def test_nothing_is_defaulted(api: ApiSocket, group: ApiGroup) -> None:
    """Row api:1: what is absent stays absent, and an empty object stays empty."""
    spec: JsonObject = {
        "targetRef": TARGET,
        "updatePolicy": {},
        "resourcePolicy": {"containerPolicies": [{"containerName": "app"}]},
        "startupBoost": {},
    }
    answer = api.post(f"{_autoscalers(group)}?dryRun=All", autoscaler(group, spec))
    assert at(answer.body, "spec") == spec
    assert at(api.read(f"{_autoscalers(group)}/stored").body, "spec") == {"targetRef": TARGET}


@_GROUPS
def test_unknown_fields_are_pruned(api: ApiSocket, group: ApiGroup) -> None:
    spec: JsonObject = {
        "targetRef": {**TARGET, "uid": "1"},
        "updatePolicy": {"updateMode": "Off", "windows": []},
        "resourcePolicy": {"containerPolicies": [{"containerName": "app", "maxAllowed": {"any": 1}, "scale": 1}]},
        "recommenders": [{"name": "a", "weight": 1}],
        "startupBoost": {"memory": {}, "cpu": {"type": "Factor", "factor": 2, "cap": 1}},
        "recommender": {"strategy": "x"},
    }
    answer = api.post(f"{_autoscalers(group)}?dryRun=All", autoscaler(group, spec))
    kept: JsonObject = {
        "targetRef": TARGET,
        "updatePolicy": {"updateMode": "Off"},
        "resourcePolicy": {"containerPolicies": [{"containerName": "app", "maxAllowed": {"any": 1}}]},
        "recommenders": [{"name": "a"}],
        "startupBoost": {"cpu": {"type": "Factor", "factor": 2}},
    }
    if group is ApiGroup.EVENKEEL:
        kept["recommender"] = {"strategy": "x"}
    assert at(answer.body, "spec") == kept


@_GROUPS
def test_bucket_weights_are_not_pruned(api: ApiSocket, group: ApiGroup) -> None:
    """Row api:2."""
    histogram: JsonObject = {"bucketWeights": {"0": 1, "x": {"y": [2]}}, "totalWeight": 1.5}
    body: JsonObject = {
        "spec": {"vpaObjectName": "web", "containerName": "app", "more": 1},
        "status": {"version": "v3", "cpuHistogram": {**histogram, "more": 1}, "more": 1},
    }
    answer = api.post(f"{_checkpoints(group)}?dryRun=All", checkpoint(group, body))
    assert at(answer.body, "spec") == {"vpaObjectName": "web", "containerName": "app"}
    assert at(answer.body, "status") == {"version": "v3", "cpuHistogram": histogram}


@_GROUPS
def test_status_and_spec_are_written_apart(api: ApiSocket, group: ApiGroup, stored: str) -> None:
    """Row api:1: the status subresource leaves the spec and its generation alone, and the object leaves the status."""
    status: JsonObject = {"observedGeneration": 1}
    change: JsonValue = [{"op": "add", "path": "/status", "value": status}, {"op": "remove", "path": "/spec/targetRef"}]
    written = api.patch(f"{stored}/status", change)
    assert (written.code, at(written.body, "status"), at(written.body, "spec")) == (200, status, {"targetRef": TARGET})
    assert at(written.body, "metadata", "generation") == 1
    mode: JsonValue = [
        {"op": "add", "path": "/spec/updatePolicy", "value": {"updateMode": "Off"}},
        {"op": "remove", "path": "/status"},
    ]
    changed = api.patch(stored, mode)
    assert (changed.code, at(changed.body, "status")) == (200, status)
    assert at(changed.body, "metadata", "generation") == 2
    assert group.value in text_at(changed.body, "apiVersion")


@_GROUPS
def test_a_checkpoint_has_no_status_subresource(api: ApiSocket, group: ApiGroup) -> None:
    """Row api:2: its status is written with the object."""
    path = f"{_checkpoints(group)}/kept"
    assert api.post(_checkpoints(group), checkpoint(group, {"status": {"version": "v3"}}, "kept")).code == 201
    try:
        replaced = api.patch(path, [{"op": "replace", "path": "/status", "value": {"version": "v4"}}])
        assert (replaced.code, at(replaced.body, "status")) == (200, {"version": "v4"})
        assert api.patch(f"{path}/status", [{"op": "add", "path": "/status", "value": {}}]).code == 404
    finally:
        assert api.delete(path).code == 200


_UPSTREAM_CELLS = {
    "Mode": "InPlaceOrRecreate",
    "CPU": "25m",
    "Mem": "250Mi",
    "Provided": "True",
    "MinReplicas": 1,
    "OOMSeconds": 60,
}
_OWN_CELLS = {
    **_UPSTREAM_CELLS,
    "Target": "web",
    "TargetKind": "Deployment",
    "Recommender": "fast",
    "LowConfidence": "True",
    "NoPods": "False",
    "Unsupported": None,
}


@_GROUPS
def test_columns(api: ApiSocket, group: ApiGroup, stored: str) -> None:
    """Rows api:1 and api:7.7: what kubectl prints, in what order, and what only with -o wide."""
    conditions = [("RecommendationProvided", "True"), ("LowConfidence", "True"), ("NoPodsMatched", "False")]
    target: JsonObject = {"cpu": "25m", "memory": "250Mi"}
    status: JsonObject = {
        "recommendation": {"containerRecommendations": [{"containerName": "app", "target": target}]},
        "conditions": [{"type": kind, "status": value} for kind, value in conditions],
    }
    spec: JsonObject = {
        "targetRef": TARGET,
        "updatePolicy": {"updateMode": "InPlaceOrRecreate", "minReplicas": 1, "evictAfterOOMSeconds": 60},
        "recommenders": [{"name": "fast"}],
    }
    assert api.patch(stored, [{"op": "add", "path": "/spec", "value": spec}]).code == 200
    assert api.patch(f"{stored}/status", [{"op": "add", "path": "/status", "value": status}]).code == 200
    table = api.read(stored, as_table=True).body
    columns = objects_at(table, "columnDefinitions")
    defined = objects_at(
        definitions(group)["verticalpodautoscalers"], "spec", "versions", 0, "additionalPrinterColumns"
    )
    assert [(text_at(column, "name"), at(column, "priority")) for column in columns] == [
        ("Name", 0),
        *((text_at(column, "name"), at(column, "priority") or 0) for column in defined),
    ]
    cells = dict(zip((text_at(column, "name") for column in columns), _cells(table), strict=True))
    assert cells.pop("Name") == "stored"
    assert re.fullmatch(r"\d+s", str(cells.pop("Age")))
    assert cells == (_OWN_CELLS if group is ApiGroup.EVENKEEL else _UPSTREAM_CELLS)


def _cells(table: JsonObject) -> list[JsonValue]:
    cells = at(table, "rows", 0, "cells")
    assert isinstance(cells, list)
    return cells


@pytest.fixture(scope="module")
def published() -> dict[str, JsonObject]:
    """Upstream's own definitions by plural, from the module that the comparison programs are built from."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler"]
    listed = subprocess.run(command, cwd=MODULES["vpa"].source, capture_output=True, text=True, check=True)
    text = (Path(listed.stdout.strip()) / "deploy" / "vpa-v1-crd-gen.yaml").read_text(encoding="utf-8")
    return {text_at(document, "spec", "names", "plural"): document for document in yaml.safe_load_all(text)}


@pytest.mark.parametrize("plural", ["verticalpodautoscalers", "verticalpodautoscalercheckpoints"])
def test_the_rendering_of_upstreams_group_rules_as_upstreams_own(published: dict[str, JsonObject], plural: str) -> None:
    """Everything but the wording, the old version and the way the quantity pattern is written is the same."""
    theirs, ours = published[plural], definitions(ApiGroup.UPSTREAM)[plural]
    assert at(ours, "spec", "names") == at(theirs, "spec", "names")
    assert at(ours, "spec", "scope") == at(theirs, "spec", "scope")
    approval = "api-approved.kubernetes.io"
    assert at(ours, "metadata", "annotations", approval) == at(theirs, "metadata", "annotations", approval)
    (version,) = [entry for entry in objects_at(theirs, "spec", "versions") if entry["name"] == "v1"]
    assert _without_words(at(ours, "spec", "versions", 0)) == _without_words(version)


def test_the_quantity_pattern_agrees_with_upstreams(published: dict[str, JsonObject]) -> None:
    text = json.dumps(published["verticalpodautoscalers"])
    (theirs,) = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', text))
    pieces = ["", "+", "-", "1", "10", ".", ".5", "5.", "1.5", "e", "E", "k", "K", "Ki", "m", "i", " "]
    tried = {a + b + c + d for a in pieces for b in pieces for c in pieces for d in pieces}
    differing = [
        text for text in tried if bool(re.search(json.loads(theirs), text)) != bool(re.search(QUANTITY_PATTERN, text))
    ]
    assert differing == []


def _without_words(node: JsonValue, *, is_field_map: bool = False) -> JsonValue:
    if isinstance(node, list):
        return [_without_words(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    kept: JsonObject = {}
    for key, value in node.items():
        if is_field_map or key not in {"description", "message", "pattern", "required"}:
            kept[key] = _without_words(value, is_field_map=key == "properties" and not is_field_map)
        elif key == "required" and isinstance(value, list):
            kept[key] = sorted(value, key=str)
        elif key in {"message", "pattern"}:
            kept[key] = "present"
    return kept
