"""Where a pod may run, read from its JSON beside the pod itself, for whoever has to know.

Pods of one workload mostly say the same here, so what they say is held once, as in ``pod_parts``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration
from autoscaling.wire.pod_parts import ABSENT, Wire, read_part
from autoscaling.wire.scalars import QuantityText, resource_list

_DEFAULT_SCHEDULER: Final = "default-scheduler"
_TYING_VOLUMES: Final = frozenset(
    {
        "persistentVolumeClaim",
        "ephemeral",
        "awsElasticBlockStore",
        "azureDisk",
        "cinder",
        "gcePersistentDisk",
        "iscsi",
        "rbd",
        "vsphereVolume",
    }
)
"""Volumes that a scheduler may find on some nodes only, or with one user at a time."""
_REMEMBERED: Final = 2048


class _Port(Wire, frozen=True, gc=False):
    host_port: int | None = None


class _Container(Wire, frozen=True, gc=False):
    ports: list[_Port] | None = None


class _Expression(Wire, frozen=True, gc=False):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(Wire, frozen=True, gc=False):
    match_expressions: list[_Expression] | None = None
    match_fields: list[_Expression] | None = None


class _Terms(Wire, frozen=True, gc=False):
    node_selector_terms: list[_Term] | None = None


class _NodeAffinity(msgspec.Struct, frozen=True, gc=False):
    required: _Terms | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class _PodAffinity(msgspec.Struct, frozen=True, gc=False):
    required: list[msgspec.Raw] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class _Affinity(Wire, frozen=True, gc=False):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _Spread(Wire, frozen=True, gc=False):
    when_unsatisfiable: str = ""


class _Toleration(Wire, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class _Resources(Wire, frozen=True, gc=False):
    requests: dict[str, QuantityText] | None = None
    limits: dict[str, QuantityText] | None = None


class _Spec(Wire, frozen=True, gc=False):
    node_selector: msgspec.Raw = ABSENT
    affinity: msgspec.Raw = ABSENT
    tolerations: msgspec.Raw = ABSENT
    overhead: msgspec.Raw = ABSENT
    topology_spread_constraints: msgspec.Raw = ABSENT
    priority: int | None = None
    priority_class_name: str = ""
    active_deadline_seconds: int | None = None
    resources: msgspec.Raw = ABSENT
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: list[dict[str, msgspec.Raw]] | None = None
    resource_claims: list[msgspec.Raw] | None = None
    scheduling_gates: list[msgspec.Raw] | None = None
    scheduler_name: str = _DEFAULT_SCHEDULER


class _Pod(Wire, frozen=True, gc=False):
    spec: _Spec = _Spec()


_PODS = msgspec.json.Decoder(_Pod)
_LABELS = msgspec.json.Decoder(dict[str, str] | None)
_AFFINITIES = msgspec.json.Decoder(_Affinity | None)
_TOLERATIONS = msgspec.json.Decoder(list[_Toleration] | None)
_AMOUNTS = msgspec.json.Decoder(dict[str, QuantityText] | None)
_POD_RESOURCES = msgspec.json.Decoder(_Resources | None)
_SPREADS = msgspec.json.Decoder(list[_Spread] | None)

_Text = tuple[bytes, bytes, bytes, bytes, bytes, bytes, int, str, bool, bool]
"""What a placement is remembered by: node selector, affinity, tolerations, overhead, topology spread and resources as
JSON, priority and its class, and whether something else ties the pod, and whether it has a deadline."""


def decode_placement(raw: bytes) -> Placement:
    """Read where a pod may run.

    Raises:
        msgspec.MsgspecError: The JSON is malformed or a field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.

    Spec: beyond:B-24, beyond:B-25.
    """
    spec = _PODS.decode(raw).spec
    return _placement(
        (
            bytes(spec.node_selector),
            bytes(spec.affinity),
            bytes(spec.tolerations),
            bytes(spec.overhead),
            bytes(spec.topology_spread_constraints),
            bytes(spec.resources),
            spec.priority or 0,
            spec.priority_class_name,
            _is_tied_otherwise(spec),
            spec.active_deadline_seconds is not None,
        )
    )


@lru_cache(_REMEMBERED)
def _placement(text: _Text) -> Placement:
    """Read what pods of one workload have in common."""
    selector, affinities, tolerations, overhead, spreads, resources, priority, priority_class, tied, deadline = text
    labels = read_part(_LABELS, selector, "spec.nodeSelector")
    affinity = read_part(_AFFINITIES, affinities, "spec.affinity") or _Affinity()
    required = affinity.node_affinity.required if affinity.node_affinity else None
    spread = read_part(_SPREADS, spreads, "spec.topologySpreadConstraints") or ()
    own = read_part(_POD_RESOURCES, resources, "spec.resources") or _Resources()
    return Placement(
        node_selector=labels or {},
        node_terms=None if required is None else tuple(map(_term, required.node_selector_terms or ())),
        tolerations=tuple(
            Toleration(t.key, t.operator or "Equal", t.value, t.effect)
            for t in read_part(_TOLERATIONS, tolerations, "spec.tolerations") or ()
        ),
        overhead=resource_list(read_part(_AMOUNTS, overhead, "spec.overhead")),
        priority=priority,
        priority_class=priority_class,
        is_tied=tied
        or any(
            of_pods is not None and of_pods.required for of_pods in (affinity.pod_affinity, affinity.pod_anti_affinity)
        )
        or any(constraint.when_unsatisfiable == "DoNotSchedule" for constraint in spread),
        has_pod_resources=bool(own.requests or own.limits),
        requests=resource_list(own.requests),
        has_deadline=deadline,
        limits=resource_list(own.limits),
    )


@lru_cache(_REMEMBERED)
def amounts_as_a_whole(resources: bytes, overhead: bytes) -> Placement | None:
    """Read what a pod has besides what its containers state, None where that is nothing.

    Args:
        resources: ``spec.resources`` as JSON.
        overhead: ``spec.overhead`` as JSON.

    Raises:
        msgspec.MsgspecError: A field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.
    """
    own = read_part(_POD_RESOURCES, resources, "spec.resources") or _Resources()
    extra = read_part(_AMOUNTS, overhead, "spec.overhead")
    if not (own.requests or own.limits or extra):
        return None
    return Placement(
        overhead=resource_list(extra),
        has_pod_resources=bool(own.requests or own.limits),
        requests=resource_list(own.requests),
        limits=resource_list(own.limits),
    )


def _term(term: _Term) -> NodeTerm:
    """Read one term of a required node affinity."""
    return NodeTerm(_requirements(term.match_expressions), _requirements(term.match_fields))


def _requirements(expressions: list[_Expression] | None) -> tuple[NodeRequirement, ...]:
    """Read the expressions of a term."""
    return tuple(NodeRequirement(e.key, e.operator, tuple(e.values or ())) for e in expressions or ())


def _is_tied_otherwise(spec: _Spec) -> bool:
    """Say whether something else than affinity and topology spread ties a pod.

    Volumes bear names made up for each pod, so they are looked at here and not remembered by.
    """
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    return (
        spec.scheduler_name not in {"", _DEFAULT_SCHEDULER}
        or bool(spec.resource_claims or spec.scheduling_gates)
        or any(port.host_port for container in containers for port in container.ports or ())
        or any(not _TYING_VOLUMES.isdisjoint(volume) for volume in spec.volumes or ())
    )
