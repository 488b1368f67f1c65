"""Pods as JSON, decoded to snapshots; only the fields that are used are read.

Pods come by the hundred thousand, so this is msgspec and not pydantic.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError, InvalidQuantityError
from autoscaling.objectref import ObjectRef
from autoscaling.pod import (
    ConditionStatus,
    Container,
    ContainerStatus,
    Owner,
    Pod,
    PodCondition,
    PodPhase,
    ResizePolicy,
    Termination,
)
from autoscaling.resources import NO_RESOURCES, ContainerResources
from autoscaling.sidecars import with_sidecars
from autoscaling.wire.scalars import QuantityText, optional_resource_list

_Amounts = dict[str, QuantityText] | None
_ABSENT = msgspec.Raw(b"null")


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all structures: camelCase names, unknown fields ignored."""


class _Owner(_Wire, frozen=True):
    kind: str
    name: str
    api_version: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(_Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    deletion_timestamp: datetime | None = None


class _Resources(_Wire, frozen=True):
    requests: _Amounts = None
    limits: _Amounts = None


class _ResizePolicy(_Wire, frozen=True):
    resource_name: str
    restart_policy: str = ""


class _Container(_Wire, frozen=True):
    name: str = ""
    resources: _Resources | None = None
    resize_policy: list[_ResizePolicy] | None = None
    restart_policy: str | None = None


class _Spec(_Wire, frozen=True):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    node_name: str = ""


class _Terminated(_Wire, frozen=True):
    reason: str = ""
    exit_code: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None


class _State(_Wire, frozen=True):
    running: dict[str, msgspec.Raw] | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(_Wire, frozen=True):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    resources: _Resources | None = None
    allocated_resources: _Amounts = None
    state: _State | None = None
    last_state: _State | None = None


class _Condition(_Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class _Status(_Wire, frozen=True):
    phase: str = ""
    qos_class: str = ""
    start_time: datetime | None = None
    observed_generation: int = 0
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: msgspec.Raw = _ABSENT


class _Pod(_Wire, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Named(_Wire, frozen=True):
    metadata: _Metadata = _Metadata()


_PODS = msgspec.json.Decoder(_Pod)
_INIT_STATUSES = msgspec.json.Decoder(list[_ContainerStatus] | None)
_NAMES = msgspec.json.Decoder(_Named)
_PHASES = {phase.value: phase for phase in PodPhase}
_STATUSES = {status.value: status for status in ConditionStatus}
_SIDECAR = "Always"
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


def _decode(raw: bytes, *, counts_sidecars: bool) -> Pod:
    """Read one pod.

    Raises:
        InvalidObjectError: As ``decode_pod``.
    """
    try:
        return _snapshot(_PODS.decode(raw), counts_sidecars=counts_sidecars)
    except (msgspec.MsgspecError, InvalidQuantityError) as error:
        raise InvalidObjectError(_name(raw), str(error), remedy=_REMEDY) from error


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _NAMES.decode(raw).metadata
    except msgspec.MsgspecError:
        return ObjectRef("Pod", "", "(unreadable)")
    return ObjectRef("Pod", metadata.namespace, metadata.name or f"{metadata.generate_name}%")


def _snapshot(pod: _Pod, *, counts_sidecars: bool) -> Pod:
    """Convert the wire form to the snapshot, all but for sidecars among the containers, as few pods have any."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    inits = spec.init_containers or ()
    has_sidecar = any(container.restart_policy == _SIDECAR for container in inits)
    return Pod(
        namespace=metadata.namespace,
        name=metadata.name or (f"{metadata.generate_name}%" if metadata.generate_name else ""),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        generation=metadata.generation,
        observed_generation=status.observed_generation,
        labels=metadata.labels or {},
        annotations=metadata.annotations,
        owners=tuple(
            Owner(o.api_version, o.kind, o.name, o.controller, o.uid) for o in metadata.owner_references or ()
        ),
        is_terminating=metadata.deletion_timestamp is not None,
        node_name=spec.node_name,
        phase=_PHASES.get(status.phase, PodPhase.UNKNOWN),
        qos_class=status.qos_class,
        start_time=status.start_time,
        containers=tuple(_container(c) for c in spec.containers or ()),
        init_containers=tuple(_container(c, position) for position, c in enumerate(inits)),
        statuses=tuple(_status(s) for s in status.container_statuses or ()),
        conditions=tuple(_condition(c) for c in status.conditions or ()),
        init_statuses=_init_statuses(status) if has_sidecar else (),
        counts_sidecars=counts_sidecars and bool(inits) and not has_sidecar,
    )


def _resources(resources: _Resources) -> ContainerResources:
    """Convert requests and limits, keeping absent maps absent."""
    if resources.requests is None and resources.limits is None:
        return NO_RESOURCES
    return ContainerResources(optional_resource_list(resources.requests), optional_resource_list(resources.limits))


def _init_statuses(status: _Status) -> tuple[ContainerStatus, ...]:
    """Convert the statuses of init containers."""
    return tuple(_status(s) for s in _INIT_STATUSES.decode(status.init_container_statuses) or ())


def _container(container: _Container, init_position: int | None = None) -> Container:
    """Convert one container of the spec."""
    return Container(
        container.name,
        _resources(container.resources) if container.resources else NO_RESOURCES,
        tuple(
            ResizePolicy(p.resource_name, p.restart_policy == "RestartContainer") for p in container.resize_policy or ()
        ),
        is_sidecar=init_position is not None and container.restart_policy == _SIDECAR,
        init_position=init_position,
    )


def _status(status: _ContainerStatus) -> ContainerStatus:
    """Convert one container of the status."""
    state, last = status.state or _State(), status.last_state or _State()
    return ContainerStatus(
        status.name,
        resources=_resources(status.resources) if status.resources is not None else None,
        allocated=optional_resource_list(status.allocated_resources),
        restart_count=status.restart_count,
        is_running=state.running is not None,
        is_ready=status.ready,
        terminated=_termination(state.terminated),
        last_terminated=_termination(last.terminated),
    )


def _termination(terminated: _Terminated | None) -> Termination | None:
    """Convert how a container ended."""
    if terminated is None:
        return None
    return Termination(terminated.reason, terminated.started_at, terminated.finished_at, terminated.exit_code)


def _condition(condition: _Condition) -> PodCondition:
    """Convert one condition; an unknown status counts as Unknown."""
    return PodCondition(
        condition.type,
        _STATUSES.get(condition.status, ConditionStatus.UNKNOWN),
        condition.reason or "",
        condition.message or "",
        condition.last_transition_time,
        condition.observed_generation,
    )
