"""What a twin is: the object of our own group that stands beside one of upstream's and only recommends.

A twin has the name, the namespace and the spec of its original, but for the update mode, which is Off: neither our
updater nor our webhook acts on it. A label marks it as ours to change and to remove.

Spec: beyond:B-35; product 2 (Shadow).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import UpdateMode
from evenkeel.crd.autoscaler import autoscaler_schema
from evenkeel.crd.schema import Json, Schema
from recommender.postprocess import WHOLE_CORES_PREFIX

SHADOW_LABEL: Final = "evenkeel.dev/shadow"
SHADOW_VALUE: Final = "true"

_KIND: Final = "VerticalPodAutoscaler"
_TOOL_LABELS: Final = frozenset({"app.kubernetes.io/managed-by", "app.kubernetes.io/instance"})
_TOOL_DOMAINS: Final = ("argocd.argoproj.io", "fluxcd.io", "helm.sh", "addonmanager.kubernetes.io")
"""By such labels deploying tools know what is theirs; a twin that had them would be removed as a leftover."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """An autoscaler of either group with its spec as it stands there.

    Args:
        namespace: Its namespace.
        name: Its name.
        uid: Of the object.
        resource_version: Of the object when it was read.
        labels: Its labels.
        annotations: Its annotations.
        spec: Its spec, with whatever fields it has.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Schema = field(default_factory=dict)

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef(_KIND, self.namespace, self.name)

    @property
    def is_twin(self) -> bool:
        """Whether the object has the mark of a twin."""
        return self.labels.get(SHADOW_LABEL) == SHADOW_VALUE

    @property
    def target(self) -> tuple[str, Json, Json]:
        """Namespace, kind and name of the workload that it is for."""
        named = self.spec.get("targetRef")
        target = named if isinstance(named, dict) else {}
        return self.namespace, target.get("kind"), target.get("name")


@dataclass(frozen=True, slots=True)
class Twin:
    """What a twin should say.

    Args:
        labels: Labels that it should have; others do not matter.
        annotations: All annotations that it should have of those that recommendations depend on.
        spec: All of its spec.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Schema

    @classmethod
    def of(cls, original: Autoscaler) -> Twin:
        """Return what the twin of an autoscaler should say."""
        labels = {name: value for name, value in original.labels.items() if not _is_of_tool(name)}
        policy = original.spec.get("updatePolicy")
        spec = original.spec | {
            "updatePolicy": (policy if isinstance(policy, dict) else {}) | {"updateMode": UpdateMode.OFF.value}
        }
        known = known_part(spec, _spec_schema())
        return cls(
            labels | {SHADOW_LABEL: SHADOW_VALUE},
            relevant_annotations(original.annotations),
            known if isinstance(known, dict) else {},
        )


def relevant_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that a recommendation depends on (spec: recommender 4.3)."""
    return {name: value for name, value in annotations.items() if name.startswith(WHOLE_CORES_PREFIX)}


def known_part(value: Json, schema: Schema) -> Json:
    """Return what the API server keeps of a value: fields that a schema has, and no nulls.

    Args:
        value: Any JSON value.
        schema: A node of a structural schema.
    """
    properties, further, items = schema.get("properties"), schema.get("additionalProperties"), schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        return [known_part(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    given: Schema = {name: content for name, content in value.items() if content is not None}
    if isinstance(further, dict):
        return {name: known_part(content, further) for name, content in given.items()}
    if not isinstance(properties, dict):
        return given
    return {
        name: known_part(content, node)
        for name, content in given.items()
        if isinstance(node := properties.get(name), dict)
    }


@cache
def _spec_schema() -> Schema:
    """Return the schema of an autoscaler's spec in our own group."""
    properties = autoscaler_schema(strict=True)["properties"]
    node = properties.get("spec") if isinstance(properties, dict) else None
    return node if isinstance(node, dict) else {}


def _is_of_tool(label: str) -> bool:
    """Say whether a label tells a deploying tool what is its own."""
    domain = label.partition("/")[0]
    return label in _TOOL_LABELS or any(domain == each or domain.endswith(f".{each}") for each in _TOOL_DOMAINS)
