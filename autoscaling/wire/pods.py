"""Pods as JSON, decoded to snapshots; only the fields that are used are read.

Pods come by the hundred thousand, so this is msgspec and not pydantic, and what is alike in many pods is held once.

Spec: performance R-5.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.placement import Placement
from autoscaling.pod import ConditionStatus, ContainerStatus, Pod, PodCondition, PodPhase
from autoscaling.sidecars import with_sidecars
from autoscaling.stated_times import stated_time
from autoscaling.wire.placements import amounts_as_a_whole, decode_placement
from autoscaling.wire.pod_parts import (
    ABSENT,
    SIDECAR,
    ContainerText,
    StatusText,
    Wire,
    containers_of,
    init_containers_of,
    labels_of,
    owners_of,
    read_part,
    statuses_of,
)
from autoscaling.wire.unreadable import UNREADABLE_JSON, UNREADABLE_OBJECT


class _Metadata(Wire, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: msgspec.Raw = ABSENT
    annotations: msgspec.Raw = ABSENT
    owner_references: msgspec.Raw = ABSENT
    managed_fields: msgspec.Raw = ABSENT
    deletion_timestamp: datetime | None = None


class _ManagedFields(Wire, frozen=True, gc=False):
    subresource: str = ""
    time: datetime | None = None


class _Container(Wire, frozen=True, gc=False):
    name: str = ""
    resources: msgspec.Raw = ABSENT
    resize_policy: msgspec.Raw = ABSENT
    restart_policy: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    node_name: str = ""
    resources: msgspec.Raw = ABSENT
    overhead: msgspec.Raw = ABSENT


class _Running(Wire, frozen=True, gc=False):
    pass


class _State(Wire, frozen=True, gc=False):
    running: _Running | None = None
    terminated: msgspec.Raw = ABSENT


class _ContainerStatus(Wire, frozen=True, gc=False):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    resources: msgspec.Raw = ABSENT
    allocated_resources: msgspec.Raw = ABSENT
    state: _State | None = None
    last_state: _State | None = None


class _Condition(Wire, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class _Status(Wire, frozen=True, gc=False):
    phase: str = ""
    qos_class: str = ""
    start_time: datetime | None = None
    observed_generation: int = 0
    conditions: msgspec.Raw = ABSENT
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: msgspec.Raw = ABSENT


class _Pod(Wire, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Named(Wire, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


_PODS = msgspec.json.Decoder(_Pod)
_ANNOTATIONS = msgspec.json.Decoder(dict[str, str] | None)
_MANAGED_FIELDS = msgspec.json.Decoder(list[_ManagedFields] | None)
_CONDITIONS = msgspec.json.Decoder(list[_Condition] | None)
_INIT_STATUSES = msgspec.json.Decoder(list[_ContainerStatus] | None)
_NAMES = msgspec.json.Decoder(_Named)
_PHASES = {phase.value: phase for phase in PodPhase}
_STATUSES = {status.value: status for status in ConditionStatus}
_NO_STATE = _State()
_NO_STATUS = _Status()
_LONG_ANNOTATIONS = 8192
"""Bytes of annotations, beyond which a pod is not held to be one of many of its template: 256 KiB are allowed."""
_RESIZE = "resize"
_RESIZE_TEXT = b'"resize"'
_REMEDY = "correct the object; it is left alone until then"


def decode_pod(raw: bytes) -> Pod:
    """Read one pod.

    Raises:
        InvalidObjectError: The JSON is malformed, a field has a wrong type or a quantity cannot be read.
    """
    return _decode(raw, counts_sidecars=False)


def decode_pod_with_sidecars(raw: bytes) -> Pod:
    """Read one pod whose sidecars count as containers (beyond:B-16).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return with_sidecars(_decode(raw, counts_sidecars=True))


def decode_submitted_pod(raw: bytes) -> Pod:
    """Read one pod on its way in, of its placement only what it asks for as a whole: None where that is nothing.

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    try:
        pod = _PODS.decode(raw)
        whole = amounts_as_a_whole(bytes(pod.spec.resources), bytes(pod.spec.overhead))
        return _snapshot(pod, whole, counts_sidecars=False, is_outline=False)
    except UNREADABLE_OBJECT as error:
        raise InvalidObjectError(_name(raw), str(error), remedy=_REMEDY) from error


def template_text(raw: bytes | msgspec.Raw) -> Hashable:
    """Return the text of all that is read of a pod on its way in, the same for every pod of a template.

    Of two pods with the same text, ``decode_submitted_pod`` and ``review.containers_with_resources`` say the same.

    Returns:
        None where it is not worth remembering: the pod has a name, something of a pod that exists already, a status or
        very long annotations, or it cannot be read.

    Spec: performance A-2.
    """
    try:
        pod = _PODS.decode(raw)
    except UNREADABLE_JSON:
        return None
    metadata, spec, annotations = pod.metadata, pod.spec, bytes(pod.metadata.annotations)
    if metadata.name or metadata.deletion_timestamp is not None or pod.status != _NO_STATUS:
        return None
    if len(annotations) > _LONG_ANNOTATIONS:
        return None
    return (
        metadata.namespace,
        metadata.generate_name,
        metadata.uid,
        metadata.resource_version,
        metadata.generation,
        bytes(metadata.labels),
        annotations,
        bytes(metadata.owner_references),
        spec.node_name,
        _container_texts(spec.containers or ()),
        _container_texts(spec.init_containers or ()),
        bytes(spec.resources),
        bytes(spec.overhead),
    )


def decode_placed_pod(raw: bytes) -> Pod:
    """Read one pod with where it may run.

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return _decode(raw, counts_sidecars=False, is_placed=True)


def decode_placed_pod_with_sidecars(raw: bytes) -> Pod:
    """Read one pod with where it may run, whose sidecars count as containers (beyond:B-16).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return with_sidecars(_decode(raw, counts_sidecars=True, is_placed=True))


def decode_pod_outline(raw: bytes) -> Pod:
    """Read one pod without its annotations, conditions and start, which differ from pod to pod (performance R-5).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return _decode(raw, counts_sidecars=False, is_outline=True)


def decode_pod_outline_with_sidecars(raw: bytes) -> Pod:
    """Read one pod as ``decode_pod_outline`` does, whose sidecars count as containers (beyond:B-16).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return with_sidecars(_decode(raw, counts_sidecars=True, is_outline=True))


def decode_placed_pod_outline(raw: bytes) -> Pod:
    """Read one pod as ``decode_pod_outline`` does, with where it may run (beyond:B-11).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return _decode(raw, counts_sidecars=False, is_outline=True, is_placed=True)


def decode_placed_pod_outline_with_sidecars(raw: bytes) -> Pod:
    """Read one pod as ``decode_placed_pod_outline`` does, whose sidecars count as containers (beyond:B-16).

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    return with_sidecars(_decode(raw, counts_sidecars=True, is_outline=True, is_placed=True))


def _decode(raw: bytes, *, counts_sidecars: bool, is_outline: bool = False, is_placed: bool = False) -> Pod:
    """Read one pod.

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    try:
        placement = decode_placement(raw) if is_placed else None
        return _snapshot(_PODS.decode(raw), placement, counts_sidecars=counts_sidecars, is_outline=is_outline)
    except UNREADABLE_OBJECT as error:
        raise InvalidObjectError(_name(raw), str(error), remedy=_REMEDY) from error


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _NAMES.decode(raw).metadata
    except UNREADABLE_JSON:
        return ObjectRef("Pod", "", "(unreadable)")
    return ObjectRef("Pod", metadata.namespace, metadata.name or f"{metadata.generate_name}%")


def _snapshot(pod: _Pod, placement: Placement | None, *, counts_sidecars: bool, is_outline: bool) -> Pod:
    """Convert the wire form to the snapshot, all but for sidecars among the containers, as few pods have any."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    inits = spec.init_containers or ()
    has_sidecar = any(container.restart_policy == SIDECAR for container in inits)
    return Pod(
        namespace=sys.intern(metadata.namespace),
        name=metadata.name or (f"{metadata.generate_name}%" if metadata.generate_name else ""),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        generation=metadata.generation,
        observed_generation=status.observed_generation,
        labels=labels_of(bytes(metadata.labels)),
        annotations=None if is_outline else read_part(_ANNOTATIONS, metadata.annotations, "metadata.annotations"),
        owners=owners_of(bytes(metadata.owner_references)),
        is_terminating=metadata.deletion_timestamp is not None,
        node_name=sys.intern(spec.node_name),
        phase=_PHASES.get(status.phase, PodPhase.UNKNOWN),
        qos_class=sys.intern(status.qos_class),
        start_time=None if is_outline else stated_time(status.start_time),
        containers=containers_of(_container_texts(spec.containers or ())),
        init_containers=init_containers_of(_container_texts(inits)) if inits else (),
        statuses=statuses_of(_status_texts(status.container_statuses or ())),
        conditions=() if is_outline else _conditions(status),
        init_statuses=_init_statuses(status) if has_sidecar else (),
        counts_sidecars=counts_sidecars and bool(inits) and not has_sidecar,
        placement=placement,
        resized_at=None if is_outline else _resized_at(bytes(metadata.managed_fields)),
    )


def _resized_at(raw: bytes) -> datetime | None:
    """Return when the API server last took a resize: it notes that with each writer's fields (beyond:B-20)."""
    # Most pods have never been resized, and are told apart without reading who owns which of their fields.
    if _RESIZE_TEXT not in raw:
        return None
    entries = read_part(_MANAGED_FIELDS, raw, "metadata.managedFields") or ()
    times = [stated_time(entry.time) for entry in entries if entry.subresource == _RESIZE]
    return max((time for time in times if time is not None), default=None)


def _container_texts(containers: Sequence[_Container]) -> tuple[ContainerText, ...]:
    """Return what containers of the spec are remembered by."""
    return tuple([(c.name, bytes(c.resources), bytes(c.resize_policy), c.restart_policy) for c in containers])


def _status_texts(statuses: Sequence[_ContainerStatus]) -> tuple[StatusText, ...]:
    """Return what statuses of containers are remembered by."""
    return tuple([_status_text(status) for status in statuses])


def _status_text(status: _ContainerStatus) -> StatusText:
    state, last = status.state or _NO_STATE, status.last_state or _NO_STATE
    return (
        status.name,
        status.ready,
        status.restart_count,
        bytes(status.resources),
        bytes(status.allocated_resources),
        state.running is not None,
        bytes(state.terminated),
        bytes(last.terminated),
    )


def _init_statuses(status: _Status) -> tuple[ContainerStatus, ...]:
    """Convert the statuses of init containers."""
    statuses = read_part(_INIT_STATUSES, status.init_container_statuses, "status.initContainerStatuses")
    return statuses_of(_status_texts(statuses or ()))


def _conditions(status: _Status) -> tuple[PodCondition, ...]:
    """Convert conditions; an unknown status counts as Unknown."""
    return tuple(
        PodCondition(
            sys.intern(condition.type),
            _STATUSES.get(condition.status, ConditionStatus.UNKNOWN),
            condition.reason or "",
            condition.message or "",
            stated_time(condition.last_transition_time),
            condition.observed_generation,
        )
        for condition in read_part(_CONDITIONS, status.conditions, "status.conditions") or ()
    )
