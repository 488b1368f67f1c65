"""What is new since the last round: windows without gap or overlap, and samples as the metrics API tells them."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.cluster_model import ClusterModel
from recommender.history.live import MOST_SAMPLES, Tiles, counted_until, peaks, rates, tiles, usage_table
from recommender.history.pieces import Span
from recommender.history.points import Points, Screened
from recommender.history.queries import HistoryRequest
from recommender.history.series import ContainerKey, Series, by_container
from tests.recommender.history.builders import DAY, HOUR, MINUTE, SECOND, T0_NS, of, series

SPAN = Span(T0_NS, HOUR, 2)


def piece(cpu: list[Series], memory: list[Series]) -> tuple[dict[ContainerKey, int], Screened]:
    keys: dict[ContainerKey, int] = {}
    used, held = (Points.of(by_container(each, HistoryRequest(), keys, None)) for each in (cpu, memory))
    return keys, Screened(used, held)


@pytest.mark.parametrize(
    ("case", "gap", "count", "window", "reach"),
    [
        ("a round in time", MINUTE, 1, 60_000, "360000ms"),
        ("a little early", MINUTE - 7_000_000, 1, 59_993, "359993ms"),
        ("a little late", MINUTE + 7_000_000, 1, 60_007, "360007ms"),
        ("after a missed round", 2 * MINUTE, 2, 60_000, "420000ms"),
        ("after a restart of ten minutes", 10 * MINUTE, 10, 60_000, "900000ms"),
        ("after two days", 2 * DAY, MOST_SAMPLES, 120_000, "173100000ms"),
    ],
)
def test_windows_cover_the_time_since_the_last_round(case: str, gap: int, count: int, window: int, reach: str) -> None:
    due = tiles(T0_NS, T0_NS + gap, timedelta(minutes=1))
    assert due is not None
    assert (due.span.count, due.span.step // 1_000_000, due.reach) == (count, window, reach), f"beyond:B-44 {case}"


def test_nothing_is_due_at_once() -> None:
    assert tiles(T0_NS, T0_NS + SECOND // 2, timedelta(minutes=1)) is None
    assert tiles(T0_NS, T0_NS - HOUR, timedelta(minutes=1)) is None


@given(st.integers(SECOND, 3 * DAY), st.integers(1, 600))
def test_windows_leave_no_gap_and_do_not_overlap(gap: int, seconds: int) -> None:
    due = tiles(T0_NS, T0_NS + gap, timedelta(seconds=seconds))
    assert due is not None
    end = T0_NS + gap - (T0_NS + gap) % 1_000_000
    assert due.span.last == end
    first = due.span.start - due.span.step
    # Windows are whole milliseconds; what is lost by that is less than one of them for each window.
    assert 0 <= first - T0_NS < due.span.count * 1_000_000


def test_samples_are_those_of_the_metrics_api_the_oldest_first() -> None:
    cpu = [series(of(), [0.1, 0.2]), series(of(container="side"), [0.3], first=1)]
    memory = [series(of(), [5e6, 6e6]), series(of(container="side"), [7e6, 8e6]), series(of(pod="b"), [9e6])]
    table = usage_table(*piece(cpu, memory), SPAN)
    assert table.pods == ["b", "web-0", "web-0"]
    assert ((table.instants - T0_NS) // HOUR).tolist() == [0, 0, 1]
    assert (table.sizes, table.containers) == ([1, 2, 2], ["main", "main", "side", "main", "side"])
    assert table.millicores.tolist() == [-1, 100, -1, 200, 300]
    assert table.memory_bytes.tolist() == [9_000_000, 5_000_000, 7_000_000, 6_000_000, 8_000_000]


def test_no_series_no_samples() -> None:
    assert len(usage_table(*piece([], []), SPAN)) == 0


DUE = Tiles(Span(T0_NS + MINUTE, MINUTE, 3))
"""Three minutes from T0 on."""


def measured(*points: tuple[float, float]) -> Series:
    """Return a series from seconds after T0 and values."""
    times = [T0_NS + round(seconds * SECOND) for seconds, _ in points]
    return Series(of(), np.array(times, dtype=np.int64), np.array([value for _, value in points]))


def shown(found: Series) -> list[tuple[int, float]]:
    """Return minute and value of each point."""
    minutes = (found.instants - T0_NS) // MINUTE
    return list(zip(minutes.tolist(), np.round(found.values, 9).tolist(), strict=True))


@pytest.mark.parametrize(
    ("case", "points", "expected"),
    [
        ("since the last look before", [(-10, 0), (50, 6), (110, 18), (170, 18)], [(1, 0.1), (2, 0.2), (3, 0.0)]),
        ("at the very edges", [(0, 0), (60, 6), (120, 18)], [(1, 0.1), (2, 0.2)]),
        ("a container that is new", [(20, 0), (50, 6), (80, 12)], [(1, 0.2), (2, 0.2)]),
        ("a single look is no rate", [(20, 5)], []),
        ("no look in a window", [(-10, 0), (50, 6), (170, 18)], [(1, 0.1), (3, 0.1)]),
        ("a counter that begins anew", [(-10, 100), (50, 106), (110, 3)], [(1, 0.1), (2, 0.05)]),
        ("a gap that is too long", [(-400, 0), (10, 90), (40, 93)], [(1, 0.1)]),
        ("nothing new", [(-20, 0), (-10, 1)], []),
        ("nothing at all", [], []),
    ],
)
def test_cpu_is_what_a_counter_grew_by(
    case: str, points: list[tuple[float, float]], expected: list[tuple[int, float]]
) -> None:
    assert shown(rates(measured(*points), DUE)) == expected, f"beyond:B-44 {case}"


@given(st.lists(st.floats(0, 60), min_size=2, max_size=30), st.lists(st.integers(0, 500), min_size=30, max_size=30))
def test_rates_tell_all_that_was_used(pauses: list[float], used: list[int]) -> None:
    times = np.unique(T0_NS - 5 * SECOND + (np.cumsum(pauses) * SECOND).astype(np.int64))
    counter = Series(of(), times, np.cumsum(used[: len(times)]).astype(np.float64))
    due = Tiles(Span(T0_NS + MINUTE, MINUTE, 40))
    found = rates(counter, due)
    bounds = np.searchsorted(times, due.edges(), side="right")
    told = 0.0
    for at, rate in zip(found.instants.tolist(), found.values.tolist(), strict=True):
        number = (at - T0_NS) // MINUTE - 1
        last, before = bounds[number + 1] - 1, max(bounds[number] - 1, 0)
        told += rate * (times[last] - times[before]) / SECOND
    begin = max(bounds[0] - 1, 0)
    assert told == pytest.approx(counter.values[-1] - counter.values[begin])


def test_memory_is_the_most_of_each_window() -> None:
    found = peaks(measured((-5, 99), (0, 98), (1, 5), (60, 7), (61, 3), (180, 4), (181, 50)), DUE)
    assert shown(found) == [(1, 7.0), (2, 3.0), (3, 4.0)], "beyond:B-44"
    assert shown(peaks(measured(), DUE)) == []


def test_parts_are_the_whole() -> None:
    parts = [part.span.count for part in DUE.parts(2)]
    assert parts == [2, 1]


def test_after_a_restart_usage_is_asked_for_from_the_last_sample_on() -> None:
    model, now = ClusterModel(), T0_NS + DAY
    assert counted_until(model, now, timedelta(days=8)) == now - MINUTE
    row = model.aggregates.create(T0_NS)
    assert counted_until(model, now, timedelta(days=8)) == now - MINUTE, "an aggregate without samples says nothing"
    model.aggregates.add_cpu(*(np.array([value], dtype=np.int64) for value in (row, 100, T0_NS)))
    assert counted_until(model, now, timedelta(days=8)) == T0_NS, "beyond:B-44"
    assert counted_until(model, now, timedelta(hours=3)) == now - 3 * HOUR
