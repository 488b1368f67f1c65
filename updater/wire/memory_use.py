"""PodMetrics lists of the resource metrics API, of which only memory is read.

They come by the hundred thousand, so this is msgspec and not pydantic, and what nobody asks for is not converted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import MAX_INT64
from autoscaling.wire.pod_parts import Wire
from autoscaling.wire.scalars import QuantityText, quantity
from autoscaling.wire.unreadable import UNREADABLE_JSON, UNREADABLE_OBJECT
from updater.surroundings import MemoryUse

_KIB = 1024
_REMEDY = "look at the metrics server's log"


class _Metadata(Wire, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class _Usage(Wire, frozen=True, gc=False):
    memory: QuantityText | None = None


class _Container(Wire, frozen=True, gc=False):
    name: str
    usage: _Usage = _Usage()


class _PodMetrics(Wire, frozen=True, gc=False):
    metadata: _Metadata
    timestamp: datetime
    containers: list[_Container] | None = None


class _ListMetadata(msgspec.Struct, frozen=True, gc=False):
    continue_: str = msgspec.field(default="", name="continue")


class _List(Wire, frozen=True, gc=False):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


class _Named(Wire, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


_LISTS = msgspec.json.Decoder(_List)
_PODS = msgspec.json.Decoder(_PodMetrics)
_NAMES = msgspec.json.Decoder(_Named)


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One answer of the metrics API.

    Args:
        uses: By pod and container; what has no amount is missing.
        unreadable: One error for each object that could not be read.
        continue_token: Asks for the rest; empty when this is all, as metrics-server answers.
    """

    uses: Mapping[ObjectRef, Mapping[str, MemoryUse]] = field(default_factory=dict)
    unreadable: tuple[InvalidObjectError, ...] = ()
    continue_token: str = ""


def decode_memory(raw: bytes, namespaces: Collection[str]) -> MemoryPage:
    """Read the use of memory from a PodMetricsList.

    Args:
        raw: The answer.
        namespaces: Pods of others are left out.

    Raises:
        InvalidObjectError: It is no list at all.

    Spec: beyond:B-22.
    """
    try:
        whole = _LISTS.decode(raw)
    except UNREADABLE_JSON as error:
        raise InvalidObjectError(ObjectRef("PodMetricsList", "", "(unreadable)"), str(error), remedy=_REMEDY) from error
    uses: dict[ObjectRef, Mapping[str, MemoryUse]] = {}
    unreadable: list[InvalidObjectError] = []
    for item in whole.items or ():
        try:
            pod = _PODS.decode(item)
            if pod.metadata.namespace in namespaces:
                uses[ObjectRef("Pod", pod.metadata.namespace, pod.metadata.name)] = _uses(pod)
        except (*UNREADABLE_OBJECT, ValueError) as error:
            unreadable.append(InvalidObjectError(_name(item), str(error), remedy=_REMEDY))
    return MemoryPage(uses, tuple(unreadable), whole.metadata.continue_)


def _uses(pod: _PodMetrics) -> Mapping[str, MemoryUse]:
    """Return the use of each container.

    Raises:
        ValueError: The time names no time zone.
    """
    if pod.timestamp.tzinfo is None:
        raise ValueError(f"timestamp {pod.timestamp} names no time zone; it must be RFC 3339")
    return {
        container.name: MemoryUse(pod.timestamp, _bytes(container.usage.memory))
        for container in pod.containers or ()
        if container.usage.memory is not None
    }


def _bytes(text: QuantityText) -> int:
    """Read an amount, rounded up; metrics-server writes nearly all of them in kibibytes."""
    if isinstance(text, str) and text.endswith("Ki") and (digits := text[:-2]).isascii() and digits.isdigit():
        return min(int(digits) * _KIB, MAX_INT64)
    return min(quantity(text).value(), MAX_INT64)


def _name(raw: msgspec.Raw) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _NAMES.decode(raw).metadata
    except UNREADABLE_JSON:
        return ObjectRef("PodMetrics", "", "(unreadable)")
    return ObjectRef("PodMetrics", metadata.namespace, metadata.name)
