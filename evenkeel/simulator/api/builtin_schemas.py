"""Schemas of the built-in kinds, made from the official client's models; how their lists merge is added from tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from evenkeel.simulator.api.fields import JsonObject, as_object
from evenkeel.simulator.api.kinds import Kind

KEY_DEFAULTS = "x-evenkeel-key-defaults"
"""Where a list's schema says what stands for keys that its items lack."""

_METADATA = "V1ObjectMeta"
_MODELS = "kubernetes.aio.client.models"
_TYPE = re.compile(r"(?P<outer>List|Dict)\[(?:str, )?(?P<inner>.+)\]")
_OWNER = re.compile(r"(?P<owner>[A-Z][a-z]+)??V(?P<version>\d+(?:(?:alpha|beta)\d+)?)(?P<name>[A-Z].*)")
_SCALARS: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "datetime": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "object": {"x-kubernetes-preserve-unknown-fields": True},
}
_INT_OR_STRING = ("port", "targetPort", "maxUnavailable", "maxSurge", "minAvailable")
_QUANTITIES = (
    "limits", "requests", "capacity", "allocatable", "hard", "used", "default", "defaultRequest", "max", "min",
    "maxLimitRequestRatio", "overhead", "allocatedResources", "sizeLimit", "divisor", "averageValue", "value",
    "tolerance",
)  # fmt: skip
_AMBIGUOUS = ("value", "tolerance")
"""Names that are quantities in the types of autoscaling and plain text elsewhere."""

_UNUSUAL = {
    ("", "Event"): "CoreV1Event",
    ("events.k8s.io", "Event"): "CoreV1Event",
    ("authentication.k8s.io", "TokenRequest"): "AuthenticationV1TokenRequest",
}
"""Models whose names do not follow from version and kind; events are stored in the core group's form only."""

_MAP_LISTS: dict[str, tuple[str, ...]] = {
    "matchConditions": ("name",),
    "webhooks": ("name",),
    "variables": ("name",),
    "conditions": ("type",),
    "addresses": ("type",),
    "env": ("name",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "containers": ("name",),
    "ephemeralContainers": ("name",),
    "initContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "claims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumes": ("name",),
    "podIPs": ("ip",),
    "resourceClaimStatuses": ("name",),
    "allocatedResourcesStatus": ("name",),
    "secrets": ("name",),
    "ownerReferences": ("uid",),
    "x-kubernetes-validations": ("rule",),
}
"""Lists that are maps by the named keys of their items, by field; the same wherever the field occurs, except below."""

_MAP_LISTS_OF = {
    ("V1Container", "ports"): ("containerPort", "protocol"),
    ("V1EphemeralContainer", "ports"): ("containerPort", "protocol"),
    ("V1ServiceSpec", "ports"): ("port", "protocol"),
    ("V1ResourceStatus", "resources"): ("resourceID",),
}
_ATOMIC_LISTS_OF = (
    ("V1JobStatus", "conditions"),
    ("V1EndpointSubset", "addresses"),
    ("V1PodTemplateSpec", "conditions"),
    ("V1ServiceAccount", "imagePullSecrets"),
    ("V1ResourceHealth", "claims"),
)
_SETS_OF = (
    ("V1ObjectMeta", "finalizers"),
    ("V1NodeSpec", "podCIDRs"),
    ("V1ValidatingAdmissionPolicyBindingSpec", "validationActions"),
    ("V1ContainerRestartRuleOnExitCodes", "values"),
    ("V1PodFailurePolicyOnExitCodesRequirement", "values"),
    ("V1UncountedTerminatedPods", "failed"),
    ("V1UncountedTerminatedPods", "succeeded"),
    ("V1Endpoint", "addresses"),
)
_KEY_DEFAULTS: JsonObject = {"protocol": "TCP", "containerPort": 0, "port": 0}
"""What stands for a key that an item lacks; for those that are not here, the empty text."""

_ATOMIC = (
    "V1MatchResources", "V1NamedRuleWithOperations", "V1ParamKind", "V1ParamRef", "V1Variable",
    "V1CrossVersionObjectReference", "V1ConfigMapKeySelector", "V1FileKeySelector", "V1LocalObjectReference",
    "V1NodeSelector", "V1NodeSelectorTerm", "V1ObjectFieldSelector", "V1ObjectReference", "V1ResourceFieldSelector",
    "V1ScopeSelector", "V1SecretKeySelector", "V1SecretReference", "V1TypedLocalObjectReference", "V1RoleRef",
    "RbacV1Subject", "V1LabelSelector", "V1OwnerReference", "V1EndpointAddress", "CoreV1EndpointPort",
    "DiscoveryV1EndpointPort",
)  # fmt: skip
"""Types that are owned and replaced as a whole."""

_ATOMIC_MAPS = (
    ("V1PodSpec", "nodeSelector"),
    ("V1ReplicationControllerSpec", "selector"),
    ("V1ServiceSpec", "selector"),
)


class _FieldInfo(Protocol):
    """What the client's models know of one field."""

    description: str | None
    serialization_alias: str | None

    def is_required(self) -> bool:
        """Say whether it must be there."""


class _Model(Protocol):
    """What every model class of the client offers."""

    openapi_types: dict[str, str]
    attribute_map: dict[str, str]
    model_fields: dict[str, _FieldInfo]


@cache
def schema_of(group: str, version: str, kind: str) -> JsonObject | None:
    """Return the schema of a built-in kind with all types in place, None when the client has no model of it."""
    name = _model_name(group, version, kind)
    return _resolved(name) if name else None


def metadata_schema() -> JsonObject:
    """Return the schema of every object's metadata."""
    return _resolved(_METADATA)


def definitions_of(kinds: Iterable[Kind], *, metadata: bool = False) -> dict[str, JsonObject]:
    """Return the schemas of some built-in kinds and of all types they use, which refer to each other by name.

    Args:
        kinds: The kinds.
        metadata: Whether to return the types of metadata in any case.
    """
    found: dict[str, JsonObject] = {}
    waiting = [_METADATA] if metadata else []
    waiting += [name for kind in kinds if (name := _model_name(kind.group, kind.version, kind.kind))]

    def refer(name: str) -> JsonObject:
        waiting.append(name)
        return {"allOf": [{"$ref": f"#/components/schemas/{shown_name(name)}"}], "default": {}}

    while waiting:
        name = waiting.pop()
        if shown_name(name) not in found:
            found[shown_name(name)] = _schema(name, refer, described=True)
    return found


def definition_name(kind: Kind) -> str | None:
    """Return the name under which a kind's schema is among its definitions."""
    name = _model_name(kind.group, kind.version, kind.kind)
    return shown_name(name) if name else None


def shown_name(model: str) -> str:
    """Return a model's name as schemas are named: ``v1.PodSpec``, with the group before it where names clash."""
    parts = _OWNER.fullmatch(model)
    if parts is None:
        return model
    owner = f"{parts['owner'].lower()}." if parts["owner"] else ""
    return f"{owner}v{parts['version']}.{parts['name']}"


@cache
def _model_name(group: str, version: str, kind: str) -> str | None:
    """Return the name of a kind's model."""
    name = _UNUSUAL.get((group, kind), f"{version.title()[0]}{version[1:]}{kind}")
    return name if hasattr(import_module(_MODELS), name) else None


@cache
def _resolved(name: str) -> JsonObject:
    """Return a model's schema with the schemas of its parts in place; a type that holds itself refers to itself."""
    return _resolve(name, {})


def _resolve(name: str, known: dict[str, JsonObject]) -> JsonObject:
    """Do so for one type, with what is already under way."""
    if name not in known:
        known[name] = schema = {}
        schema.update(_schema(name, lambda inner: _resolve(inner, known), described=False))
    return known[name]


def _schema(name: str, refer: Callable[[str], JsonObject], *, described: bool) -> JsonObject:
    """Return the schema of one model."""
    model = cast("_Model", getattr(import_module(_MODELS), name))
    known = {info.serialization_alias or attribute: info for attribute, info in model.model_fields.items()}
    properties: dict[str, JsonObject] = {}
    required: list[str] = []
    for attribute, written in model.openapi_types.items():
        field = model.attribute_map[attribute]
        info = known[field]
        properties[field] = _annotated(name, field, _typed(name, field, written, refer))
        if described and info.description:
            properties[field] = {**properties[field], "description": info.description}
        if info.is_required():
            required.append(field)
    schema: JsonObject = {"type": "object", "properties": properties}
    if described:
        schema["description"] = (model.__doc__ or "").strip().partition("\n")[0]
    if required:
        schema["required"] = required
    if name in _ATOMIC:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _typed(owner: str, field: str, written: str, refer: Callable[[str], JsonObject]) -> JsonObject:
    """Return the schema of a field from the type that the client writes down."""
    outer = _TYPE.fullmatch(written)
    if outer is not None:
        inner = _typed(owner, field, outer["inner"], refer)
        if outer["outer"] == "List":
            return {"type": "array", "items": inner}
        return {"type": "object", "additionalProperties": inner}
    if written == "object" and field in _INT_OR_STRING:
        return {"x-kubernetes-int-or-string": True}
    if written == "str" and field in _QUANTITIES and (field not in _AMBIGUOUS or owner.startswith("V2")):
        return {"x-kubernetes-int-or-string": True, "format": "quantity"}
    return dict(_SCALARS[written]) if written in _SCALARS else refer(written)


def _annotated(owner: str, field: str, schema: JsonObject) -> JsonObject:
    """Return a field's schema with what the tables say about how it merges."""
    if (owner, field) in _ATOMIC_MAPS:
        return {**schema, "x-kubernetes-map-type": "atomic"}
    if schema.get("type") != "array" or (owner, field) in _ATOMIC_LISTS_OF:
        return schema
    if (owner, field) in _SETS_OF:
        return {**schema, "x-kubernetes-list-type": "set"}
    keys = _MAP_LISTS_OF.get((owner, field)) or _MAP_LISTS.get(field)
    items = as_object(schema.get("items"))
    if keys is None or items.get("type") == "string":
        return schema
    marked = {**schema, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return {**marked, KEY_DEFAULTS: {key: _KEY_DEFAULTS.get(key, "") for key in keys}}
