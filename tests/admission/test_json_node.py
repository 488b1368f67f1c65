"""Reading a JSON tree field by field."""

from __future__ import annotations

from admission.json_node import JsonNode
from autoscaling.quantity import Quantity


def test_null_is_absent() -> None:
    node = JsonNode.of({"a": None, "b": {"cpu": None}})
    assert not node.has("a")
    assert node.text("a") is None
    assert node.texts("a") is None
    assert node.integer("a") is None
    assert node.quantity("a") is None
    assert node.quantities("a") == {}
    assert node.children("a") == ()
    assert node.child("a") == JsonNode({}, "a")
    assert node.quantities("b") == {"cpu": Quantity(0)}


def test_paths_grow_with_depth() -> None:
    node = JsonNode.of({"a": {"b": [{"c": 1}]}})
    (leaf,) = node.child("a").children("b")
    assert leaf.path == "a.b[0]"
    assert leaf.integer("c") == 1


def test_whole_numbers_end_at_their_width() -> None:
    node = JsonNode.of({"low": -(2**31), "high": 2**31 - 1, "wide": 2**62})
    assert node.integer("low") == -(2**31)
    assert node.integer("high") == 2**31 - 1
    assert node.integer("wide", bits=64) == 2**62
