"""JSON documents of the API server, and reading single values out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, Union

JsonValue: TypeAlias = Union["JsonObject", "list[JsonValue]", str, int, float, bool, None]
JsonObject: TypeAlias = "dict[str, JsonValue]"


def at(document: JsonValue, *steps: str | int) -> JsonValue:
    """Follow keys and list positions into a document; None where the way ends."""
    value = document
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def text_at(document: JsonValue, *steps: str | int) -> str:
    """Follow keys and list positions to a text; empty where the way ends."""
    value = at(document, *steps)
    return value if isinstance(value, str) else ""


def number_at(document: JsonValue, *steps: str | int) -> int:
    """Follow keys and list positions to a whole number; 0 where the way ends."""
    value = at(document, *steps)
    return value if isinstance(value, int) else 0


def objects_at(document: JsonValue, *steps: str | int) -> list[JsonObject]:
    """Follow keys and list positions to a list of objects; empty where the way ends."""
    value = at(document, *steps)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def condition(document: JsonValue, kind: str) -> JsonObject | None:
    """Return one of ``status.conditions`` by its type; None if it is not set."""
    conditions: Sequence[JsonObject] = objects_at(document, "status", "conditions")
    return next((entry for entry in conditions if entry.get("type") == kind), None)


def is_condition_true(document: JsonValue, kind: str) -> bool:
    """Say whether one of ``status.conditions`` is there with status True."""
    return text_at(condition(document, kind), "status") == "True"
