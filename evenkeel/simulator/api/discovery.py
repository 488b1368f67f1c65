"""Discovery: versions, groups, resources, health and OpenAPI."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.kinds import Kind, KindRegistry
from evenkeel.simulator.api.openapi import openapi_v3

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
            return openapi_v3(registry, rest, GIT_VERSION)
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
