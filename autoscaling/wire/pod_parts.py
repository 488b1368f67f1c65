"""Parts of pods that are alike in many pods, read from JSON once and then one value for all of them.

There are far fewer workloads than pods. Pods of one workload say the same of their labels, owners, containers and, as
long as these run undisturbed, of their containers' statuses; and they come one after the other, in lists as in
rollouts. So it is enough to remember the latest few of each part. What a part is remembered by is its text, not its
value, as quantities keep the notation they were written in.

Spec: performance R-5.
"""

from __future__ import annotations

import sys
from datetime import datetime
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from autoscaling.pod import Container, ContainerStatus, Owner, ResizePolicy, Termination
from autoscaling.resources import NO_RESOURCES, ContainerResources
from autoscaling.stated_times import stated_time
from autoscaling.wire.scalars import QuantityText, optional_resource_list
from autoscaling.workload import Template

T = TypeVar("T")

ABSENT: Final = msgspec.Raw(b"null")
"""Stands for a field that is not there, which counts as one that is null."""

SIDECAR: Final = "Always"
"""Restart policy of an init container that keeps running."""

_REMEMBERED: Final = 2048

ContainerText = tuple[str, bytes, bytes, str | None]
"""Name, resources, resize policy and restart policy of a container of the spec; the two in the middle as JSON."""

StatusText = tuple[str, bool, int, bytes, bytes, bool, bytes, bytes]
"""Of a container's status: name, whether ready, restarts, resources and allocated resources as JSON, whether it runs,
and ``state.terminated`` and ``lastState.terminated`` as JSON."""

_Amounts = dict[str, QuantityText] | None


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of all structures: camelCase names, unknown fields ignored."""


class _Owner(Wire, frozen=True, gc=False):
    kind: str
    name: str
    api_version: str = ""
    uid: str = ""
    controller: bool | None = None


class _Resources(Wire, frozen=True, gc=False):
    requests: _Amounts = None
    limits: _Amounts = None


class _ResizePolicy(Wire, frozen=True, gc=False):
    resource_name: str
    restart_policy: str = ""


class _Terminated(Wire, frozen=True, gc=False):
    reason: str = ""
    exit_code: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None


_LABELS = msgspec.json.Decoder(dict[str, str] | None)
_OWNERS = msgspec.json.Decoder(list[_Owner] | None)
_RESOURCES = msgspec.json.Decoder(_Resources | None)
_AMOUNTS = msgspec.json.Decoder(_Amounts)
_RESIZE_POLICIES = msgspec.json.Decoder(list[_ResizePolicy] | None)
_TERMINATED = msgspec.json.Decoder(_Terminated | None)


def read_part(decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw, place: str) -> T:
    """Decode a part of an object.

    Args:
        decoder: Of its type.
        raw: Its JSON.
        place: Where in the object it stands, for the error.

    Raises:
        msgspec.ValidationError: It is of another type.
    """
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"{error} in {place}") from error


@lru_cache(_REMEMBERED)
def labels_of(raw: bytes) -> dict[str, str]:
    """Read labels; no one may change what is returned.

    Raises:
        msgspec.ValidationError: They are no map of texts.
    """
    return read_part(_LABELS, raw, "metadata.labels") or {}


@lru_cache(_REMEMBERED)
def owners_of(raw: bytes) -> tuple[Owner, ...]:
    """Read owner references.

    Raises:
        msgspec.ValidationError: A field has a wrong type.
    """
    owners = read_part(_OWNERS, raw, "metadata.ownerReferences") or ()
    return tuple(Owner(o.api_version, o.kind, o.name, o.controller, o.uid) for o in owners)


@lru_cache(_REMEMBERED)
def containers_of(texts: tuple[ContainerText, ...]) -> tuple[Container, ...]:
    """Read the regular containers of a spec.

    Raises:
        msgspec.ValidationError: A field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.
    """
    return tuple(_container(text) for text in texts)


@lru_cache(_REMEMBERED)
def init_containers_of(texts: tuple[ContainerText, ...]) -> tuple[Container, ...]:
    """Read the init containers of a spec.

    Raises:
        msgspec.ValidationError: A field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.
    """
    return tuple(_container(text, position) for position, text in enumerate(texts))


@lru_cache(_REMEMBERED)
def template_of(texts: tuple[tuple[str, bytes], ...]) -> Template:
    """Read what the containers of a pod template ask for; no one may change what is returned.

    Args:
        texts: Name and resources, as JSON, of each.

    Raises:
        msgspec.ValidationError: A field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.
    """
    return {sys.intern(name): _resources(raw) or NO_RESOURCES for name, raw in texts}


@lru_cache(_REMEMBERED)
def statuses_of(texts: tuple[StatusText, ...]) -> tuple[ContainerStatus, ...]:
    """Read the statuses of containers.

    Raises:
        msgspec.ValidationError: A field has a wrong type.
        InvalidQuantityError: A quantity cannot be read.
    """
    return tuple(_status(text) for text in texts)


def _container(text: ContainerText, init_position: int | None = None) -> Container:
    """Read one container of the spec."""
    name, resources, resize_policies, restart_policy = text
    policies = read_part(_RESIZE_POLICIES, resize_policies, "a container's resizePolicy") or ()
    return Container(
        sys.intern(name),
        _resources(resources) or NO_RESOURCES,
        tuple(ResizePolicy(p.resource_name, p.restart_policy == "RestartContainer") for p in policies),
        is_sidecar=init_position is not None and restart_policy == SIDECAR,
        init_position=init_position,
    )


def _status(text: StatusText) -> ContainerStatus:
    """Read one container's status."""
    name, is_ready, restarts, resources, allocated, is_running, terminated, last_terminated = text
    return ContainerStatus(
        sys.intern(name),
        resources=_resources(resources),
        allocated=optional_resource_list(read_part(_AMOUNTS, allocated, "a container's allocatedResources")),
        restart_count=restarts,
        is_running=is_running,
        is_ready=is_ready,
        terminated=_termination(terminated),
        last_terminated=_termination(last_terminated),
    )


@lru_cache(_REMEMBERED)
def _resources(raw: bytes) -> ContainerResources | None:
    """Read requests and limits, keeping absent maps absent; None where there are no resources at all."""
    resources = read_part(_RESOURCES, raw, "a container's resources")
    if resources is None:
        return None
    if resources.requests is None and resources.limits is None:
        return NO_RESOURCES
    return ContainerResources(optional_resource_list(resources.requests), optional_resource_list(resources.limits))


def _termination(raw: bytes) -> Termination | None:
    """Read how a container ended."""
    ended = read_part(_TERMINATED, raw, "a container's state")
    return (
        None
        if ended is None
        else Termination(ended.reason, stated_time(ended.started_at), stated_time(ended.finished_at), ended.exit_code)
    )
