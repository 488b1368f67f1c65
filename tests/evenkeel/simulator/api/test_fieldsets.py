"""Sets of fields in the form of managedFields."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.simulator.api.fieldsets import (
    FieldSet,
    Path,
    field_element,
    field_name,
    keys_element,
    printed,
    value_element,
)

A, B, C = "f:a", "f:b", "f:c"
elements = st.sampled_from([A, B, C, 'k:{"name":"x"}', 'v:"t"'])
paths = st.lists(st.lists(elements, min_size=1, max_size=4).map(tuple), max_size=12)


def test_elements() -> None:
    assert field_element("spec") == "f:spec"
    assert keys_element({"protocol": "TCP", "containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'
    assert value_element("keep") == 'v:"keep"'
    assert (field_name("f:spec"), field_name("k:{}")) == ("spec", None)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:containers", 'k:{"name":"app"}', "f:image"), '.spec.containers[name="app"].image'),
        (("f:ports", 'k:{"containerPort":80,"protocol":"TCP"}'), '.ports[containerPort=80,protocol="TCP"]'),
        (("f:metadata", "f:finalizers", 'v:"keep"'), '.metadata.finalizers[="keep"]'),
        (("f:args", "i:0"), ".args[0]"),
    ],
)
def test_paths_in_messages(path: Path, text: str) -> None:
    assert printed(path) == text


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ([], {}),
        ([(A,)], {A: {}}),
        ([(A, B)], {A: {B: {}}}),
        ([(A,), (A, B)], {A: {".": {}, B: {}}}),
        ([(A, B), (A,)], {A: {".": {}, B: {}}}),
        ([(B,), (A, C), (A, B)], {A: {B: {}, C: {}}, B: {}}),
    ],
)
def test_the_form_of_managed_fields(members: list[Path], fields: dict[str, object]) -> None:
    assert FieldSet.of(members).fields == fields
    assert list(FieldSet(fields)) == sorted(members)


def test_membership() -> None:
    found = FieldSet({A: {".": {}, B: {}}, C: {B: {}}})
    assert [path in found for path in ((A,), (A, B), (C,), (C, B), (B,), (A, B, C))] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert bool(found)
    assert not FieldSet()


@settings(deadline=None)
@given(paths, paths)
def test_sets_behave_as_sets(left: list[Path], right: list[Path]) -> None:
    first, second = FieldSet.of(left), FieldSet.of(right)
    assert set(first) == set(left)
    assert len(list(first)) == len(set(left))
    assert set(first.union(right)) == set(left) | set(right)
    assert set(first.without(right)) == set(left) - set(right)
    assert (first == second) == (set(left) == set(right))
    assert first.union(right) == second.union(left)
    assert first.union(right).without(right) == first.without(right)
    assert set(first) == set(left)
