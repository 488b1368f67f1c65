"""JSON paths of printer columns."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.jsonpath import JsonPathError, parse_path

VALUE = {
    "metadata": {"name": "a", "annotations": {"example.dev/x.y": "z"}},
    "spec": {"replicas": 3, "items": [{"n": 1}, {"n": 2}], "on": True},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "False", "ok": False},
            {"type": "Provided", "status": "True", "nested": {"k": "v"}},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["a"]),
        ("{.metadata.name}", ["a"]),
        ("$.metadata.name", ["a"]),
        (".spec.replicas", [3]),
        (".spec.missing.more", []),
        (".spec.items[1].n", [2]),
        (".spec.items[-1].n", [2]),
        (".spec.items[9].n", []),
        (".spec.items[*].n", [1, 2]),
        (".spec.items.*.n", [1, 2]),
        (".spec.replicas[0]", []),
        (".metadata['name']", ["a"]),
        (r".metadata.annotations.example\.dev/x\.y", ["z"]),
        ('.metadata.annotations["example.dev/x.y"]', ["z"]),
        (".metadata.annotations[*]", ["z"]),
        (".metadata.annotations.*", ["z"]),
        (".status.conditions[?(@.type=='Provided')].status", ["True"]),
        ('.status.conditions[?(@.type == "Ready")].status', ["False"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Provided"]),
        (".status.conditions[?(@.nested.k=='v')].type", ["Provided"]),
        (".status.conditions[?(@.ok==false)].type", ["Ready"]),
        (".status.conditions[?(@.type=='None')].status", []),
        (".spec[?(@.n==1)]", []),
    ],
)
def test_paths(path: str, found: list[object]) -> None:
    parsed = parse_path(path)
    assert parsed.all(VALUE) == found
    assert parsed.first(VALUE) == (found[0] if found else None)


@pytest.mark.parametrize("path", ["", "{}", "metadata", ".a[", ".a[?(@.b)]", ".a[x]"])
def test_texts_that_are_no_paths(path: str) -> None:
    with pytest.raises(JsonPathError, match="JSON path"):
        parse_path(path)
