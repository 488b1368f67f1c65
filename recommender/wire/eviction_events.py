"""Events by which a kubelet tells that it evicted a pod, decoded to OOM records (spec: recommender:8.3)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError, InvalidQuantityError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import Quantity, within_64_bits
from autoscaling.wire.unreadable import UNREADABLE_JSON
from recommender.oom import OomRecord

_OFFENDERS = "offending_containers"
_USAGE = "offending_containers_usage"
_STARVED = "starved_resource"


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: datetime | None = None
    annotations: dict[str, str] | None = None


class _Involved(msgspec.Struct, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata = _Metadata()
    involved_object: _Involved = _Involved()
    reason: str = ""


_EVENTS = msgspec.json.Decoder(_Event)


def decode_eviction(raw: bytes) -> tuple[OomRecord, ...]:
    """Read one Event; anything but an eviction of a pod for want of memory yields nothing.

    Raises:
        InvalidObjectError: The event is malformed, or its three lists differ in length.
    """
    try:
        event = _EVENTS.decode(raw)
    except UNREADABLE_JSON as error:
        raise InvalidObjectError(ObjectRef("Event", "", "(unreadable)"), str(error), remedy="it is left out") from error
    created = event.metadata.creation_timestamp
    if event.reason != "Evicted" or event.involved_object.kind != "Pod" or created is None:
        return ()
    annotations = event.metadata.annotations or {}
    lists = [annotations[key].split(",") for key in (_OFFENDERS, _USAGE, _STARVED) if key in annotations]
    if not lists:
        return ()
    ref = ObjectRef("Event", event.metadata.namespace, event.metadata.name)
    if len(lists) != 3 or len({len(entries) for entries in lists}) != 1:
        raise InvalidObjectError(
            ref,
            f"annotations {_OFFENDERS}, {_USAGE} and {_STARVED} do not have one entry for each container",
            remedy="it is left out",
        )
    involved = event.involved_object
    try:
        return tuple(
            OomRecord(involved.namespace, involved.name, container, created, _bytes(used))
            for container, used, starved in zip(*lists, strict=True)
            if starved == "memory"
        )
    except InvalidQuantityError as error:
        raise InvalidObjectError(ref, str(error), remedy="it is left out") from error


def _bytes(used: str) -> int:
    """Read an amount; whoever may write Events decides what it says.

    Raises:
        InvalidQuantityError: It is no quantity.
    """
    return within_64_bits(Quantity.parse(used).value())
