"""Writes docs/api-reference.md from the definitions; run as ``python -m evenkeel.cli.document_api``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from autoscaling.policy import controlled_resources, controlled_values, scaling_mode
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.flag_help import default_texts
from autoscaling.runtime.flag_model import FlagModel, flag_specs
from autoscaling.vpa import DEFAULT_RECOMMENDER, UpdateMode
from evenkeel.crd.definitions import definitions
from evenkeel.crd.schema import Json, Schema
from recommender.config import RecommenderConfig
from recommender.strategies.vpa import VPA_DEFAULT
from updater.config import UpdaterConfig

_INTRODUCTION = """\
# API reference

This file is generated: `python -m evenkeel.cli.document_api` writes it from the definitions in `manifests/crd`.

Two kinds, each in two API groups: `autoscaling.evenkeel.dev/v1` is Evenkeel's own, `autoscaling.k8s.io/v1` is
upstream's. The own group has upstream's fields and a few more, which are marked **own group**, and states rules in the
definition that upstream leaves to its webhook or to nobody; those are marked, too.
`kubectl explain verticalpodautoscalers.autoscaling.evenkeel.dev.spec` shows the same at a terminal.

`[]` stands for each entry of a list. A quantity is a Kubernetes one, such as `250m` or `128Mi`. "When absent" is what
counts then; the definitions fill nothing in. The webhook sets one field: `spec.updatePolicy` becomes
`{updateMode: Recreate}` where there is none. Types of conditions, and what to do about each, are in
[troubleshooting.md](troubleshooting.md).
"""

_WEBHOOK = """\
## What the webhook checks beside

Both groups, as upstream's does. Fields behind a gate stay usable in objects that had them already.

| field | has to |
|---|---|
| `spec.updatePolicy.updateMode` | be there where `spec.updatePolicy` is; `InPlace` needs the gate `InPlace` |
| `spec.updatePolicy.minReplicas` | be at least 1 |
| `spec.recommenders` | have one entry at most |
| `…containerPolicies[].containerName` | be there |
| `…containerPolicies[].minAllowed`, `.maxAllowed` | be whole millicores and bytes, and in order |
| `…containerPolicies[].controlledResources[]` | be `cpu` or `memory` |
| `…containerPolicies[].controlledValues` | not be `RequestsAndLimits` where the mode is `Off` |
| `…containerPolicies[].oomBumpUpRatio` | be at least 1 |
| `…containerPolicies[].oomMinBumpUp` | be at least 0 |
| `….startupBoost.cpu.factor` | be at least 1 |
| `….startupBoost.cpu.quantity` | be whole millicores |
"""

_ABOUT: Final = MappingProxyType(
    {
        "verticalpodautoscalers": "One for each workload. `status` is a subresource: what changes there leaves "
        "`metadata.generation` as it is.",
        "verticalpodautoscalercheckpoints": "One for each container of an autoscaler, written by the recommender. "
        "Nobody else should write them; to keep or move them see [operations.md](operations.md#backup-of-histories).",
    }
)

_POLICY = "spec.resourcePolicy.containerPolicies[]"
_UPDATE = "spec.updatePolicy"
_BOOSTS = ("spec.startupBoost", f"{_POLICY}.startupBoost")

_FLAGS: Final[Mapping[str, tuple[type[FlagModel], str]]] = MappingProxyType(
    {
        f"{_UPDATE}.minReplicas": (UpdaterConfig, "min-replicas"),
        f"{_UPDATE}.evictAfterOOMSeconds": (UpdaterConfig, "evict-after-oom-threshold"),
        f"{_UPDATE}.inPlaceDeferredTimeoutSeconds": (UpdaterConfig, "in-place-deferred-timeout"),
        f"{_UPDATE}.inPlaceProgressTimeoutSeconds": (UpdaterConfig, "in-place-progress-timeout"),
        f"{_POLICY}.oomBumpUpRatio": (RecommenderConfig, "oom-bump-up-ratio"),
        f"{_POLICY}.oomMinBumpUp": (RecommenderConfig, "oom-min-bump-up-bytes"),
        f"{_POLICY}.memoryAggregationIntervalSeconds": (RecommenderConfig, "memory-aggregation-interval"),
        f"{_POLICY}.memoryAggregationIntervalCount": (RecommenderConfig, "memory-aggregation-interval-count"),
    }
)
"""Fields for which a flag of a process counts where they are absent."""

_CONSTANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        _UPDATE: f"`{{updateMode: {UpdateMode.RECREATE.value}}}`",
        f"{_UPDATE}.updateMode": f"`{UpdateMode.RECREATE.value}`",
        f"{_POLICY}.mode": f"`{scaling_mode(None).value}`",
        f"{_POLICY}.controlledValues": f"`{controlled_values(None).value}`",
        f"{_POLICY}.controlledResources": f"`[{', '.join(controlled_resources(None))}]`",
        f"{_POLICY}.minAllowed": "no bound",
        f"{_POLICY}.maxAllowed": "no bound",
        f"{_POLICY}.startupBoost": "`spec.startupBoost`",
        "spec.recommenders": f"the one named `{DEFAULT_RECOMMENDER}`",
        "spec.recommender.strategy": f"`{VPA_DEFAULT.name}`",
        **{f"{boost}.cpu.durationSeconds": "`0`" for boost in _BOOSTS},
    }
)
"""Fields for which something else counts."""

GATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{_UPDATE}.evictAfterOOMSeconds": "PerVPAConfig",
        f"{_POLICY}.oomBumpUpRatio": "PerVPAConfig",
        f"{_POLICY}.oomMinBumpUp": "PerVPAConfig",
        f"{_POLICY}.memoryAggregationIntervalSeconds": "PerVPAConfig",
        f"{_POLICY}.memoryAggregationIntervalCount": "PerVPAConfig",
        **dict.fromkeys(_BOOSTS, "CPUStartupBoost"),
    }
)
"""Feature gates that the webhook asks for, by field."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a kind.

    Args:
        path: From the object, as in ``spec.recommenders[].name``.
        node: Its schema.
        is_required: Whether it has to be there once what it is in is.
    """

    path: str
    node: Schema
    is_required: bool


def fields(schema: Schema) -> Iterator[Field]:
    """Yield every field of an object in the order of the schema, but for those that all objects have.

    Args:
        schema: Of the whole object.
    """
    for field in _below(schema, ""):
        if field.path.partition(".")[0] not in {"apiVersion", "kind", "metadata"}:
            yield field


def render_api() -> str:
    """Return the text of docs/api-reference.md (spec: api 1 and 2, product 2)."""
    own, upstream = definitions(ApiGroup.EVENKEEL), definitions(ApiGroup.UPSTREAM)
    kinds = (_kind(about, own[plural], upstream[plural]) for plural, about in _ABOUT.items())
    return "\n".join((_INTRODUCTION, *kinds, _WEBHOOK))


def _kind(about: str, own: Schema, upstream: Schema) -> str:
    """Return the part about a kind."""
    names = _object(_object(own["spec"])["names"])
    theirs = _object(_object(upstream["spec"])["names"])
    version = _version(own)
    columns = [_object(column) for column in _list(version.get("additionalPrinterColumns", []))]
    shown = ", ".join(f"`{column['name']}`" + (" (wide)" if "priority" in column else "") for column in columns)
    short = f"`{_list(names['shortNames'])[0]}` (upstream's group: `{_list(theirs['shortNames'])[0]}`)"
    lines = [f"## {names['kind']}", "", about, "", f"Plural `{names['plural']}`, short name {short}."]
    if shown:
        lines += ["", f"Columns of `kubectl get`: {shown}."]
    lines += ["", "| field | type | when absent | rules | meaning |", "|---|---|---|---|---|"]
    known = {field.path: field for field in fields(_root(upstream))}
    lines += [_row(field, known.get(field.path)) for field in fields(_root(own))]
    return "\n".join(lines) + "\n"


def _row(field: Field, upstream: Field | None) -> str:
    """Return the row of a field.

    Args:
        field: As the own group has it.
        upstream: As upstream has it, None where it has none.
    """
    name = f"`{field.path}`" if upstream else f"`{field.path}` **own group**"
    shared = set(_rules(upstream)) if upstream else set(_rules(field))
    rules = [rule if rule in shared else f"own group: {rule}" for rule in _rules(field)]
    if field.path in GATES:
        rules.append(f"gate `{GATES[field.path]}`")
    meaning = str(field.node.get("description", ""))
    cells = (name, _type(field.node), _absent(field.path), "; ".join(rules), meaning)
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _below(node: Schema, path: str) -> Iterator[Field]:
    """Yield the fields below a node."""
    required = _list(node.get("required", []))
    for name, child in _object(node.get("properties", {})).items():
        inner = _object(child)
        below = f"{path}.{name}" if path else name
        yield Field(below, inner, name in required)
        while inner.get("type") == "array":
            below, inner = f"{below}[]", _object(inner["items"])
        yield from _below(inner, below)


def _type(node: Schema) -> str:
    """Return what a field holds, in words."""
    if node.get("x-kubernetes-int-or-string"):
        return "quantity"
    if node.get("x-kubernetes-preserve-unknown-fields"):
        return "free object"
    match node["type"]:
        case "array":
            return f"list of {_type(_object(node['items']))}"
        case "object" if "additionalProperties" in node:
            return "quantities by resource"
        case "integer":
            return str(node.get("format", "integer"))
        case "string" if node.get("format") == "date-time":
            return "time"
        case kind:
            return str(kind)


def _rules(field: Field) -> tuple[str, ...]:
    """Return what the definition asks of a field, in words."""
    return tuple(_stated(field))


def _stated(field: Field) -> Iterator[str]:
    """Yield one rule after the other; those of the entries of a list count as its own."""
    node = field.node
    if field.is_required:
        yield "required"
    for inner, prefix in ((node, ""), (_inner(node), "each ")):
        if "enum" in inner:
            yield f"{prefix}one of {', '.join(f'`{value}`' for value in _list(inner['enum']))}"
        if "minimum" in inner:
            yield f"{prefix}at least {inner['minimum']}"
        if "maxLength" in inner:
            yield f"{prefix}at most {inner['maxLength']} characters"
        if "pattern" in inner and not inner.get("x-kubernetes-int-or-string"):
            yield f"{prefix}matches `{inner['pattern']}`"
        for stated in _list(inner.get("x-kubernetes-validations", [])):
            yield f"{prefix}{'' if prefix else 'CEL: '}{_object(stated)['message']}"
    yield from _sizes(node)
    if node.get("nullable"):
        yield "may be null"


def _sizes(node: Schema) -> Iterator[str]:
    """Yield how many there may be, and how many characters a text has at least."""
    if "minLength" in node:
        yield "not empty"
    if "maxItems" in node:
        yield "at most 1 entry" if node["maxItems"] == 1 else f"at most {node['maxItems']} entries"
    if "maxProperties" in node:
        yield f"at most {node['maxProperties']} resources"
    if "x-kubernetes-list-map-keys" in node:
        yield f"one entry for each `{_list(node['x-kubernetes-list-map-keys'])[0]}`"


def _inner(node: Schema) -> Schema:
    """Return the schema of the entries of a list or of the values of a map, an empty one for anything else."""
    inner = node.get("items", node.get("additionalProperties", {}))
    return inner if isinstance(inner, dict) else {}


def _absent(path: str) -> str:
    """Return what counts where a field is absent."""
    if path in _FLAGS:
        model, name = _FLAGS[path]
        (spec,) = (spec for spec in flag_specs(model) if spec.name == name)
        return f"`--{name}` of the {model.program.removeprefix('evenkeel-')} (`{default_texts(spec)[0]}`)"
    return _CONSTANTS.get(path, "")


def undocumented(paths: Iterable[str]) -> list[str]:
    """Return the fields that this module says something about and that are not among those given."""
    return sorted({*_FLAGS, *_CONSTANTS, *GATES} - set(paths))


def _root(definition: Schema) -> Schema:
    return _object(_object(_version(definition)["schema"])["openAPIV3Schema"])


def _version(definition: Schema) -> Schema:
    (version,) = _list(_object(definition["spec"])["versions"])
    return _object(version)


def _object(value: Json) -> Schema:
    if not isinstance(value, dict):
        raise TypeError(f"the definition has {value!r} where an object is expected; correct evenkeel/crd")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(f"the definition has {value!r} where a list is expected; correct evenkeel/crd")
    return value


def _escaped(text: str) -> str:
    """Return text for a cell; a star that stands alone is no emphasis."""
    return text.replace("|", "\\|").replace(" * ", " `*` ")


def main() -> None:
    """Write the file below the folder given, or below the working directory."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    (root / "docs" / "api-reference.md").write_text(render_api(), encoding="utf-8")


if __name__ == "__main__":
    main()
