"""Rings of slots of time (quality:Q-15, Q-16)."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.packing import packed
from recommender.strategies.slots import Plane, SlotForm, SlotRing

FORM = SlotForm(10, 40, (Plane("sums", np.add, np.float64), Plane("peaks", np.maximum, np.uint32)))
moments = st.lists(
    st.tuples(st.sampled_from([0, 3, 10, 17, 100, 399, 401, 5000, -25]), st.integers(0, 9), st.integers(1, 9)),
    min_size=1,
    max_size=40,
)


@given(of=moments, cut=st.integers(0, 40))
def test_each_slot_has_what_ended_in_it(of: list[tuple[int, int, int]], cut: int) -> None:
    """Law: for as many slots as there is room for, whatever the gaps, over a restart."""
    ring, now = SlotRing(FORM, 1), 1000.0
    sums: dict[int, float] = {}
    peaks: dict[int, int] = {}
    row, first = 0, None
    for number, (gap, amount, peak) in enumerate(of):
        if number == cut:
            saved = json.loads(json.dumps(ring.save(0)))
            ring, row = SlotRing(FORM, 3), 2
            ring.restore(row, saved)
        now += gap
        slot = math.ceil(now / 10)
        first = slot if first is None else first
        newest = max(slot, *sums) if sums else slot
        if slot >= first and slot > newest - FORM.room:
            sums[slot] = sums.get(slot, 0.0) + amount
            peaks[slot] = max(peaks.get(slot, 0), peak)
        ring.add(np.array([row]), np.array([now]), (np.array([float(amount)]), np.array([peak], dtype=np.uint32)))
        begin = newest - FORM.room - 5
        found = ring.window(np.array([row]), np.array([begin]), FORM.room)
        held = [each if each > newest - FORM.room else None for each in range(begin, begin + FORM.room)]
        assert found[0].tolist() == [[sums.get(each, 0.0) if each is not None else 0.0 for each in held]]
        assert found[1].tolist() == [[peaks.get(each, 0) if each is not None else 0 for each in held]]
        last = ring.window(np.array([row]), np.array([newest]), 3)
        assert last[0].tolist() == [[sums.get(newest, 0.0), 0.0, 0.0]]


def test_rows_are_apart_and_one_may_have_several_samples_at_a_time() -> None:
    ring = SlotRing(FORM, 3)
    ring.add(
        np.array([0, 2, 2]),
        np.array([5.0, 99.0, 99.0]),
        (np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3], dtype=np.uint32)),
    )
    sums, peaks = ring.window(np.array([0, 1, 2]), np.array([1, 1, 10]), 1)
    assert (sums.tolist(), peaks.tolist()) == ([[1.0], [0.0], [5.0]], [[1], [0], [3]])
    ring.clear(np.array([2]))
    assert ring.window(np.array([2]), np.array([10]), 1)[0].tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("row", "begin", "sums", "peaks"),
    [
        ("beyond:B-10 other numbers", [1], [1.0, 2.0], [1]),
        ("beyond:B-10 too many", [1], [1.0] * 41, [1] * 41),
        ("beyond:B-10 no first", [], [1.0], [1]),
        ("beyond:B-10 a first out of reach", [2**40], [1.0], [1]),
        ("beyond:B-10 negative", [1], [-1.0], [1]),
        ("beyond:B-10 no number", [1], [np.nan], [1]),
    ],
)
def test_what_it_cannot_have_kept_is_refused(row: str, begin: list[int], sums: list[float], peaks: list[int]) -> None:
    saved = packed(
        {
            "begin": np.array(begin, dtype=np.int64),
            "sums": np.array(sums),
            "peaks": np.array(peaks, dtype=np.uint32),
        }
    )
    with pytest.raises(ValueError, match="saved state of a row"):
        SlotRing(FORM, 1).restore(0, saved)
    assert row
