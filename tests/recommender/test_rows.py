from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.rows import CHUNK, Occurrences, RowPool, chunks, doubled, grown, in_turns, ranks, spread
from tests.recommender.scene import integers


def test_rows_are_handed_out_in_order_and_again_after_release() -> None:
    pool = RowPool()
    assert [pool.take(), pool.take(), pool.take()] == [0, 1, 2]
    pool.release(1)
    assert (len(pool), pool.end) == (2, 3)
    assert [pool.take(), pool.take()] == [1, 3]
    assert (len(pool), pool.end) == (4, 4)


@pytest.mark.parametrize(("current", "needed", "expected"), [(64, 64, 64), (64, 65, 128), (4, 33, 64), (0, 3, 4)])
def test_capacity_grows_by_doubling(current: int, needed: int, expected: int) -> None:
    assert doubled(current, needed) == expected


def test_grown_tables_keep_their_rows_and_fill_the_new_ones() -> None:
    table = grown(np.array([[1.0, 2.0]]), 3, 0)
    assert table.tolist() == [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    assert grown(integers(7), 3, -1).tolist() == [7, -1, -1]


def test_a_batch_is_cut_into_pieces_that_cover_it() -> None:
    pieces = chunks(2 * CHUNK + 1)
    assert [piece.stop - piece.start for piece in pieces] == [CHUNK, CHUNK, 1]
    assert chunks(0) == []


@given(st.lists(st.integers(-3, 3)))
def test_ranks_count_the_equal_ones_before(keys: list[int]) -> None:
    assert ranks(integers(*keys)).tolist() == [keys[:place].count(key) for place, key in enumerate(keys)]


KEYS = st.lists(st.integers(-3, 3) | st.sampled_from([0, 2**40, 2**62]))


@given(KEYS)
def test_turns_hold_each_key_once_and_come_in_the_order_of_the_batch(keys: list[int]) -> None:
    turns = [turn.tolist() for turn in in_turns(integers(*keys))]
    assert sorted(place for turn in turns for place in turn) == list(range(len(keys)))
    for number, turn in enumerate(turns):
        assert all(keys[:place].count(keys[place]) == number for place in turn)


@given(st.lists(st.integers(0, 9)))
def test_occurrences_are_counted(rows: list[int]) -> None:
    found = Occurrences.of(integers(*rows))
    assert found.rows.tolist() == rows
    assert dict(zip(found.distinct.tolist(), found.counts.tolist(), strict=True)) == {
        row: rows.count(row) for row in sorted(set(rows))
    }


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4))))
def test_ranges_are_spread_one_after_the_other(ranges: list[tuple[int, int]]) -> None:
    starts, sizes = integers(*(start for start, _ in ranges)), integers(*(size for _, size in ranges))
    assert spread(starts, sizes).tolist() == [n for start, size in ranges for n in range(start, start + size)]
