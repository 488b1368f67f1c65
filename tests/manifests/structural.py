"""What an API server asks of the schema in a CustomResourceDefinition, written down as a check."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.crd.schema import Json, Schema

_FORBIDDEN = (
    "$ref",
    "$id",
    "$schema",
    "definitions",
    "dependencies",
    "deprecated",
    "discriminator",
    "id",
    "patternProperties",
    "readOnly",
    "writeOnly",
    "xml",
)
_NOT_WITHIN_A_COMBINATION = ("description", "default", "additionalProperties", "nullable")
_COMBINATIONS = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING: list[Json] = [{"type": "integer"}, {"type": "string"}]
_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def as_object(value: Json) -> Schema:
    """A value that has to be an object."""
    assert isinstance(value, dict), value
    return value


def as_list(value: Json) -> list[Json]:
    """A value that has to be a list."""
    assert isinstance(value, list), value
    return value


def at(value: Json, *path: str | int) -> Json:
    """The value at a path of keys and indices."""
    for step in path:
        value = as_list(value)[step] if isinstance(step, int) else as_object(value)[step]
    return value


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every node of a schema with its path, the root first."""
    yield path, schema
    for name, child in as_object(schema.get("properties", {})).items():
        yield from nodes(as_object(child), f"{path}.{name}")
    if "items" in schema:
        yield from nodes(as_object(schema["items"]), f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(as_object(schema["additionalProperties"]), f"{path}{{}}")


def faults(schema: Schema) -> list[str]:
    """Why a schema is not structural, one line each; empty when it is."""
    return [f"{path or '.'}: {fault}" for path, node in nodes(schema) for fault in _node_faults(node)]


def _node_faults(node: Schema) -> Iterator[str]:
    yield from _type_faults(node)
    yield from (f"{key} is forbidden" for key in _FORBIDDEN if key in node)
    if node.get("uniqueItems"):
        yield "uniqueItems is forbidden"
    if node.get("additionalProperties") is False:
        yield "additionalProperties: false is forbidden"
    if "additionalProperties" in node and "properties" in node:
        yield "properties and additionalProperties exclude each other"
    if node.get("type") == "array" and "items" not in node:
        yield "an array needs items"
    missing = set(map(str, as_list(node.get("required", [])))) - set(as_object(node.get("properties", {})))
    if missing:
        yield f"required but not declared: {sorted(missing)}"
    yield from _combination_faults(node)
    yield from _map_list_faults(node)
    yield from _rule_faults(node)


def _type_faults(node: Schema) -> Iterator[str]:
    if node.get("x-kubernetes-int-or-string"):
        if "type" in node:
            yield "int-or-string has no type"
    elif node.get("type") not in _TYPES:
        yield f"type is {node.get('type')!r}"
    if "items" in node and node.get("type") != "array":
        yield "items outside an array"
    if ("properties" in node or "additionalProperties" in node) and node.get("type") != "object":
        yield "fields outside an object"


def _combination_faults(node: Schema) -> Iterator[str]:
    if node.get("x-kubernetes-int-or-string") and node.get("anyOf") == _INT_OR_STRING:
        return
    for key in _COMBINATIONS:
        for branch in as_list(node.get(key, [])):
            for keyword in (*_NOT_WITHIN_A_COMBINATION, "type"):
                if keyword in as_object(branch):
                    yield f"{keyword} within {key}"


def _map_list_faults(node: Schema) -> Iterator[str]:
    keys = as_list(node.get("x-kubernetes-list-map-keys", []))
    if (node.get("x-kubernetes-list-type") == "map") != bool(keys):
        yield "a map list has keys, and only a map list"
    for key in map(str, keys):
        items = as_object(node["items"])
        if key not in as_list(items.get("required", [])):
            yield f"key {key} is not required"
        if as_object(as_object(items.get("properties", {})).get(key, {})).get("type") not in {"string", "integer"}:
            yield f"key {key} is no scalar"


def _rule_faults(node: Schema) -> Iterator[str]:
    for entry in as_list(node.get("x-kubernetes-validations", [])):
        if not as_object(entry).get("rule") or not as_object(entry).get("message"):
            yield "a rule needs its expression and a message"
