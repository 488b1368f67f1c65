"""A custom resource's schema read as plain JSON schema, for what that language can say."""

from __future__ import annotations

import jsonschema

from evenkeel.crd.schema import Json, Schema
from tests.manifests.structural import as_object


def refused_fields(schema: Schema, instance: Json) -> set[str]:
    """Paths of the fields that break a schema, written as an API server writes them."""
    validator = jsonschema.Draft202012Validator(as_object(_plain(schema)))
    return {_path(error) for error in validator.iter_errors(instance)}


def _path(error: jsonschema.ValidationError) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    if error.validator == "required":
        missing = error.message.split("'")[1]
        path += f".{missing}"
    return path.removeprefix(".")


def _plain(node: Json) -> Json:
    if isinstance(node, list):
        return [_plain(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _plain(value) for key, value in node.items()}
    if plain.pop("nullable", None) is True:
        plain["type"] = [plain["type"], "null"]
    return plain
