"""Objects seen through schemas: which fields they hold, how two differ, how one is laid over another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.fieldsets import FieldSet, printed
from evenkeel.simulator.api.typed_values import (
    Comparison,
    UntypedError,
    compare,
    field_set,
    merge,
    with_parents,
    without,
)

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "integer"}
KEYED: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": {"type": "object", "properties": {"name": TEXT, "port": {**NUMBER, "default": 80}, "n": NUMBER}},
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "size": NUMBER,
        "labels": {"type": "object", "additionalProperties": TEXT},
        "deep": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}},
        },
        "ref": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"kind": TEXT, "name": TEXT}},
        "plain": {"type": "array", "items": TEXT},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "parts": KEYED,
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
P = '.parts[name="p",port=80]'


def shown(paths: FieldSet | list[tuple[str, ...]]) -> list[str]:
    return sorted(printed(path) for path in paths)


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ({}, []),
        ({"size": 1}, [".size"]),
        ({"size": None}, [".size"]),
        ({"labels": {"a": "1", "b": "2"}}, [".labels.a", ".labels.b"]),
        ({"labels": {}}, [".labels"]),
        ({"deep": {"x": {"a": 1}}}, [".deep.x", ".deep.x.a"]),
        ({"ref": {"kind": "K"}}, [".ref"]),
        ({"plain": ["x"], "tags": ["t", "u"]}, [".plain", '.tags[="t"]', '.tags[="u"]']),
        ({"plain": [], "tags": []}, [".plain"]),
        ({"parts": [{"name": "p", "n": 1}]}, [P, f"{P}.n", f"{P}.name"]),
        ({"free": {"x": {"y": [1]}, "z": 2}}, [".free.x", ".free.x.y", ".free.z"]),
    ],
)
def test_what_a_value_holds(value: JsonObject, held: list[str]) -> None:
    assert shown(field_set(SCHEMA, value)) == held


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"nope": 1}, ".nope: no such field"),
        ({"deep": {"x": {"c": 1}}}, ".deep.x.c: no such field"),
        ({"parts": [{"n": 1}]}, ""),
    ],
)
def test_values_that_do_not_fit(value: JsonObject, why: str) -> None:
    if not why:
        assert shown(field_set(SCHEMA, value)) == [".parts[port=80]", ".parts[port=80].n"]
        return
    with pytest.raises(UntypedError) as caught:
        field_set(SCHEMA, value)
    assert why in str(caught.value)


def test_an_item_needs_one_of_its_keys() -> None:
    schema: JsonObject = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    with pytest.raises(UntypedError, match="none of its keys name"):
        field_set(schema, [{"n": 1}])


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        ({"size": 1}, {"size": 1}, [], [], []),
        ({"size": 1}, {"size": 2}, [], [".size"], []),
        ({}, {"size": 2}, [".size"], [], []),
        ({"size": 1}, {}, [], [], [".size"]),
        ({}, {"labels": {"a": "1"}}, [".labels", ".labels.a"], [], []),
        ({"labels": {}}, {"labels": {"a": "1"}}, [".labels.a"], [], []),
        ({"labels": {"a": "1"}}, {"labels": {"a": "2", "b": "1"}}, [".labels.b"], [".labels.a"], []),
        ({"labels": {"a": "1"}}, {}, [], [], [".labels", ".labels.a"]),
        ({"ref": {"kind": "K"}}, {"ref": {"kind": "L"}}, [], [".ref"], []),
        ({"plain": ["a"]}, {"plain": ["a", "b"]}, [], [".plain"], []),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, ['.tags[="c"]'], [], ['.tags[="a"]']),
        ({"parts": [{"name": "p"}]}, {"parts": [{"name": "p", "n": 1}]}, [f"{P}.n"], [], []),
        ({"parts": [{"name": "p"}, {"name": "q"}]}, {"parts": [{"name": "q"}, {"name": "p"}]}, [], [], []),
        ({"parts": [{"name": "p", "n": 1}]}, {"parts": []}, [], [], [P, f"{P}.n", f"{P}.name"]),
        ({"size": None}, {"size": 1}, [], [".size"], []),
        ({"parts": None}, {"parts": [{"name": "p"}]}, [P, f"{P}.name"], [], []),
        ({}, {"parts": [{"name": "p"}]}, [".parts", P, f"{P}.name"], [], []),
    ],
)
def test_differences(
    old: JsonObject, new: JsonObject, added: list[str], modified: list[str], removed: list[str]
) -> None:
    found = compare(SCHEMA, old, new)
    assert (shown(found.added), shown(found.modified), shown(found.removed)) == (added, modified, removed)
    assert bool(found) == bool(added or modified or removed)
    assert not Comparison()


def names(*letters: str) -> JsonObject:
    return {"parts": [{"name": letter} for letter in letters], "tags": list(letters)}


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ({"size": 1, "labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"size": 1, "labels": {"a": "1", "b": "2"}}),
        ({"ref": {"kind": "K", "name": "n"}}, {"ref": {"kind": "L"}}, {"ref": {"kind": "L"}}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}),
        (names("p"), names("q"), names("p", "q")),
        (names("a", "b", "c"), names("c", "z", "a"), names("b", "c", "z", "a")),
        (names("a", "x", "b"), names("a", "b"), names("a", "x", "b")),
        (names("a", "b", "x"), names("b", "a"), names("b", "x", "a")),
        (names(), names("a"), names("a")),
        (
            {"parts": [{"name": "p", "n": 1}]},
            {"parts": [{"name": "p", "port": 80}, {"name": "p", "port": 81}]},
            {"parts": [{"name": "p", "n": 1, "port": 80}, {"name": "p", "port": 81}]},
        ),
        ({"size": 1}, {"size": None}, {"size": None}),
    ],
)
def test_one_laid_over_another(live: JsonObject, applied: JsonObject, merged: JsonObject) -> None:
    assert merge(SCHEMA, live, applied) == merged


orders = st.lists(st.sampled_from("abcdef"), unique=True)


@settings(deadline=None)
@given(orders, orders)
def test_merged_lists_hold_everything_once_in_the_applied_order(live: list[str], applied: list[str]) -> None:
    schema: JsonObject = {"type": "array", "x-kubernetes-list-type": "set"}
    merged = merge(schema, live, applied)
    assert isinstance(merged, list)
    assert sorted(merged) == sorted({*live, *applied})
    assert [item for item in merged if item in applied] == applied
    assert [item for item in merged if item not in applied] == [item for item in live if item not in applied]


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ([".size"], {"labels": {"a": "1"}, "parts": [{"name": "p", "n": 1}], "tags": ["t"], "ref": {"kind": "K"}}),
        ([".labels.a", P], {"size": 1, "labels": {}, "parts": [], "tags": ["t"], "ref": {"kind": "K"}}),
        ([f"{P}.n", '.tags[="t"]', ".ref"], {"size": 1, "labels": {"a": "1"}, "parts": [{"name": "p"}], "tags": []}),
        ([".labels", ".tags"], {"size": 1, "parts": [{"name": "p", "n": 1}], "ref": {"kind": "K"}}),
    ],
)
def test_what_is_left_without_some_fields(gone: list[str], left: JsonObject) -> None:
    value: JsonObject = {
        "size": 1,
        "labels": {"a": "1"},
        "parts": [{"name": "p", "n": 1}],
        "tags": ["t"],
        "ref": {"kind": "K"},
    }
    every = {printed(path): path for path in with_parents(SCHEMA, field_set(SCHEMA, value))}
    assert without(SCHEMA, value, FieldSet.of(every[path] for path in gone)) == left


def test_named_fields_on_the_way_are_parents_and_keys_of_maps_are_not() -> None:
    held = field_set(SCHEMA, {"deep": {"x": {"a": 1}}, "parts": [{"name": "p"}]})
    only_leaf = FieldSet.of(path for path in held if path[-1] == "f:a")
    assert shown(with_parents(SCHEMA, only_leaf)) == [".deep", ".deep.x.a"]
    assert ".parts" in shown(with_parents(SCHEMA, held))
