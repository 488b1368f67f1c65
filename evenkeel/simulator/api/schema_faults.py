"""What is wrong with the schema of a custom kind: found when its definition is written."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.simulator.api.expression_fields import undefined_fields
from evenkeel.simulator.api.expressions import ExpressionError
from evenkeel.simulator.api.fields import JsonObject, as_object, child, encode, rows, texts
from evenkeel.simulator.api.rules import RULES, read_rule
from evenkeel.simulator.api.status import Cause, CauseType

_ROOT = "openAPIV3Schema"


def schema_faults(schema: JsonObject, path: str) -> Iterator[Cause]:
    """Yield what is wrong with a custom kind's schema: types left out, keys without values, rules that cannot be read.

    Args:
        schema: The schema of one version, or a part of it.
        path: Where it stands in the definition.
    """
    schema = _with_name(schema) if path.endswith(_ROOT) else schema
    yield from _untyped(schema, path)
    yield from _key_faults(schema, path)
    for index, row in enumerate(rows(schema, RULES)):
        why = _fault(row, schema)
        if why:
            message = f"Invalid value: {encode(row).decode()}: {why}"
            yield Cause(CauseType.INVALID, f"{path}.{RULES}[{index}].rule", message)
    for name, part in child(schema, "properties").items():
        yield from schema_faults(as_object(part), f"{path}.properties[{name}]")
    for keyword in ("additionalProperties", "items"):
        if isinstance(schema.get(keyword), dict):
            yield from schema_faults(child(schema, keyword), f"{path}.{keyword}")


def _with_name(schema: JsonObject) -> JsonObject:
    """Return the schema of a whole object with the metadata that rules can read."""
    name = {"type": "object", "properties": {field: {"type": "string"} for field in ("name", "generateName")}}
    known = {"metadata": name, "apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    return {**schema, "properties": {**child(schema, "properties"), **known}}


def _fault(row: JsonObject, schema: JsonObject) -> str:
    """Return what is wrong with one rule, empty when nothing is."""
    try:
        rule = read_rule(row)
    except ExpressionError as error:
        return str(error)
    scope = {"self": schema, "oldSelf": schema}
    read = [rule.expression, *([rule.message_expression] if rule.message_expression else [])]
    unknown = [field for expression in read for field in undefined_fields(expression, scope)]
    return f"the schema has no field {', '.join(map(repr, unknown))}" if unknown else ""


def _untyped(schema: JsonObject, path: str) -> Iterator[Cause]:
    """Yield that a schema does not say what type its values have."""
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not schema.get("type") and not free:
        yield Cause(CauseType.REQUIRED, f"{path}.type", "Required value: every field of a structural schema has a type")


def _key_faults(schema: JsonObject, path: str) -> Iterator[Cause]:
    """Yield which keys of a map-like list may be missing from its items."""
    items = child(schema, "items")
    for key in texts(schema, "x-kubernetes-list-map-keys"):
        if key not in texts(items, "required") and "default" not in child(items, "properties", key):
            where = f"{path}.items.properties[{key}].default"
            message = "Required value: a key of a map-like list must be required or have a default"
            yield Cause(CauseType.REQUIRED, where, message)
