"""Reading bodies by their types."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.reading import read_typed
from evenkeel.simulator.api.schemas import StructuralSchema
from evenkeel.simulator.api.status import UndecodableError

KINDS = {(kind.group, kind.kind): kind for kind in builtin_kinds()}


@pytest.mark.parametrize(
    ("group", "kind", "body", "unknown"),
    [
        ("", "ConfigMap", {"metadata": {"name": "a"}, "data": {"k": "v"}}, []),
        ("", "ConfigMap", {"metadata": {"name": "a", "nope": 1}, "dat": {}}, ["metadata.nope", "dat"]),
        ("", "ConfigMap", {"apiVersion": "v1", "kind": "ConfigMap"}, []),
        ("", "Pod", {"spec": {"containers": [{"name": "a", "imag": "x"}]}}, ["spec.containers[0].imag"]),
        ("", "Pod", {"spec": {"containers": [{"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]}}, []),
        (
            "apps",
            "Deployment",
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%"}}, "replica": 1}},
            ["spec.replica"],
        ),
        ("policy", "PodDisruptionBudget", {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}, []),
        ("metrics.k8s.io", "NodeMetrics", {"anything": 1}, []),
    ],
)
def test_unknown_fields(group: str, kind: str, body: JsonObject, unknown: list[str]) -> None:
    assert read_typed(KINDS[group, kind], copy_of(body)) == unknown


def test_unknown_fields_and_nulls_are_dropped() -> None:
    body: JsonObject = {"metadata": {"labels": None, "x": {}}, "data": {"a": "1", "b": None}, "y": 1}
    read_typed(KINDS["", "ConfigMap"], body)
    assert body == {"metadata": {}, "data": {"a": "1"}}


@pytest.mark.parametrize(
    ("group", "kind", "body", "words"),
    [
        ("", "ConfigMap", {"data": {"a": 1}}, "data.a must be of type string, not a number"),
        ("", "ConfigMap", {"data": ["a"]}, "data must be of type object, not a list"),
        ("", "Pod", {"spec": {"containers": {"name": "a"}}}, "spec.containers must be of type array, not an object"),
        ("apps", "Deployment", {"spec": {"replicas": "1"}}, "spec.replicas must be of type integer, not a string"),
        ("apps", "Deployment", {"spec": {"replicas": True}}, "spec.replicas must be of type integer, not a boolean"),
        ("", "Pod", {"spec": {"hostNetwork": "yes"}}, "spec.hostNetwork must be of type boolean, not a string"),
        ("", "Pod", {"spec": {"containers": [{"resources": {"limits": {"cpu": []}}}]}}, "number or string"),
        ("", "Pod", {"spec": {"containers": [{"resources": {"limits": {"cpu": True}}}]}}, "not a boolean"),
    ],
)
def test_values_of_other_types(group: str, kind: str, body: JsonObject, words: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        read_typed(KINDS[group, kind], body)
    assert words in caught.value.message


def test_of_custom_kinds_the_metadata_are_read() -> None:
    kind = Kind("example.dev", "v1", "Widget", "widgets", schema=StructuralSchema({"type": "object"}))
    body: JsonObject = {"metadata": {"name": "a", "nope": 1}, "spec": {"any": 1}}
    assert read_typed(kind, body) == ["metadata.nope"]
    assert body == {"metadata": {"name": "a"}, "spec": {"any": 1}}
    with pytest.raises(UndecodableError, match=r"metadata\.labels"):
        read_typed(kind, {"metadata": {"labels": []}})
