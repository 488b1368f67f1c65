"""Tables: ages, cells, definitions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.api.tables import (
    AGE,
    CREATED,
    NAME,
    Column,
    Shown,
    TableMaker,
    human_duration,
    labels_text,
    metadata_list,
    printed_value,
    wide,
)
from evenkeel.simulator.clock import EPOCH

KINDS = {kind.api_version + "/" + kind.kind: kind for kind in builtin_kinds()}
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (-5 * SECOND, "<invalid>"),
        (-SECOND, "0s"),
        (timedelta(0), "0s"),
        (119.9 * SECOND, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + SECOND, "2m1s"),
        (10 * MINUTE - SECOND, "9m59s"),
        (10 * MINUTE + SECOND, "10m"),
        (180 * MINUTE - SECOND, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - SECOND, "7h59m"),
        (8 * HOUR + MINUTE, "8h"),
        (48 * HOUR - SECOND, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - SECOND, "7d23h"),
        (8 * DAY + HOUR, "8d"),
        (730 * DAY - SECOND, "729d"),
        (730 * DAY, "2y"),
        (731 * DAY, "2y1d"),
        (2920 * DAY - SECOND, "7y364d"),
        (2920 * DAY, "8y"),
    ],
)
def test_ages(length: timedelta, text: str) -> None:
    assert human_duration(length) == text


@pytest.mark.parametrize(
    ("value", "kind", "cell"),
    [
        (3, "integer", 3),
        (3.7, "integer", 3),
        (True, "integer", None),
        ("3", "integer", None),
        (3, "number", 3.0),
        (True, "boolean", True),
        ("yes", "boolean", None),
        ("2025-12-31T23:59:00Z", "date", "60s"),
        ("soon", "date", "<invalid>"),
        (5, "date", None),
        ("text", "string", "text"),
        (5, "string", "5"),
        (True, "string", "true"),
        ({"a": [1]}, "string", '{"a":[1]}'),
        (None, "string", None),
        ("text", "unknown", None),
    ],
)
def test_cells_of_custom_kinds(value: object, kind: str, cell: object) -> None:
    assert printed_value(value, kind, EPOCH) == cell


def stored(name: str) -> Stored:
    metadata: JsonObject = {"name": name, "namespace": "default", "creationTimestamp": "2025-12-31T23:59:50Z"}
    return Stored({"metadata": metadata, "message": "m"}, 7)


def maker(include: str, *columns: Column, kind: str = "v1/ConfigMap") -> TableMaker:
    return TableMaker(KINDS[kind], columns, include, EPOCH)


def test_a_table_defines_its_columns_once() -> None:
    table = maker("None", NAME, AGE, CREATED, wide("Wide", lambda _: "w"))
    whole = table.table([stored("a"), stored("b")], {"resourceVersion": "9"})
    assert whole["columnDefinitions"] == [
        {"name": "Name", "type": "string", "format": "name", "description": "Name", "priority": 0},
        {"name": "Age", "type": "string", "format": "", "description": "Age", "priority": 0},
        {"name": "Created At", "type": "date", "format": "", "description": "Created At", "priority": 0},
        {"name": "Wide", "type": "string", "format": "", "description": "Wide", "priority": 1},
    ]
    row = {"cells": ["a", "10s", "2025-12-31T23:59:50Z", "w"], "object": None}
    assert whole["rows"] == [row, {**row, "cells": ["b", *row["cells"][1:]]}]  # type: ignore[index]
    assert (whole["kind"], whole["metadata"]) == ("Table", {"resourceVersion": "9"})
    assert table.table([], {}, defined=False)["columnDefinitions"] is None


@pytest.mark.parametrize(
    ("include", "kind", "fields"),
    [
        ("", "v1/ConfigMap", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}),
        ("Metadata", "v1/ConfigMap", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}),
        ("Object", "v1/ConfigMap", {"kind": "ConfigMap", "apiVersion": "v1", "message": "m"}),
        ("Object", "events.k8s.io/v1/Event", {"kind": "Event", "apiVersion": "events.k8s.io/v1", "note": "m"}),
    ],
)
def test_what_goes_along_with_a_row(include: str, kind: str, fields: JsonObject) -> None:
    found = maker(include, NAME, kind=kind).row(stored("a"))["object"]
    assert isinstance(found, dict)
    assert {key: value for key, value in found.items() if key != "metadata"} == fields
    assert found["metadata"]["name"] == "a"


def test_metadata_alone() -> None:
    found = metadata_list([stored("a")], {"resourceVersion": "9"})
    assert (found["kind"], found["metadata"]) == ("PartialObjectMetadataList", {"resourceVersion": "9"})
    (item,) = found["items"]  # type: ignore[misc]
    assert set(item) == {"kind", "apiVersion", "metadata"}  # type: ignore[has-type]


def test_an_unknown_moment_has_no_age() -> None:
    assert Shown({"metadata": {}}, EPOCH).age("metadata", "creationTimestamp") == "<unknown>"
    assert (labels_text({"b": "2", "a": "1"}), labels_text(None)) == ("a=1,b=2", "<none>")
