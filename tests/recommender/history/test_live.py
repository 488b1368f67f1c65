"""What is new since the last round: windows without gap or overlap, and samples as the metrics API tells them."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.cluster_model import ClusterModel
from recommender.history.live import MOST_SAMPLES, counted_until, seen_alive, tiles, usage_table
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
    ("case", "gap", "count", "window", "rate"),
    [
        ("a round in time", MINUTE, 1, "60000ms", "120000ms"),
        ("a little early", MINUTE - 7_000_000, 1, "59993ms", "120000ms"),
        ("a little late", MINUTE + 7_000_000, 1, "60007ms", "120000ms"),
        ("after a missed round", 2 * MINUTE, 2, "60000ms", "120000ms"),
        ("after a restart of ten minutes", 10 * MINUTE, 10, "60000ms", "120000ms"),
        ("after two days", 2 * DAY, MOST_SAMPLES, "120000ms", "120000ms"),
    ],
)
def test_windows_cover_the_time_since_the_last_round(case: str, gap: int, count: int, window: str, rate: str) -> None:
    due = tiles(T0_NS, T0_NS + gap, timedelta(minutes=1))
    assert due is not None
    assert (due.span.count, due.window, due.rate_window) == (count, window, rate), f"beyond:B-44 {case}"


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


def test_a_rate_that_outlives_its_container_does_not_count() -> None:
    _, points = piece([series(of(), [0.1, 0.05])], [series(of(), [5e6])])
    alive = seen_alive(points, SPAN)
    assert alive.cpu.values.tolist() == [0.1], "beyond:B-44"


def test_after_a_restart_usage_is_asked_for_from_the_last_sample_on() -> None:
    model, now = ClusterModel(), T0_NS + DAY
    assert counted_until(model, now, timedelta(days=8)) == now - MINUTE
    row = model.aggregates.create(T0_NS)
    assert counted_until(model, now, timedelta(days=8)) == now - MINUTE, "an aggregate without samples says nothing"
    model.aggregates.add_cpu(*(np.array([value], dtype=np.int64) for value in (row, 100, T0_NS)))
    assert counted_until(model, now, timedelta(days=8)) == T0_NS, "beyond:B-44"
    assert counted_until(model, now, timedelta(hours=3)) == now - 3 * HOUR
