"""Checks of what a cluster has to offer: versions, the resize subresource, nodes, metrics, definitions.

Spec: beyond:B-39; resize 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.inspection.documents import Json
from evenkeel.inspection.findings import Area, Finding, Level

FIRST_MINOR: Final = 33
"""Minor version of Kubernetes 1 from which on pods are resized in place by default."""

RESIZE: Final = "pods/resize"
_GATE: Final = "InPlacePodVerticalScaling"
_VERSION: Final = re.compile(r"v?(?P<major>[0-9]+)\.(?P<minor>[0-9]+)")
_FEATURE: Final = re.compile(
    r'^kubernetes_feature_enabled\{name="(?P<name>\w+)"[^}]*\} (?P<value>[0-9.]+)$', re.MULTILINE
)
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What an API server says of itself.

    Args:
        version: Such as ``v1.35.4``; empty where it does not say.
        core_resources: Names in its core group, with subresources; None where that is not known.
        metrics: Text of its own metrics, which name the feature gates; None where they may not be read.
    """

    version: str
    core_resources: frozenset[str] | None
    metrics: str | None


def server_findings(facts: ServerFacts) -> Iterator[Finding]:
    """Yield what there is to say about the API server."""
    yield _version_finding(facts.version)
    if facts.core_resources is None:
        yield Finding(Area.SERVER, Level.NOTE, f"it is not known whether {RESIZE} is served")
    elif RESIZE in facts.core_resources:
        yield Finding(Area.SERVER, Level.OK, f"{RESIZE} is served")
    else:
        yield Finding(
            Area.SERVER,
            Level.PROBLEM,
            f"{RESIZE} is not served, so no pod can be resized in place",
            f"upgrade to Kubernetes 1.{FIRST_MINOR} or newer, or use update mode Recreate or Initial",
        )
    yield from _gate_findings(facts.metrics)


def _version_finding(version: str) -> Finding:
    """Return what there is to say about the version."""
    minor = minor_of(version)
    if minor is None:
        return Finding(Area.SERVER, Level.NOTE, f"version {version or '(not told)'} of the API server is no known one")
    if minor < FIRST_MINOR:
        return Finding(
            Area.SERVER,
            Level.WARNING,
            f"API server {version} is older than 1.{FIRST_MINOR}, from which on pods are resized in place by default",
            "upgrade, or turn the feature gate InPlacePodVerticalScaling on everywhere",
        )
    return Finding(Area.SERVER, Level.OK, f"API server {version}")


def _gate_findings(metrics: str | None) -> Iterator[Finding]:
    """Yield what the API server's metrics say about feature gates."""
    if metrics is None:
        yield Finding(
            Area.SERVER, Level.NOTE, "feature gates are not known, as the API server's metrics may not be read"
        )
        return
    gates = {match["name"]: float(match["value"]) > 0 for match in _FEATURE.finditer(metrics)}
    if gates.get(_GATE) is False:
        yield Finding(
            Area.SERVER, Level.PROBLEM, f"feature gate {_GATE} is off", "turn it on for API server and kubelets"
        )
    elif _GATE in gates:
        yield Finding(Area.SERVER, Level.OK, f"feature gate {_GATE} is on")


def minor_of(version: str) -> int | None:
    """Return the minor version of a version of Kubernetes 1, None for any other text."""
    match = _VERSION.match(version)
    return int(match["minor"]) if match and match["major"] == "1" else None


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What counts of a node.

    Args:
        kubelet: Version of its kubelet.
        system: ``linux`` or ``windows``.
    """

    name: str
    kubelet: str
    system: str


def node_findings(nodes: Iterable[NodeFacts]) -> Iterator[Finding]:
    """Yield what there is to say about the nodes."""
    listed = list(nodes)
    if not listed:
        yield Finding(Area.NODES, Level.NOTE, "there is no node")
        return
    old = [each for each in listed if (minor_of(each.kubelet) or FIRST_MINOR) < FIRST_MINOR]
    windows = [each for each in listed if each.system == "windows"]
    if old:
        yield Finding(
            Area.NODES,
            Level.WARNING,
            f"kubelets older than 1.{FIRST_MINOR} do no resizes: {_names(old)}",
            "upgrade these nodes; pods there are evicted in mode InPlaceOrRecreate once a resize has timed out",
        )
    if windows:
        yield Finding(
            Area.NODES,
            Level.WARNING,
            f"Windows nodes do no resizes: {_names(windows)}",
            "use update mode Recreate or Initial for pods there",
        )
    able = len({each.name for each in listed} - {each.name for each in (*old, *windows)})
    yield Finding(Area.NODES, Level.OK, f"{able} of {len(listed)} nodes can resize pods")


def _names(nodes: list[NodeFacts]) -> str:
    """Return the first names, and how many there are beside them."""
    names = sorted(each.name for each in nodes)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def metrics_finding(pods: int | None, problem: str) -> Finding:
    """Return what there is to say about the metrics API.

    Args:
        pods: How many pods an answer had; None where there was none.
        problem: Why there was none.
    """
    if pods is None:
        return Finding(
            Area.METRICS,
            Level.PROBLEM,
            f"the metrics API does not answer: {problem}",
            "install metrics-server, or look at the APIService v1beta1.metrics.k8s.io; a recommender with "
            "--use-external-metrics or --usage-source=prometheus does without",
        )
    if not pods:
        return Finding(
            Area.METRICS,
            Level.WARNING,
            "the metrics API answers, but knows no pod",
            "wait a minute after its start, then look at the metrics server's log",
        )
    return Finding(Area.METRICS, Level.OK, "the metrics API answers")


def image_findings(images: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what there is to say about the images of the processes.

    Args:
        images: By process, of those whose Deployments are known.
    """
    if len(set(images.values())) > 1:
        listed = ", ".join(f"{process} {image}" for process, image in sorted(images.items()))
        yield Finding(
            Area.PROCESSES,
            Level.WARNING,
            f"the processes run different images: {listed}",
            "deploy the same version of all three; they read each other's annotations and checkpoints",
        )


def definition_findings(
    group: ApiGroup, wanted: Mapping[str, Json], present: Mapping[str, Json | None]
) -> Iterator[Finding]:
    """Yield what there is to say about the definitions of the two kinds.

    Args:
        group: API group that is looked at.
        wanted: Definitions of this version, by name of the object.
        present: Those of the cluster, None for one that is not there.
    """
    folder = "manifests/crd" if group is ApiGroup.EVENKEEL else "manifests/crd/upstream-group"
    remedy = f"kubectl apply --server-side -k {folder}"
    for name, ours in wanted.items():
        theirs = present.get(name)
        lacking = sorted(_fields(ours) - _fields(theirs)) if theirs is not None else []
        if theirs is None:
            message, level = f"CustomResourceDefinition {name} is not there", Level.PROBLEM
        elif not _is_established(theirs):
            message, level = f"CustomResourceDefinition {name} is not established", Level.PROBLEM
        elif lacking and group is ApiGroup.EVENKEEL:
            more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
            message = f"CustomResourceDefinition {name} is older: it lacks {', '.join(lacking[:_NAMED])}{more}"
            level = Level.WARNING
        else:
            message, level = f"CustomResourceDefinition {name} is established", Level.OK
        yield Finding(Area.DEFINITIONS, level, message, "" if level is Level.OK else remedy)


def _is_established(definition: Json) -> bool:
    """Say whether the API server serves a definition."""
    conditions = _at(definition, "status", "conditions")
    listed = conditions if isinstance(conditions, list) else []
    return any(_at(each, "type") == "Established" and _at(each, "status") == "True" for each in listed)


def _fields(definition: Json) -> set[str]:
    """Return the paths of all fields that the versions of a definition name."""
    versions = _at(definition, "spec", "versions")
    found: set[str] = set()
    for version in versions if isinstance(versions, list) else ():
        found |= set(_paths(_at(version, "schema", "openAPIV3Schema"), ""))
    return found


def _paths(schema: Json, prefix: str) -> Iterator[str]:
    """Yield the paths of the fields of a schema, through lists as well."""
    properties = _at(schema, "properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        yield from _paths(inner, path)
    items = _at(schema, "items")
    if items is not None:
        yield from _paths(items, f"{prefix}[]")


def _at(value: Json, *names: str) -> Json:
    """Return a member of a member, None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
