"""Events as JSON, to what counts of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from autoscaling.objectref import ObjectRef
from evenkeel.inspection.history import ToldEvent


class _Metadata(msgspec.Struct, rename="camel"):
    creation_timestamp: datetime | None = None


class _Involved(msgspec.Struct):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    involved_object: _Involved = msgspec.field(default_factory=_Involved)
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


_EVENT: Final = msgspec.json.Decoder(_Event)
_NEVER: Final = datetime.fromtimestamp(0, UTC)


def decode_event(raw: bytes) -> ToldEvent:
    """Read one Event; its time is the last one of several, else the one of its creation.

    Raises:
        msgspec.MsgspecError: A field has a wrong type.
    """
    event = _EVENT.decode(raw)
    at = event.last_timestamp or event.event_time or event.metadata.creation_timestamp or _NEVER
    involved = event.involved_object
    ref = ObjectRef(involved.kind, involved.namespace, involved.name)
    return ToldEvent(at, ref, event.reason, event.message, event.count or 1)
