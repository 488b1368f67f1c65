"""The two merge patches: JSON merge patch, and Kubernetes' strategic one, which merges lists by key."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, as_object
from evenkeel.simulator.api.status import bad_request

_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "port"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "volumes": ("name",),
    "conditions": ("type",),
    "addresses": ("type",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "hostAliases": ("ip",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "readinessGates": ("conditionType",),
    "ownerReferences": ("uid",),
    "webhooks": ("name",),
    "matchConditions": ("name",),
}
"""Lists of objects that are merged, and the key (the first one that the items have) by which."""

_SETS = ("finalizers",)
"""Lists of plain values that are united."""

_ORDER, _DELETE_FROM = "$setElementOrder/", "$deleteFromPrimitiveList/"
_DIRECTIVE, _RETAIN = "$patch", "$retainKeys"


def merge_patch(target: object, patch: object) -> object:
    """Apply an RFC 7386 merge patch and return the result; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(as_object(target))
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def strategic_merge(target: JsonObject, patch: JsonObject) -> JsonObject:
    """Apply a strategic merge patch and return the result; neither argument is changed.

    Raises:
        StatusError: A directive is unknown, or an item of a merged list lacks its key (400).
    """
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise bad_request(f"{directive!r} is no directive of a strategic merge patch; use replace, merge or delete")
    result = dict(target)
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        _merge_member(result, key, value, patch)
    return result


def _merge_member(result: JsonObject, key: str, value: object, patch: JsonObject) -> None:
    """Merge one member of a patch into the result."""
    if key.startswith(_DELETE_FROM):
        name = key.removeprefix(_DELETE_FROM)
        gone = value if isinstance(value, list) else []
        present = result.get(name)
        result[name] = [item for item in present if item not in gone] if isinstance(present, list) else present
    elif key.startswith("$"):
        return
    elif value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        result[key] = strategic_merge(as_object(result.get(key)), value)
    elif isinstance(value, list):
        result[key] = _merge_list(key, result.get(key), value, patch.get(_ORDER + key))
    else:
        result[key] = value


def _merge_list(name: str, target: object, patch: list[object], order: object) -> list[object]:
    """Merge a list by its key, unite it, or replace it, as its name tells."""
    present = list(target) if isinstance(target, list) else []
    if name in _SETS:
        return present + [item for item in patch if item not in present]
    if any(as_object(item).get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if as_object(item).get(_DIRECTIVE) != "replace"]
    key = _merge_key(name, patch)
    if key is None:
        return patch
    added: list[object] = []
    for item in patch:
        change = as_object(item)
        if key not in change:
            raise bad_request(f"an item of list {name!r} in a strategic merge patch lacks its merge key {key!r}")
        at = next((i for i, old in enumerate(present) if as_object(old).get(key) == change[key]), None)
        if change.get(_DIRECTIVE) == "delete":
            present = present[:at] + present[at + 1 :] if at is not None else present
        elif at is None:
            added.append(strategic_merge({}, change))
        else:
            present[at] = strategic_merge(as_object(present[at]), change)
    return _ordered(present + added, key, order)


def _merge_key(name: str, items: list[object]) -> str | None:
    """Return the key by which a list is merged, None when it is replaced."""
    keys = _KEYS.get(name)
    if keys is None or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in keys if any(key in as_object(item) for item in items)), keys[0])


def _ordered(items: list[object], key: str, order: object) -> list[object]:
    """Return merged items in the order that a patch prescribes; those it does not name keep their place at the end."""
    if not isinstance(order, list):
        return items
    ranks = {as_object(entry).get(key): rank for rank, entry in enumerate(order)}
    return sorted(items, key=lambda item: ranks.get(as_object(item).get(key), len(ranks)))
