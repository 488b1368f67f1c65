"""Structural schemas of custom kinds: prune, default, validate by keywords and rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import cast

import jsonschema
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, rows, text, texts
from evenkeel.simulator.api.rules import Sides, rules_of
from evenkeel.simulator.api.status import Cause, CauseType

_INTEGER_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_ROOT_FIELDS = ("apiVersion", "kind", "metadata")
_FORMATS = jsonschema.FormatChecker(formats=())
_TYPE_KEYWORDS = {"type", "anyOf", "format"}
_QUOTED = re.compile(r"'([^']*)'")


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    """Accept RFC 3339 times; other types are the type keyword's business."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def _unique_by_keys(
    _validator: Validator,
    keys: list[str],
    items: object,
    _schema: JsonObject,
) -> Iterator[jsonschema.ValidationError]:
    """Refuse two items of a map-like list with the same key values."""
    seen: list[tuple[object, ...]] = []
    for index, item in enumerate(items if isinstance(items, list) else []):
        key = tuple(as_object(item).get(name) for name in keys)
        if key in seen:
            yield jsonschema.ValidationError(f"an earlier item has the same {', '.join(keys)}", path=[index])
        seen.append(key)


_SchemaValidator = extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft4Validator, {"x-kubernetes-list-map-keys": _unique_by_keys}
)


class StructuralSchema:
    """The ``openAPIV3Schema`` of one version of a custom kind.

    Args:
        schema: The schema as written in the CustomResourceDefinition.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.source = schema
        self._rules = rules_of(schema)
        self._validator = _SchemaValidator(_translated(schema), format_checker=_FORMATS)

    def prune(self, body: JsonObject) -> list[str]:
        """Drop what the schema does not know, in place, and return the paths of what was dropped."""
        root = {key: body[key] for key in _ROOT_FIELDS if key in body}
        inner = {key: value for key, value in body.items() if key not in _ROOT_FIELDS}
        dropped = list(_prune(self.source, inner, ""))
        body.clear()
        body.update(root | inner)
        return dropped

    def set_defaults(self, body: JsonObject) -> None:
        """Fill in the schema's defaults and drop nulls that it does not allow, in place."""
        _set_defaults(self.source, body, skip=_ROOT_FIELDS)

    def validate(self, body: JsonObject, old: JsonObject | None = None) -> list[Cause]:
        """Return what the schema and its rules find wrong with an object, by field.

        What was wrong before and has not changed is let through, so that an object can be corrected step by step.

        Args:
            body: The object.
            old: The object that it replaces, None for a new one.
        """
        content = {key: value for key, value in body.items() if key != "metadata"}
        errors = [error for error in self._validator.iter_errors(content) if not _was_so(error, old)]
        causes = sorted({_cause(error) for error in errors}, key=lambda cause: (cause.field, cause.message))
        if self._rules is None:
            return causes
        if causes:
            return [*causes, _UNCHECKED]
        return list(self._rules.check(Sides(body, old, old is not None)))


_UNCHECKED = Cause(
    CauseType.INVALID,
    "<nil>",
    "Invalid value: null: the validation rules are looked at once the object is otherwise valid",
)


def _was_so(error: jsonschema.ValidationError, old: JsonObject | None) -> bool:
    """Say whether an object had the same value at the same place before."""
    value: object = old
    for step in cast("list[str | int]", list(error.absolute_path)):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = as_object(value).get(step)
    return old is not None and bool(error.absolute_path) and value is not None and value == error.instance


def _translated(schema: JsonObject) -> JsonObject:
    """Return a structural schema as a JSON Schema of draft 4, whose exclusive bounds are booleans as well."""
    result: JsonObject = {key: value for key, value in schema.items() if key not in {"default", "nullable"}}
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
        result.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    if schema.get("nullable"):
        return {"anyOf": [{"type": "null"}, _translated({k: v for k, v in schema.items() if k != "nullable"})]}
    low, high = _INTEGER_RANGES.get(text(schema, "format"), (None, None))
    if schema.get("type") == "integer" and low is not None:
        result.setdefault("minimum", low)
        result.setdefault("maximum", high)
    if schema.get("x-kubernetes-list-type") == "set":
        result["uniqueItems"] = True
    if "properties" in schema:
        result["properties"] = {k: _translated(as_object(v)) for k, v in child(schema, "properties").items()}
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            result[key] = _translated(child(schema, key))
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            result[key] = [_translated(part) for part in rows(schema, key)]
    return result


def _prune(schema: JsonObject, value: object, path: str) -> Iterator[str]:
    """Drop unknown fields below a value, yielding their paths."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _prune(child(schema, "items"), item, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    properties, additional = child(schema, "properties"), schema.get("additionalProperties")
    kept = schema.get("x-kubernetes-preserve-unknown-fields") is True
    embedded = _ROOT_FIELDS if schema.get("x-kubernetes-embedded-resource") else ()
    for key in list(value):
        where = f"{path}.{key}" if path else key
        if key in properties:
            yield from _prune(child(properties, key), value[key], where)
        elif isinstance(additional, dict):
            yield from _prune(additional, value[key], where)
        elif additional is not True and not kept and key not in embedded:
            del value[key]
            yield where


def _set_defaults(schema: JsonObject, value: object, *, skip: tuple[str, ...] = ()) -> None:
    """Fill in defaults below a value."""
    if isinstance(value, list):
        for item in value:
            _set_defaults(child(schema, "items"), item)
    if not isinstance(value, dict):
        return
    for key, inner in child(schema, "properties").items():
        part = as_object(inner)
        if key in skip:
            continue
        if key in value and value[key] is None and not part.get("nullable"):
            del value[key]
        if key not in value and "default" in part:
            value[key] = copy_of({"default": part["default"]})["default"]
        _set_defaults(part, value.get(key))
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        for inner in value.values():
            _set_defaults(as_object(additional), inner)


def _cause(error: jsonschema.ValidationError) -> Cause:
    """Return one finding of the validator in the API's terms."""
    field = _field_path(error)
    shown = _shown(error.instance)
    match error.validator:
        case "required":
            missing = _QUOTED.search(error.message)
            name = missing.group(1) if missing else ""
            return Cause(CauseType.REQUIRED, f"{field}.{name}" if field else name, "Required value")
        case "enum":
            allowed = ", ".join(f'"{choice}"' for choice in texts({"enum": error.validator_value}, "enum"))
            return Cause(CauseType.NOT_SUPPORTED, field, f"Unsupported value: {shown}: supported values: {allowed}")
        case "x-kubernetes-list-map-keys" | "uniqueItems":
            return Cause(CauseType.DUPLICATE, field, f"Duplicate value: {error.message}")
        case keyword if keyword in _TYPE_KEYWORDS:
            wanted = error.validator_value if keyword != "anyOf" else "integer or string"
            return Cause(CauseType.TYPE_INVALID, field, f"Invalid value: {shown}: must be of type or format {wanted}")
        case "maxLength":
            return Cause(CauseType.TOO_LONG, field, f"Too long: may not have more than {error.validator_value} bytes")
        case "maxItems" | "maxProperties":
            return Cause(CauseType.TOO_MANY, field, f"Too many: must have at most {error.validator_value} entries")
        case _:
            bound = f"{error.validator} {error.validator_value}"
            return Cause(CauseType.INVALID, field, f"Invalid value: {shown}: must satisfy {bound}")


def _shown(value: object) -> str:
    """Return a value as messages print it, shortened."""
    if isinstance(value, str):
        return f'"{value[:80]}"'
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else str(value)


def _field_path(error: jsonschema.ValidationError) -> str:
    """Return where in the object an error lies."""
    path = ""
    for step in cast("list[str | int]", list(error.absolute_path)):
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
