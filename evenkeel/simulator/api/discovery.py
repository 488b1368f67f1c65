"""Discovery: versions, groups, resources, health, and as much OpenAPI as kubectl asks for before it writes."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.kinds import Kind, KindRegistry

GIT_VERSION = "v1.35.4"
_VERSION: JsonObject = {"major": "1", "minor": "35", "gitVersion": GIT_VERSION, "platform": "linux/amd64"}
_HEALTH_PATHS = ("/healthz", "/livez", "/readyz")
_SUBRESOURCE_VERBS = {"eviction": ("create",), "binding": ("create",), "token": ("create",)}
_WRITE_PART_VERBS = ("get", "patch", "update")
_SUBRESOURCE_KINDS: dict[str, tuple[str, str, str]] = {
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "binding": ("", "", "Binding"),
}
_PREFERRED_CORE = "v1"


def discovery_document(registry: KindRegistry, path: str) -> JsonObject | str | None:
    """Return what is served at a path that is no resource: an object, plain text, or None for nothing."""
    parts = path.strip("/").split("/")
    if any(path == health or path.startswith(health + "/") for health in _HEALTH_PATHS):
        return "ok"
    match parts:
        case ["version"]:
            return _VERSION
        case ["api"]:
            return {"kind": "APIVersions", "versions": [_PREFERRED_CORE], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in registry.group_versions().items() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            versions = registry.group_versions().get(group)
            return {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, versions) if versions else None
        case ["api", version]:
            return _resources(registry, "", version)
        case ["apis", group, version]:
            return _resources(registry, group, version)
        case ["openapi", "v3", *rest]:
            return _openapi(registry, rest)
        case _:
            return None


def _group(name: str, versions: list[str]) -> JsonObject:
    """Return one group with its versions."""
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _resources(registry: KindRegistry, group: str, version: str) -> JsonObject | None:
    """Return the resources of one group and version, subresources among them."""
    kinds = [kind for kind in registry.all() if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    resources: list[JsonObject] = []
    for kind in kinds:
        resources.append(_resource(kind))
        resources.extend(_subresource(kind, name) for name in kind.subresources)
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version, "resources": resources}


def _resource(kind: Kind) -> JsonObject:
    """Return the entry of a main resource."""
    entry: JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _subresource(kind: Kind, name: str) -> JsonObject:
    """Return the entry of a subresource; one that speaks another kind names that."""
    group, version, spoken = _SUBRESOURCE_KINDS.get(name, ("", "", kind.kind))
    entry: JsonObject = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if version:
        entry |= {"group": group, "version": version}
    return entry | {"kind": spoken, "verbs": list(_SUBRESOURCE_VERBS.get(name, _WRITE_PART_VERBS))}


def _openapi(registry: KindRegistry, rest: list[str]) -> JsonObject | None:
    """Return the index of OpenAPI documents, or the document of one group and version."""
    if not rest:
        roots = [_root(group, version) for group, versions in registry.group_versions().items() for version in versions]
        return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}
    wanted = "/".join(rest)
    kinds = [kind for kind in registry.all() if _root(kind.group, kind.version) == wanted]
    if not kinds:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Evenkeel embedded API server", "version": GIT_VERSION},
        "paths": {_object_path(kind): {"patch": _patch_operation(kind)} for kind in kinds},
        "components": {"schemas": {_schema_name(kind): _schema(kind) for kind in kinds}},
    }


def _root(group: str, version: str) -> str:
    """Return the path below which a group and version is served."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _object_path(kind: Kind) -> str:
    """Return the path template of one object."""
    scope = "namespaces/{namespace}/" if kind.namespaced else ""
    return f"/{_root(kind.group, kind.version)}/{scope}{kind.plural}/{{name}}"


def _identity(kind: Kind) -> JsonObject:
    """Return a kind as OpenAPI extensions name it."""
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _patch_operation(kind: Kind) -> JsonObject:
    """Return the operation in which clients look for the parameters that writes take."""
    names = ("dryRun", "fieldManager", "fieldValidation", "force")
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    return {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _identity(kind),
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
    }


def _schema_name(kind: Kind) -> str:
    """Return the name of a kind's schema."""
    return f"{kind.group or 'core'}.{kind.version}.{kind.kind}"


def _schema(kind: Kind) -> JsonObject:
    """Return the schema of a kind: its own for a custom one, any object otherwise."""
    source: JsonObject = dict(kind.schema.source) if kind.schema else {"type": "object"}
    return source | {"x-kubernetes-group-version-kind": [_identity(kind)]}
