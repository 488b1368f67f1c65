"""Tables: lists and objects as kubectl prints them, and the answer that shows metadata alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.status import bad_request
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.clock import parse_rfc3339

NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"
_META = "meta.k8s.io/v1"
_INCLUDES = ("", "None", "Metadata", "Object")


@dataclass(frozen=True, slots=True)
class Shown:
    """One object on its way into a row.

    Args:
        body: The object.
        now: The present moment, from which ages are counted.
    """

    body: JsonObject
    now: datetime

    def age(self, *path: str) -> str:
        """Return how long ago the moment at a path was."""
        written = text(self.body, *path)
        return human_duration(self.now - parse_rfc3339(written)) if written else UNKNOWN


Cell = Callable[[Shown], object]
"""Makes one cell of an object."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: Heading.
        cell: Makes its cells.
        type: Type of its cells.
        priority: 0 for always, 1 for wide tables only.
        format: What its cells are, such as ``name``.
    """

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""

    def definition(self) -> JsonObject:
        """Return what a table says about the column."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.name,
            "priority": self.priority,
        }


def wide(name: str, cell: Cell) -> Column:
    """Return a column that wide tables have only."""
    return Column(name, cell, priority=1)


NAME = Column("Name", lambda shown: text(shown.body, "metadata", "name"), format="name")
AGE = Column("Age", lambda shown: shown.age("metadata", "creationTimestamp"))
CREATED = Column("Created At", lambda shown: text(shown.body, "metadata", "creationTimestamp"), type="date")


@dataclass(frozen=True, slots=True)
class TableMaker:
    """Makes tables of one kind for one request.

    Args:
        kind: The kind.
        columns: Its columns.
        include: How much of each object goes along: nothing, metadata or all.
        now: The present moment.
    """

    kind: Kind
    columns: tuple[Column, ...]
    include: str
    now: datetime

    @classmethod
    def of(cls, call: Call, columns: tuple[Column, ...], now: datetime) -> TableMaker:
        """Return the maker of the tables that a call asks for.

        Raises:
            StatusError: It asks for an unknown part of the objects (400).
        """
        include = call.query.get("includeObject", "")
        if include not in _INCLUDES:
            listed = ", ".join(_INCLUDES[1:])
            raise bad_request(f"includeObject={include!r} must be one of {listed}")
        return cls(call.target.kind, columns, include, now)

    def table(self, objects: Iterable[Stored], metadata: JsonObject, *, defined: bool = True) -> JsonObject:
        """Return a table; later ones of a watch need no definitions."""
        definitions = [column.definition() for column in self.columns] if defined else None
        rows = [self.row(stored) for stored in objects]
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        }

    def row(self, stored: Stored) -> JsonObject:
        """Return one object's row."""
        shown = Shown(stored.body, self.now)
        return {"cells": [column.cell(shown) for column in self.columns], "object": self._object(stored)}

    def _object(self, stored: Stored) -> JsonObject | None:
        """Return as much of an object as goes along."""
        match self.include:
            case "None":
                return None
            case "Object":
                body = copy_of(stored.body)
                shown = self.kind.view.from_stored(body) if self.kind.view else body
                return {"kind": self.kind.kind, "apiVersion": self.kind.api_version} | shown
            case _:
                return metadata_only(stored)


def metadata_only(stored: Stored) -> JsonObject:
    """Return an object's metadata as an object of its own."""
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": child(stored.body, "metadata")}


def metadata_list(objects: Iterable[Stored], metadata: JsonObject) -> JsonObject:
    """Return a list of objects' metadata."""
    items = [metadata_only(stored) for stored in objects]
    return {"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": metadata, "items": items}


def human_duration(length: timedelta) -> str:
    """Return a length of time as tables print ages: two units at first, ever coarser later."""
    seconds = int(length.total_seconds())
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    steps: tuple[tuple[bool, str], ...] = (
        (seconds < 120, f"{seconds}s"),
        (minutes < 10, _two((minutes, "m"), (seconds % 60, "s"))),
        (minutes < 180, f"{minutes}m"),
        (hours < 8, _two((hours, "h"), (minutes % 60, "m"))),
        (hours < 48, f"{hours}h"),
        (days < 8, _two((days, "d"), (hours % 24, "h"))),
        (days < 730, f"{days}d"),
        (days < 2920, _two((days // 365, "y"), (days % 365, "d"))),
    )
    return next((printed for fits, printed in steps if fits), f"{days // 365}y")


def _two(large: tuple[int, str], small: tuple[int, str]) -> str:
    """Print two units, the smaller one only when there is any of it."""
    rest = f"{small[0]}{small[1]}" if small[0] else ""
    return f"{large[0]}{large[1]}{rest}"


def printed_value(value: object, kind: str, now: datetime) -> object:
    """Return a value that a custom kind's column finds, as its cell shows it."""
    match kind:
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _since(value, now)
        case "string" if value is not None:
            return _as_text(value)
        case _:
            return None


def _since(moment: str, now: datetime) -> str:
    """Return how long ago a moment was."""
    try:
        return human_duration(now - parse_rfc3339(moment))
    except ValueError:
        return "<invalid>"


def _as_text(value: object) -> str:
    """Return any value as text: objects and lists as JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict | list) else str(value)


def labels_text(labels: object) -> str:
    """Return labels as tables print them."""
    pairs = [f"{key}={value}" for key, value in sorted(as_object(labels).items())]
    return ",".join(pairs) or NONE
