"""Building blocks of a structural schema, as Kubernetes' apiextensions/v1 wants it.

Each function gives one schema node; every node has a type or says that it is int-or-string, so whatever is built
from them is structural.
"""

from __future__ import annotations

from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Schema: TypeAlias = dict[str, Json]

QUANTITY_PATTERN = (
    r"^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
    r"([KMGTPE]i|[numkMGTPE]|[eE][-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?$"
)  # fmt: skip
"""Sign, digits with an optional fraction, then a binary suffix, a decimal suffix, an exponent or nothing."""


def name(description: str, *, pattern: str, max_length: int) -> Schema:
    """A string of a given form.

    Args:
        description: What the field means.
        pattern: Regular expression of all of it.
        max_length: Most characters allowed.
    """
    return {"description": description, "type": "string", "pattern": pattern, "maxLength": max_length}


def text(description: str, *, choices: tuple[str, ...] = ()) -> Schema:
    """A string, free or one of a closed list.

    Args:
        description: What the field means, shown by ``kubectl explain``.
        choices: The only values allowed; empty for any text.
    """
    node: Schema = {"description": description, "type": "string"}
    if choices:
        node["enum"] = list(choices)
    return node


def integer(description: str, *, bits: int = 0, minimum: int | None = None) -> Schema:
    """A whole number.

    Args:
        description: What the field means.
        bits: 32 or 64 to bound the value to that width, 0 for none stated.
        minimum: Smallest value allowed, None for no bound.
    """
    node: Schema = {"description": description, "type": "integer"}
    if bits:
        node["format"] = f"int{bits}"
    if minimum is not None:
        node["minimum"] = minimum
    return node


def number(description: str) -> Schema:
    """A number with a fraction."""
    return {"description": description, "type": "number"}


def timestamp(description: str, *, nullable: bool = False) -> Schema:
    """A point in time in RFC 3339 form, which may be null where ``nullable`` says so."""
    node: Schema = {"description": description, "type": "string", "format": "date-time"}
    if nullable:
        node["nullable"] = True
    return node


def quantity(description: str = "", *, max_length: int | None = None) -> Schema:
    """A Kubernetes quantity: a whole number, or text with an optional suffix.

    Args:
        description: What the field means; empty inside a map, whose own description speaks for its values.
        max_length: Longest text allowed, None for no bound; a CEL rule that reads the value needs one.
    """
    node: Schema = {"description": description} if description else {}
    node["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    node["pattern"] = QUANTITY_PATTERN
    node["x-kubernetes-int-or-string"] = True
    if max_length is not None:
        node["maxLength"] = max_length
    return node


def mapping(description: str, values: Schema) -> Schema:
    """An object with free keys whose values all follow one schema."""
    return {"description": description, "type": "object", "additionalProperties": values}


def opaque(description: str) -> Schema:
    """An object of which nothing is pruned and nothing is checked."""
    return {"description": description, "type": "object", "x-kubernetes-preserve-unknown-fields": True}


def array(description: str, items: Schema) -> Schema:
    """A list whose entries all follow one schema."""
    return {"description": description, "type": "array", "items": items}


def structure(description: str, fields: dict[str, Schema], *, required: tuple[str, ...] = ()) -> Schema:
    """An object with named fields; an API server prunes every other field.

    Args:
        description: What the object means.
        fields: Schema by field name.
        required: Names of the fields that must be there.
    """
    node: Schema = {"description": description, "type": "object", "properties": dict(fields)}
    if required:
        node["required"] = list(required)
    return node


def rule(expression: str, message: str) -> Json:
    """One CEL rule for ``x-kubernetes-validations``, with what the user reads when it fails."""
    return {"rule": expression, "message": message}
