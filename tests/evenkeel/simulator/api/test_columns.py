"""Which columns a kind's table has."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.columns import columns_of
from evenkeel.simulator.api.definitions import kinds_of
from evenkeel.simulator.api.fields import JsonObject, rows
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.tables import Shown
from evenkeel.simulator.clock import EPOCH
from tests.evenkeel.simulator.api.wire import definition

KINDS = {(kind.group, kind.plural): kind for kind in builtin_kinds()}


@pytest.mark.parametrize(
    ("group", "plural", "headings"),
    [
        ("", "pods", "Name Ready Status Restarts Age IP Node|Nominated|Gates"),
        ("", "limitranges", "Name Created|At"),
        ("rbac.authorization.k8s.io", "clusterroles", "Name Created|At"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "Name Created|At"),
        ("events.k8s.io", "events", "Last|Seen Type Reason Object Subobject Source Message First|Seen Count Name"),
        ("apps", "statefulsets", "Name Ready Age Containers Images"),
        ("rbac.authorization.k8s.io", "rolebindings", "Name Role Age Users Groups ServiceAccounts"),
    ],
)
def test_built_in_kinds(group: str, plural: str, headings: str) -> None:
    names = [column.name for column in columns_of(KINDS[group, plural])]
    wanted = [heading.replace("|", " ") for heading in headings.split()]
    if plural == "pods":
        assert names[: len(wanted) - 1] == wanted[:-1]
    else:
        assert names == wanted


def custom(*columns: JsonObject) -> Kind:
    body = definition({"type": "object"})
    if columns:
        rows(body, "spec", "versions")[0]["additionalPrinterColumns"] = list(columns)
    (kind,) = kinds_of(body)
    return kind


def test_a_custom_kind_without_columns_of_its_own() -> None:
    name, age = columns_of(custom())
    assert (name.name, age.name, age.type) == ("Name", "Age", "date")
    body: JsonObject = {"metadata": {"name": "w", "creationTimestamp": "2025-12-31T23:59:00Z"}}
    assert [column.cell(Shown(body, EPOCH)) for column in (name, age)] == ["w", "60s"]


def test_columns_that_a_definition_names() -> None:
    kind = custom(
        {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count", "priority": 1, "format": "int32"},
        {"name": "Seen", "type": "date", "jsonPath": ".status.seen"},
    )
    columns = columns_of(kind)
    assert [(c.name, c.type, c.priority, c.format) for c in columns] == [
        ("Name", "string", 0, "name"),
        ("Mode", "string", 0, ""),
        ("Count", "integer", 1, "int32"),
        ("Seen", "date", 0, ""),
    ]
    body: JsonObject = {"metadata": {"name": "w"}, "spec": {"mode": "Off", "count": 3}, "status": {}}
    assert [column.cell(Shown(body, EPOCH)) for column in columns] == ["w", "Off", 3, None]
