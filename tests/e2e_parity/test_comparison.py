"""Answers field by field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.comparison import MISSING, Difference, first_difference, unexplained

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_a_value_does_not_differ_from_itself(value: object) -> None:
    assert first_difference(value, value) is None
    assert unexplained(value, [value]) is None


@given(values, values)
def test_both_sides_see_the_same_difference(one: object, other: object) -> None:
    there, back = first_difference(one, other), first_difference(other, one)
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert (there.path, there.ours, there.theirs) == (back.path, back.theirs, back.ours)


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, Difference("a[1].b", 2, 3)),
        ({"a": 1}, {}, Difference("a", 1, MISSING)),
        ({}, {"a": None}, Difference("a", MISSING, None)),
        ([1], [1, 2], Difference("", [1], [1, 2])),
        (True, 1, Difference("", True, 1)),
        (0, False, Difference("", 0, False)),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, Difference("a", 1, 2)),
        (0.1, 0.10000000000000002, Difference("", 0.1, 0.10000000000000002)),
        ("1", 1, Difference("", "1", 1)),
    ],
)
def test_the_first_difference_is_named(ours: object, theirs: object, difference: Difference) -> None:
    assert first_difference(ours, theirs) == difference


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1.0), (7.9190518468944670e19, 79190518468944670000), (0.0, 0)])
def test_numbers_are_the_same_whatever_their_notation(ours: float, theirs: float) -> None:
    assert first_difference(ours, theirs) is None


def test_a_difference_says_where_and_what() -> None:
    assert str(Difference("a.b", 1, 2)) == "at a.b: ours 1, upstream 2"
    assert str(Difference("", 1, 2)) == "at (the whole): ours 1, upstream 2"


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        ({"a": 1, "b": 1}, [{"a": 1, "b": 2}, {"a": 2, "b": 1}], None),
        ({"a": 3, "b": 1}, [{"a": 1, "b": 2}, {"a": 2, "b": 1}], Difference("a", 3, 1)),
        ([[1], 2], [[[1], 3], [[5], 2]], None),
        ([1, 2], [[1], [2]], Difference("", [1, 2], [1])),
        (1.5, [1, 2], None),
        (2.5, [1, 2], Difference("", 2.5, 1)),
        (1.5, [1, "2"], Difference("", 1.5, 1)),
        (True, [0, 2], Difference("", True, 0)),
        ("1500m", ["1", "2"], Difference("", "1500m", "1")),
        ({"a": 1}, [{"a": 1, "b": 1}, {"b": 1}], Difference("", {"a": 1}, {"a": 1, "b": 1})),
    ],
)
def test_every_field_has_to_be_in_one_of_several_answers(
    ours: object, theirs: list[object], difference: Difference | None
) -> None:
    assert unexplained(ours, theirs) == difference
