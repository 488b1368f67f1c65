"""Reading and building nested JSON objects without repeating type checks."""

from __future__ import annotations

from typing import TypeAlias, cast

import msgspec

from autoscaling.quantity import Quantity

JsonObject: TypeAlias = dict[str, object]
"""One JSON object as decoded: string keys, values of any JSON type."""


def as_object(value: object) -> JsonObject:
    """Return a value as an object; an empty one when it is anything else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def child(obj: JsonObject, *path: str) -> JsonObject:
    """Return the object at a path, empty when there is none; not for writing into."""
    for key in path:
        inner = obj.get(key)
        if not isinstance(inner, dict):
            return {}
        obj = inner
    return obj


def ensure(obj: JsonObject, *path: str) -> JsonObject:
    """Return the object at a path for writing into, creating what is missing on the way."""
    for key in path:
        inner = obj.get(key)
        if not isinstance(inner, dict):
            inner = obj[key] = {}
        obj = inner
    return obj


def value_at(obj: JsonObject, *path: str) -> object:
    """Return whatever lies at a path, None when nothing does."""
    for key in path[:-1]:
        inner = obj.get(key)
        if not isinstance(inner, dict):
            return None
        obj = inner
    return obj.get(path[-1])


def text(obj: JsonObject, *path: str) -> str:
    """Return the string at a path, empty when there is none."""
    value = value_at(obj, *path)
    return value if isinstance(value, str) else ""


def number(obj: JsonObject, *path: str, default: int = 0) -> int:
    """Return the whole number at a path."""
    value = value_at(obj, *path)
    return value if isinstance(value, int) else default


def rows(obj: JsonObject, *path: str) -> list[JsonObject]:
    """Return the objects of the list at a path; its elements may be written into."""
    value = value_at(obj, *path)
    return [cast("JsonObject", item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(obj: JsonObject, *path: str) -> list[str]:
    """Return the strings of the list at a path."""
    value = value_at(obj, *path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def labels_of(obj: JsonObject) -> dict[str, str]:
    """Return an object's labels."""
    return {key: str(value) for key, value in child(obj, "metadata", "labels").items()}


def quantity(value: object) -> Quantity:
    """Read a quantity given as JSON text or number.

    Raises:
        InvalidQuantityError: It is neither, or no quantity.
    """
    return Quantity.parse(str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else "")


_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder()


def encode(value: object) -> bytes:
    """Return a value as JSON text."""
    return _ENCODER.encode(value)


def decode(raw: bytes) -> object:
    """Read JSON text.

    Raises:
        msgspec.DecodeError: It is no JSON.
    """
    return _DECODER.decode(raw)


def copy_of(obj: JsonObject) -> JsonObject:
    """Return a deep copy of a JSON object."""
    return as_object(_DECODER.decode(_ENCODER.encode(obj)))
