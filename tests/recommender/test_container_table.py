from __future__ import annotations

import numpy as np
import pytest

from recommender.container_table import NO_AGGREGATE, NO_CONTAINER, ContainerTable
from recommender.instants import NEVER
from tests.recommender.scene import integers


def test_a_new_container_has_seen_nothing() -> None:
    table = ContainerTable()
    row = table.create(7)
    assert int(table.aggregate[row]) == 7
    for instants in (table.last_cpu, table.last_memory, table.window_end):
        assert int(instants[row]) == NEVER
    assert (int(table.peak[row]), int(table.memory_peak[row]), int(table.memory_request[row])) == (0, 0, 0)


def test_a_released_row_is_told_from_a_container_without_aggregate() -> None:
    table = ContainerTable()
    row = table.create(7)
    table.window_end[row], table.is_held[row], table.peak[row] = 5, True, 9
    table.release(row)
    assert int(table.aggregate[row]) == NO_CONTAINER
    assert int(table.aggregate[row]) != NO_AGGREGATE
    assert int(table.window_end[row]) == NEVER
    assert table.create(3) == row
    assert (bool(table.is_held[row]), int(table.peak[row])) == (False, 0)


def test_the_table_grows_and_keeps_what_it_has() -> None:
    table = ContainerTable(capacity=1)
    rows = [table.create(number) for number in range(5)]
    assert table.aggregate[:5].tolist() == [0, 1, 2, 3, 4]
    assert table.aggregate[5:].tolist() == [NO_CONTAINER] * 3
    assert table.window_end.tolist() == [NEVER] * 8
    assert rows == [0, 1, 2, 3, 4]


def test_rows_that_occur_twice_are_found() -> None:
    table = ContainerTable()
    assert table.are_distinct(integers())
    assert table.are_distinct(integers(3, 1, 2))
    assert not table.are_distinct(integers(3, 1, 3))
    assert table.are_distinct(integers(3, 1))
    assert table.are_distinct(integers(3, 1))
    assert not table.are_distinct(integers(1, 1))


@pytest.mark.parametrize(
    ("rows", "places"), [((3, 4, 5), slice(3, 6)), ((3, 5, 4), [3, 5, 4]), ((3, 5), [3, 5]), ((5, 4), [5, 4])]
)
def test_rows_that_follow_one_another_are_read_as_a_slice(rows: tuple[int, ...], places: slice | list[int]) -> None:
    table, batch = ContainerTable(), integers(*rows)
    assert table.places(batch) is batch, "before anything is known of it"
    for known in (batch, batch.copy()):
        assert table.are_distinct(known)
        found = table.places(known)
        assert (found if isinstance(found, slice) else found.tolist()) == places


def test_the_aggregates_of_a_batch_follow_what_containers_feed() -> None:
    table = ContainerTable()
    rows = integers(*(table.create(number) for number in (5, 7, 5)))
    assert table.are_distinct(rows)
    first = table.feeding(rows)
    assert (first.rows.tolist(), first.distinct.tolist(), first.counts.tolist()) == ([5, 7, 5], [5, 7], [2, 1])
    assert table.feeding(rows) is first
    table.feed(rows[:1], 7)
    assert table.feeding(rows).rows.tolist() == [7, 7, 5]
    assert table.feeding(rows[:1]).distinct.tolist() == [7]


def test_what_a_batch_feeds_is_that_of_this_batch() -> None:
    table = ContainerTable()
    rows = integers(*(table.create(number) for number in (5, 7, 5)))
    for batch, fed in ((rows, [5, 7, 5]), (rows[1:], [7, 5]), (rows[:2], [5, 7]), (rows.copy(), [5, 7, 5])):
        assert table.are_distinct(batch)
        assert table.feeding(batch).rows.tolist() == fed


def test_that_a_container_is_bare_is_known_after_each_change() -> None:
    table = ContainerTable()
    assert not table.is_any_bare()
    rows = integers(*(table.create(number) for number in (5, NO_AGGREGATE, 6)))
    assert table.is_any_bare()
    table.feed(rows[1:2], 3)
    assert not table.is_any_bare()
    table.feed(np.array([True, False, False, *[False] * (len(table.aggregate) - 3)]), NO_AGGREGATE)
    assert table.is_any_bare()
    table.release(int(rows[0]))
    assert not table.is_any_bare()


def test_only_the_table_changes_what_containers_feed() -> None:
    table = ContainerTable(1)
    for number in range(3):
        row = table.create(number)
        with pytest.raises(ValueError, match="read-only"):
            table.aggregate[row] = 7


def test_a_container_without_an_aggregate_feeds_none() -> None:
    table = ContainerTable()
    rows = integers(table.create(NO_AGGREGATE))
    with pytest.raises(ValueError, match="negative"):
        table.feeding(rows)
