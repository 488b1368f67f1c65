"""Kubernetes' protobuf bodies, as Go programs send them, read into the JSON form of the same object."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Protocol, cast

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from evenkeel.simulator.api.fields import JsonObject, as_object, decode
from evenkeel.simulator.api.protobuf_fields import OPTIONS_KIND, ROOTS, Field, Shape, messages
from evenkeel.simulator.api.status import StatusError, bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_PACKAGE = "evenkeel"
_SCALARS = ("string", "bytes", "bool", "int32", "int64", "double")
_TEXT = 1
"""What an IntOrString's type says when it holds a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Message(Protocol):
    """What the library's messages can do, as far as it is used here."""

    def ParseFromString(self, raw: bytes) -> int:  # noqa: N802 - the library's name
        """Read the wire format."""

    def HasField(self, name: str) -> bool:  # noqa: N802 - the library's name
        """Say whether a field was on the wire."""


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
    content = cast("bytes", _part(envelope, "raw"))
    return {"apiVersion": api_version, "kind": kind} | _shown(name, _parsed(name, content))


def _unread(api_version: str, kind: str) -> StatusError:
    """Refuse a kind whose fields are not in the tables."""
    return unsupported_media_type(f"{PROTOBUF} of {api_version} {kind}", ("application/json",))


def _parsed(name: str, raw: bytes) -> _Message:
    """Read one message from the wire."""
    message = cast("_Message", _classes()[name]())
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise bad_request(f"the body is no {name} in protobuf: {error}") from None
    return message


def _shown(name: str, message: _Message) -> JsonObject:
    """Return a message as the JSON object it stands for."""
    result: JsonObject = {}
    for field in messages()[name]:
        value = _part(message, field.name)
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
                result |= _shown(field.type, cast("_Message", value))
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
            return _moment(cast("_Message", value), micro=field.type == "MicroTime")
        case "FieldsV1" | "RawExtension":
            return _raw_json(cast("bytes", _part(value, "Raw" if field.type == "FieldsV1" else "raw")))
        case "Quantity":
            return _part(value, "string")
        case "IntOrString":
            return _part(value, "strVal") if _part(value, "type") == _TEXT else _part(value, "intVal")
        case "ExtraValue":
            return list(cast("Sequence[str]", _part(value, "items")))
        case scalar if scalar in _SCALARS:
            return value
        case name:
            return _shown(name, cast("_Message", value))


def _raw_json(raw: bytes) -> object:
    """Return the JSON text that a message carries as bytes."""
    try:
        return decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body carries JSON that cannot be read: {error}") from None


def _part(message: object, name: str) -> object:
    """Return one field of a message, which the library makes from the table."""
    part: object = getattr(message, name)
    return part


def _moment(message: _Message, *, micro: bool) -> str | None:
    """Return a time as JSON has it, None for the zero time."""
    seconds, nanos = (cast("int", _part(message, part)) for part in ("seconds", "nanos"))
    if not seconds and not nanos:
        return None
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


@cache
def _classes() -> dict[str, type]:
    """Return the library's class of every message in the tables."""
    file = descriptor_pb2.FileDescriptorProto(name="evenkeel/kubernetes.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in messages().items():
        message = file.message_type.add(name=name)
        for field in fields:
            _describe(message, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in messages()
    }


def _describe(message: descriptor_pb2.DescriptorProto, field: Field) -> None:
    """Add one field to a message's description."""
    described = message.field.add(name=field.name, number=field.number)
    repeated = field.shape in {Shape.LIST, Shape.MAP}
    described.label = described.LABEL_REPEATED if repeated else described.LABEL_OPTIONAL
    if field.shape is Shape.MAP:
        entry = message.nested_type.add(name=f"{field.name.title()}Entry")
        entry.options.map_entry = True
        _describe(entry, Field("key", 1, "string", Shape.POINTER))
        _describe(entry, Field("value", 2, field.type, Shape.POINTER))
        described.type = described.TYPE_MESSAGE
        described.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
    elif field.type in _SCALARS:
        described.type = getattr(described, f"TYPE_{field.type.upper()}")
    else:
        described.type = described.TYPE_MESSAGE
        described.type_name = f".{_PACKAGE}.{field.type}"
