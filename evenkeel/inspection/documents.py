"""Any finding as plain JSON values, and as the blocks of text that a terminal shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

from autoscaling.objectref import ObjectRef
from autoscaling.quantity import Quantity

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a heading.

    Args:
        title: Line above the table; empty for none.
        columns: Names of the columns.
        rows: Cells as text, as many in each row as there are columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Table | str
"""A table, or lines that are shown as they are."""


def document(value: object) -> Json:
    """Return a value of our own types as JSON has it.

    Fields become camelCase, quantities and times the text that Kubernetes writes, durations seconds, an object's name
    ``Kind namespace/name``.

    Raises:
        TypeError: The value is of a type that has no such form.
    """
    match value:
        case Enum():
            return str(value.value)
        case None | bool() | int() | float() | str():
            return value
        case Quantity() | ObjectRef():
            return str(value)
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case timedelta():
            return value.total_seconds()
        case tuple() | list():
            return [document(each) for each in value]
        case Mapping():
            return {str(key): document(each) for key, each in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return {_camel(each.name): document(getattr(value, each.name)) for each in dataclasses.fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON; add a case for it")


def _camel(name: str) -> str:
    """Return a field's name as JSON spells it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
