"""Names, versions and columns of the definitions."""

from __future__ import annotations

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Json, Schema
from tests.manifests.structural import as_list, as_object, at, faults

_AUTOSCALERS = "verticalpodautoscalers"
_CHECKPOINTS = "verticalpodautoscalercheckpoints"

_ALL = [
    ("api:1", ApiGroup.UPSTREAM, _AUTOSCALERS, "VerticalPodAutoscaler", "vpa"),
    ("api:2", ApiGroup.UPSTREAM, _CHECKPOINTS, "VerticalPodAutoscalerCheckpoint", "vpacheckpoint"),
    ("product:2", ApiGroup.EVENKEEL, _AUTOSCALERS, "VerticalPodAutoscaler", "evpa"),
    ("product:2", ApiGroup.EVENKEEL, _CHECKPOINTS, "VerticalPodAutoscalerCheckpoint", "evpacheckpoint"),
]


def _version(group: ApiGroup, plural: str) -> Schema:
    versions = as_list(at(definitions(group)[plural], "spec", "versions"))
    assert len(versions) == 1
    return as_object(versions[0])


@pytest.mark.parametrize(("row", "group", "plural", "kind", "short_name"), _ALL)
def test_names(row: str, group: ApiGroup, plural: str, kind: str, short_name: str) -> None:
    definition = definitions(group)[plural]
    assert at(definition, "metadata", "name") == f"{plural}.{group.value}", row
    assert at(definition, "spec", "group") == group.value
    assert at(definition, "spec", "scope") == "Namespaced"
    assert at(definition, "spec", "names") == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "shortNames": [short_name],
        "singular": kind.lower(),
    }


@pytest.mark.parametrize(("row", "group", "plural", "kind", "short_name"), _ALL)
def test_version(row: str, group: ApiGroup, plural: str, kind: str, short_name: str) -> None:
    version = _version(group, plural)
    assert (version["name"], version["served"], version["storage"]) == ("v1", True, True), row
    subresources: Json = {"status": {}} if plural == _AUTOSCALERS else None
    assert version.get("subresources") == subresources
    assert faults(as_object(at(version, "schema", "openAPIV3Schema"))) == []


def test_only_upstream_needs_an_approval() -> None:
    for plural in (_AUTOSCALERS, _CHECKPOINTS):
        approval = "https://github.com/kubernetes/kubernetes/pull/63797"
        annotations = at(definitions(ApiGroup.UPSTREAM)[plural], "metadata", "annotations")
        assert annotations == {"api-approved.kubernetes.io": approval}
        assert "annotations" not in as_object(definitions(ApiGroup.EVENKEEL)[plural]["metadata"])


_FIRST_TARGET = ".status.recommendation.containerRecommendations[0].target"
_UPSTREAM_COLUMNS = [
    ("Mode", "string", ".spec.updatePolicy.updateMode", 0),
    ("CPU", "string", f"{_FIRST_TARGET}.cpu", 0),
    ("Mem", "string", f"{_FIRST_TARGET}.memory", 0),
    ("Provided", "string", ".status.conditions[?(@.type=='RecommendationProvided')].status", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("MinReplicas", "integer", ".spec.updatePolicy.minReplicas", 1),
    ("OOMSeconds", "integer", ".spec.updatePolicy.evictAfterOOMSeconds", 1),
]
_OWN_COLUMNS = [
    ("Target", "string", ".spec.targetRef.name", 0),
    *_UPSTREAM_COLUMNS,
    ("TargetKind", "string", ".spec.targetRef.kind", 1),
    ("Recommender", "string", ".spec.recommenders[0].name", 1),
    ("LowConfidence", "string", ".status.conditions[?(@.type=='LowConfidence')].status", 1),
    ("NoPods", "string", ".status.conditions[?(@.type=='NoPodsMatched')].status", 1),
    ("Unsupported", "string", ".status.conditions[?(@.type=='ConfigUnsupported')].status", 1),
]


@pytest.mark.parametrize(
    ("row", "group", "columns"),
    [("api:1", ApiGroup.UPSTREAM, _UPSTREAM_COLUMNS), ("api:7.7", ApiGroup.EVENKEEL, _OWN_COLUMNS)],
)
def test_columns(row: str, group: ApiGroup, columns: list[tuple[str, str, str, int]]) -> None:
    found = [
        (column["name"], column["type"], column["jsonPath"], column.get("priority", 0))
        for column in map(as_object, as_list(_version(group, _AUTOSCALERS)["additionalPrinterColumns"]))
    ]
    assert found == columns, row
    assert "additionalPrinterColumns" not in _version(group, _CHECKPOINTS)
