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


def swept(table: ObjectTable[str], slice_size: int = 2) -> list[Change[str]]:
    """End a list."""
    return table.forget([key for keys in table.unlisted(slice_size) for key in keys])


def test_the_end_of_a_list_forgets_what_it_did_not_bring() -> None:
    table = filled()
    table.refuse(C, "bad")
    table.begin_list()
    assert table.put(B, "2", "b2") is None
    assert (table.snapshot(), dict(table.unreadable)) == (("a1", "b2"), {C: "bad"})
    assert swept(table) == [Change(A, "a1", None)]
    assert (table.snapshot(), dict(table.unreadable)) == (("b2",), {})


def test_a_list_that_is_begun_again_has_to_bring_everything() -> None:
    table = filled()
    table.begin_list()
    table.put(A, "1", "a1")
    table.put(C, "3", "c3")
    table.begin_list()
    table.put(B, "2", "b2")
    assert swept(table) == [Change(A, "a1", None), Change(C, "c3", None)]
    assert table.snapshot() == ("b2",)


@pytest.mark.parametrize(("slice_size", "slices"), [(1, [[A], [], [C]]), (2, [[A], [C]]), (3, [[A, C]]), (9, [[A, C]])])
def test_a_table_is_gone_through_in_slices(slice_size: int, slices: list[list[Key]]) -> None:
    table = filled()
    table.put(C, "3", "c3")
    table.begin_list()
    table.put(B, "2", "b2")
    assert list(table.unlisted(slice_size)) == slices
    assert table.snapshot() == ("a1", "b2", "c3")


def test_no_list_under_way_leaves_nothing_to_forget() -> None:
    table = filled()
    assert swept(table) == []
    table.begin_list()
    assert len(swept(table)) == 2
    assert table.put(A, "1", "a1") == Change(A, None, "a1")
    assert swept(table) == []


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
        case "begin":
            table.begin_list()
            return []
        case _:
            return [*swept(table, number + 1)]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop", "refuse", "begin", "end"]), st.sampled_from([A, B, C]), st.integers(0, 3)
    ),
    max_size=30,
)


@given(STEPS)
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


class SweptAsAWhole:
    """What a table has to come to: the end of a list compares all keys with those that the list brought."""

    def __init__(self) -> None:
        self.readable: dict[Key, str] = {}
        self.unreadable: dict[Key, str] = {}
        self._present: set[Key] | None = None

    def take(self, what: str, key: Key, number: int) -> None:
        if what == "begin":
            self._present = set()
        elif what == "end":
            present, self._present = self._present, None
            for known in (self.readable, self.unreadable) if present is not None else ():
                for gone in known.keys() - (present or set()):
                    del known[gone]
        else:
            self._take_object(what, key, number)

    def _take_object(self, what: str, key: Key, number: int) -> None:
        self.readable.pop(key, None)
        self.unreadable.pop(key, None)
        if what == "put":
            self.readable[key] = f"{key}{number}"
        elif what == "refuse":
            self.unreadable[key] = str(number)
        if self._present is not None:
            self._present.add(key)


@given(STEPS)
def test_a_list_leaves_what_comparing_all_keys_at_its_end_would_leave(steps: list[tuple[str, Key, int]]) -> None:
    table: ObjectTable[str] = ObjectTable()
    whole = SweptAsAWhole()
    for step in steps:
        carried_out(table, *step)
        whole.take(*step)
        assert (dict(table.items()), dict(table.unreadable)) == (whole.readable, whole.unreadable)
