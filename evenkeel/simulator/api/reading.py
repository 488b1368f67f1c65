"""Reading a built-in kind's body by its schema: what does not fit a type is refused, what has no field is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.simulator.api.builtin_schemas import metadata_schema, schema_of
from evenkeel.simulator.api.fields import JsonObject, as_object, child
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.status import UndecodableError

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_NAMED_BY_THE_PATH = ("apiVersion", "kind")


def read_typed(kind: Kind, body: JsonObject) -> list[str]:
    """Drop unknown fields and nulls of a body, in place, and return the paths of the unknown fields.

    Of a custom kind only the metadata are read so; its own schema does the rest.

    Raises:
        UndecodableError: A value has another type than its field.
    """
    if kind.is_custom:
        return list(_read(metadata_schema(), child(body, "metadata"), "metadata"))
    schema = schema_of(kind.group, kind.version, kind.kind)
    return list(_read(schema, body, "")) if schema else []


def _read(schema: JsonObject, value: object, path: str) -> Iterator[str]:
    """Read one value and what lies below it, yielding unknown paths."""
    _check_type(schema, value, path)
    if isinstance(value, list):
        items = child(schema, "items")
        for index, item in enumerate(value):
            yield from _read(items, item, f"{path}[{index}]")
    elif isinstance(value, dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield from _read_members(schema, value, path)


def _read_members(schema: JsonObject, value: JsonObject, path: str) -> Iterator[str]:
    """Read the members of an object."""
    properties, additional = child(schema, "properties"), schema.get("additionalProperties")
    for key in list(value):
        where = f"{path}.{key}" if path else key
        part = properties.get(key, additional)
        if not isinstance(part, dict):
            del value[key]
            if path or key not in _NAMED_BY_THE_PATH:
                yield where
        elif value[key] is None:
            del value[key]
        else:
            yield from _read(as_object(part), value[key], where)


def _check_type(schema: JsonObject, value: object, path: str) -> None:
    """Refuse a value of another type than its field's."""
    if schema.get("x-kubernetes-int-or-string"):
        allowed: tuple[type, ...] = (int, float, str)
    else:
        allowed = _TYPES.get(str(schema.get("type", "")), (object,))
    mistaken = isinstance(value, bool) and bool not in allowed and object not in allowed
    if mistaken or not isinstance(value, allowed):
        shown = {dict: "an object", list: "a list", bool: "a boolean", str: "a string"}.get(type(value), "a number")
        wanted = schema.get("type") or "number or string"
        raise UndecodableError(f"{path or 'the body'} must be of type {wanted}, not {shown}")
