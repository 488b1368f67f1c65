"""OpenAPI: the schemas of all kinds, as kubectl reads them to explain fields and to learn what writes accept."""

from __future__ import annotations

from evenkeel.simulator.api.builtin_schemas import definition_name, definitions_of
from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.api.kinds import Kind, KindRegistry

TITLE = "Evenkeel embedded API server"
_METADATA: JsonObject = {"allOf": [{"$ref": "#/components/schemas/v1.ObjectMeta"}]}
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def openapi_v3(registry: KindRegistry, rest: list[str], version: str) -> JsonObject | None:
    """Return the index of documents, or the document of one group and version; None where there is none."""
    if not rest:
        roots = [root_of(group, name) for group, names in registry.group_versions().items() for name in names]
        return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}
    wanted = "/".join(rest)
    kinds = [kind for kind in registry.all() if root_of(kind.group, kind.version) == wanted]
    if not kinds:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": version},
        "paths": {path: item for kind in kinds for path, item in _paths(kind).items()},
        "components": {"schemas": _schemas(kinds)},
    }


def root_of(group: str, version: str) -> str:
    """Return the path below which a group and version is served."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _identity(kind: Kind) -> JsonObject:
    """Return a kind as OpenAPI extensions name it."""
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _paths(kind: Kind) -> dict[str, JsonObject]:
    """Return the operations on a kind's collection and on one of its objects."""
    scope = "namespaces/{namespace}/" if kind.namespaced else ""
    collection = f"/{root_of(kind.group, kind.version)}/{scope}{kind.plural}"
    return {
        collection: {"get": _operation(kind, "list"), "post": _operation(kind, "post")},
        f"{collection}/{{name}}": {"get": _operation(kind, "get"), "patch": _operation(kind, "patch")},
    }


def _operation(kind: Kind, action: str) -> JsonObject:
    """Return one operation; clients look there for the kind, and for the parameters that writes take."""
    names = _WRITE_PARAMETERS if action in {"post", "patch"} else ()
    return {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _identity(kind),
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names],
        "responses": {"200": {"description": "OK"}},
    }


def _schemas(kinds: list[Kind]) -> dict[str, JsonObject]:
    """Return the schemas of kinds and of the types they use."""
    builtin = [kind for kind in kinds if not kind.is_custom]
    schemas = definitions_of(builtin, metadata=True)
    for kind in kinds:
        name = definition_name(kind) if not kind.is_custom else None
        schema = schemas.get(name, {}) if name else _own(kind)
        schemas[name or f"{kind.group}.{kind.version}.{kind.kind}"] = {
            **schema,
            "x-kubernetes-group-version-kind": [_identity(kind)],
        }
    return schemas


def _own(kind: Kind) -> JsonObject:
    """Return the schema of a kind that the tables do not have: a custom one's, or that of any object."""
    if kind.schema is None:
        return {"type": "object"}
    properties = child(kind.schema.source, "properties")
    return {**kind.schema.source, "properties": {**properties, "metadata": _METADATA}}
