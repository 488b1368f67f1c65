"""PodMetrics lists of the resource metrics API.

They come by the hundred thousand every round, so this is msgspec and not pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError, InvalidQuantityError
from autoscaling.objectref import ObjectRef
from autoscaling.wire.scalars import QuantityText, quantity


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """What one container used.

    Args:
        cpu_millicores: Rounded up; 0 where the answer has none.
        memory_bytes: Rounded up; 0 where the answer has none.
    """

    name: str
    cpu_millicores: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What one pod's containers used.

    Args:
        at: End of the window that was measured.
    """

    namespace: str
    pod: str
    at: datetime
    containers: tuple[ContainerUsage, ...]


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class _Container(msgspec.Struct, frozen=True):
    name: str
    usage: dict[str, QuantityText] | None = None


class _PodMetrics(msgspec.Struct, frozen=True):
    metadata: _Metadata
    timestamp: datetime
    containers: list[_Container] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_PODS = msgspec.json.Decoder(_PodMetrics)
_NAMES = msgspec.json.Decoder(_Named)


def decode_pod_usage(raw: bytes) -> PodUsage:
    """Read one PodMetrics object (spec: recommender:8.1).

    Raises:
        InvalidObjectError: A field is missing, has a wrong type, or a quantity cannot be read.
    """
    try:
        pod = _PODS.decode(raw)
        containers = tuple(_usage(c) for c in pod.containers or ())
    except (msgspec.MsgspecError, InvalidQuantityError) as error:
        raise InvalidObjectError(_name(raw), str(error), remedy="look at the metrics server's log") from error
    return PodUsage(pod.metadata.namespace, pod.metadata.name, pod.timestamp, containers)


def _usage(container: _Container) -> ContainerUsage:
    """Convert one container; a resource that is missing counts as 0."""
    usage = container.usage or {}
    return ContainerUsage(
        container.name,
        quantity(usage["cpu"]).milli_value() if "cpu" in usage else 0,
        quantity(usage["memory"]).value() if "memory" in usage else 0,
    )


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _NAMES.decode(raw).metadata
    except msgspec.MsgspecError:
        return ObjectRef("PodMetrics", "", "(unreadable)")
    return ObjectRef("PodMetrics", metadata.namespace, metadata.name)
