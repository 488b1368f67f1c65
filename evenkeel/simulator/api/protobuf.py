"""Kubernetes' protobuf bodies, as Go programs send them, read into the JSON form of the same object."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import cast

import msgspec
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from evenkeel.simulator.api.fields import JsonObject, as_object, decode
from evenkeel.simulator.api.protobuf_fields import OPTIONS_KIND, ROOTS, Field, Shape, messages
from evenkeel.simulator.api.protobuf_messages import SCALARS, Message, message_classes, part
from evenkeel.simulator.api.status import StatusError, bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_TEXT = 1
"""What an IntOrString's type says when it holds a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_protobuf(raw: bytes) -> JsonObject:
    """Return the object in a body of Kubernetes' protobuf format.

    Raises:
        StatusError: It is malformed (400), or of a kind that is read as JSON only (415).
    """
    if not raw.startswith(_MAGIC):
        raise bad_request("the body does not begin as Kubernetes' protobuf format does")
    envelope = _parsed("Unknown", raw[len(_MAGIC) :])
    named = as_object(_shown("Unknown", envelope).get("typeMeta"))
    api_version, kind = str(named.get("apiVersion", "")), str(named.get("kind", ""))
    name = OPTIONS_KIND if kind == OPTIONS_KIND else ROOTS.get((api_version, kind))
    if name is None:
        raise _unread(api_version, kind)
    content = cast("bytes", part(envelope, "raw"))
    return {"apiVersion": api_version, "kind": kind} | _shown(name, _parsed(name, content))


def _unread(api_version: str, kind: str) -> StatusError:
    """Refuse a kind whose fields are not in the tables."""
    return unsupported_media_type(f"{PROTOBUF} of {api_version} {kind}", ("application/json",))


def _parsed(name: str, raw: bytes) -> Message:
    """Read one message from the wire."""
    message = cast("Message", _classes()[name]())
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise bad_request(f"the body is no {name} in protobuf: {error}") from None
    return message


def _shown(name: str, message: Message) -> JsonObject:
    """Return a message as the JSON object it stands for."""
    result: JsonObject = {}
    for field in messages()[name]:
        value = part(message, field.name)
        match field.shape:
            case Shape.LIST:
                items = [_value(field, item) for item in cast("Sequence[object]", value)]
                if items:
                    result[field.name] = items
            case Shape.MAP:
                entries = sorted(cast("Mapping[str, object]", value).items())
                if entries:
                    result[field.name] = {key: _value(field, inner) for key, inner in entries}
            case Shape.INLINE:
                result |= _shown(field.type, cast("Message", value))
            case Shape.POINTER if message.HasField(field.name):
                result[field.name] = _value(field, value)
            case Shape.PLAIN if message.HasField(field.name) and (shown := _value(field, value)):
                result[field.name] = shown
            case _:
                continue
    return result


def _value(field: Field, value: object) -> object:
    """Return one value as JSON has it."""
    match field.type:
        case "bytes":
            return base64.b64encode(cast("bytes", value)).decode()
        case "Time" | "MicroTime":
            return _moment(cast("Message", value), micro=field.type == "MicroTime")
        case "FieldsV1" | "RawExtension":
            return _raw_json(cast("bytes", part(value, "Raw" if field.type == "FieldsV1" else "raw")))
        case "Quantity":
            return part(value, "string")
        case "IntOrString":
            return part(value, "strVal") if part(value, "type") == _TEXT else part(value, "intVal")
        case "ExtraValue":
            return list(cast("Sequence[str]", part(value, "items")))
        case scalar if scalar in SCALARS:
            return value
        case name:
            return _shown(name, cast("Message", value))


def _raw_json(raw: bytes) -> object:
    """Return the JSON text that a message carries as bytes."""
    try:
        return decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body carries JSON that cannot be read: {error}") from None


def _moment(message: Message, *, micro: bool) -> str | None:
    """Return a time as JSON has it, None for the zero time."""
    seconds, nanos = (cast("int", part(message, name)) for name in ("seconds", "nanos"))
    if not seconds and not nanos:
        return None
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


@cache
def _classes() -> dict[str, type]:
    """Return the library's class of every message in the table."""
    return message_classes("kubernetes", messages())
