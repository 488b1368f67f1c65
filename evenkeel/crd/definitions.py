"""The four custom resource definitions: two kinds in two API groups."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.autoscaler import autoscaler_schema
from evenkeel.crd.checkpoint import checkpoint_schema
from evenkeel.crd.schema import Json, Schema


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    short_name: str
    schema: Schema
    columns: list[Json]
    has_status: bool


def definitions(group: ApiGroup) -> dict[str, Schema]:
    """The CustomResourceDefinition objects of a group.

    Args:
        group: Upstream's group follows upstream's rules exactly; the own group is stricter and has more columns.

    Returns:
        Each definition by the plural of its kind.

    Spec: api 1, 2, 7.1 and 7.7.
    """
    own = group is ApiGroup.EVENKEEL
    kinds = (
        _Kind(
            "VerticalPodAutoscaler",
            "evpa" if own else "vpa",
            autoscaler_schema(strict=own),
            _own_columns() if own else _upstream_columns(),
            has_status=True,
        ),
        _Kind(
            "VerticalPodAutoscalerCheckpoint",
            "evpacheckpoint" if own else "vpacheckpoint",
            checkpoint_schema(is_own=own),
            [],
            has_status=False,
        ),
    )
    return {f"{kind.name.lower()}s": _definition(group, kind) for kind in kinds}


def _definition(group: ApiGroup, kind: _Kind) -> Schema:
    singular = kind.name.lower()
    metadata: Schema = {"name": f"{singular}s.{group.value}"}
    if group is ApiGroup.UPSTREAM:
        # An API server takes a definition in a k8s.io group only with the review that approved it.
        approval = "https://github.com/kubernetes/kubernetes/pull/63797"
        metadata["annotations"] = {"api-approved.kubernetes.io": approval}
    version: Schema = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": kind.schema}}
    if kind.has_status:
        version["subresources"] = {"status": {}}
    if kind.columns:
        version["additionalPrinterColumns"] = kind.columns
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group.value,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": f"{singular}s",
                "shortNames": [kind.short_name],
                "singular": singular,
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _upstream_columns() -> list[Json]:
    recommended = ".status.recommendation.containerRecommendations[0].target"
    return [
        _column("Mode", ".spec.updatePolicy.updateMode"),
        _column("CPU", f"{recommended}.cpu"),
        _column("Mem", f"{recommended}.memory"),
        _column("Provided", _condition_path("RecommendationProvided")),
        _column("Age", ".metadata.creationTimestamp", kind="date"),
        _column("MinReplicas", ".spec.updatePolicy.minReplicas", kind="integer", wide=True),
        _column("OOMSeconds", ".spec.updatePolicy.evictAfterOOMSeconds", kind="integer", wide=True),
    ]


def _own_columns() -> list[Json]:
    return [
        _column("Target", ".spec.targetRef.name"),
        *_upstream_columns(),
        _column("TargetKind", ".spec.targetRef.kind", wide=True),
        _column("Recommender", ".spec.recommenders[0].name", wide=True),
        _column("LowConfidence", _condition_path("LowConfidence"), wide=True),
        _column("NoPods", _condition_path("NoPodsMatched"), wide=True),
        _column("Unsupported", _condition_path("ConfigUnsupported"), wide=True),
    ]


def _condition_path(condition: str) -> str:
    return f".status.conditions[?(@.type=='{condition}')].status"


def _column(name: str, path: str, *, kind: str = "string", wide: bool = False) -> Json:
    column: Schema = {"name": name, "type": kind, "jsonPath": path}
    if wide:
        column["priority"] = 1
    return column
