"""The objects of a collection and what changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.kube.table import Change, Key, ObjectTable

A, B, C = ("ns", "a"), ("ns", "b"), ("ns", "c")


def filled() -> ObjectTable[str]:
    table: ObjectTable[str] = ObjectTable()
    table.put(A, "1", "a1")
    table.put(B, "2", "b2")
    return table


def test_what_is_put_is_found() -> None:
    table = filled()
    assert (table.find(A), table.find(C)) == ("a1", None)
    assert table.snapshot() == ("a1", "b2")
    assert dict(table.items()) == {A: "a1", B: "b2"}


@pytest.mark.parametrize(
    ("key", "version", "value", "change"),
    [
        (C, "3", "c3", Change(C, None, "c3")),
        (A, "3", "a3", Change(A, "a1", "a3")),
        (A, "1", "again", None),
        (A, "", "unversioned", Change(A, "a1", "unversioned")),
    ],
)
def test_put_tells_the_change(key: Key, version: str, value: str, change: Change[str] | None) -> None:
    assert filled().put(key, version, value) == change


def test_drop_tells_what_is_gone() -> None:
    table = filled()
    assert table.drop(A) == Change(A, "a1", None)
    assert table.drop(A) is None
    assert table.snapshot() == ("b2",)


def test_an_unreadable_object_is_neither_known_nor_gone() -> None:
    table = filled()
    assert table.refuse(A, "bad") == Change(A, "a1", None)
    assert table.refuse(C, "worse") is None
    assert (table.snapshot(), dict(table.unreadable)) == (("b2",), {A: "bad", C: "worse"})
    assert table.put(A, "1", "a1") == Change(A, None, "a1")
    assert dict(table.unreadable) == {C: "worse"}
    table.drop(C)
    assert dict(table.unreadable) == {}


def test_sweep_forgets_what_a_list_did_not_bring() -> None:
    table = filled()
    table.refuse(C, "bad")
    assert table.sweep({B}) == [Change(A, "a1", None)]
    assert (table.snapshot(), dict(table.unreadable)) == (("b2",), {})


def test_the_snapshot_is_the_same_tuple_until_something_changes() -> None:
    table = filled()
    first, version = table.snapshot(), table.version
    assert table.snapshot() is first
    table.put(A, "1", "a1")
    table.drop(C)
    assert (table.snapshot() is first, table.version) == (True, version)
    table.put(A, "9", "a9")
    assert (table.snapshot(), table.version) == (("a9", "b2"), version + 1)
    assert first == ("a1", "b2")


def test_views_cannot_be_written() -> None:
    with pytest.raises(TypeError):
        filled().items()[A] = "x"  # type: ignore[index]


def carried_out(table: ObjectTable[str], what: str, key: Key, number: int) -> list[Change[str] | None]:
    match what:
        case "put":
            return [table.put(key, str(number), f"{key}{number}")]
        case "drop":
            return [table.drop(key)]
        case "refuse":
            return [table.refuse(key, str(number))]
        case _:
            return [*table.sweep({key})]


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "drop", "refuse", "sweep"]), st.sampled_from([A, B, C]), st.integers(0, 3))
    )
)
def test_changes_told_add_up_to_the_snapshot(steps: list[tuple[str, Key, int]]) -> None:
    table: ObjectTable[str] = ObjectTable()
    mirror: dict[Key, str] = {}
    for what, key, number in steps:
        changes = carried_out(table, what, key, number)
        for change in changes:
            if change is None:
                continue
            assert mirror.get(change.key) == change.old
            if change.new is None:
                del mirror[change.key]
            else:
                mirror[change.key] = change.new
    assert dict(table.items()) == mirror
    assert sorted(table.snapshot()) == sorted(mirror.values())
