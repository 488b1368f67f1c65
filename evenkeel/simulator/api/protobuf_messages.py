"""Classes of protobuf messages, made from tables of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

from evenkeel.simulator.api.protobuf_fields import Field, Shape

SCALARS = ("string", "bytes", "bool", "int32", "int64", "double")
"""The types that are no messages."""


class Message(Protocol):
    """What messages can do, as far as it is used here."""

    def ParseFromString(self, raw: bytes) -> int:  # noqa: N802 - the library's name
        """Read the wire format."""

    def HasField(self, name: str) -> bool:  # noqa: N802 - the library's name
        """Say whether a field was on the wire."""


def part(message: object, name: str) -> object:
    """Return one field of a message."""
    value: object = getattr(message, name)
    return value


def message_classes(package: str, table: Mapping[str, tuple[Field, ...]]) -> dict[str, type]:
    """Return the class of every message in a table.

    Args:
        package: A name for the messages as a whole.
        table: Fields by message name.
    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for name, fields in table.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _describe(message, field, package)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in table}


def _describe(message: descriptor_pb2.DescriptorProto, field: Field, package: str) -> None:
    """Add one field to a message's description."""
    described = message.field.add(name=field.name, number=field.number)
    repeated = field.shape in {Shape.LIST, Shape.MAP}
    described.label = described.LABEL_REPEATED if repeated else described.LABEL_OPTIONAL
    if field.shape is Shape.MAP:
        entry = message.nested_type.add(name=f"{field.name.title()}Entry")
        entry.options.map_entry = True
        _describe(entry, Field("key", 1, "string", Shape.POINTER), package)
        _describe(entry, Field("value", 2, field.type, Shape.POINTER), package)
        described.type = described.TYPE_MESSAGE
        described.type_name = f".{package}.{message.name}.{entry.name}"
    elif field.type in SCALARS:
        described.type = getattr(described, f"TYPE_{field.type.upper()}")
    else:
        described.type = described.TYPE_MESSAGE
        described.type_name = f".{package}.{field.type}"
