"""Cutting history: nothing is lost or asked for twice, and every piece keeps to its limits."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from recommender.history.pieces import MOST_POINTS, Budget, Piece, Span, cut
from tests.recommender.history.builders import DAY, HOUR, MINUTE, T0_NS


def test_a_span_is_the_grid_that_upstream_asks_for() -> None:
    span = Span.before(T0_NS + 123_456_789, timedelta(days=8), timedelta(hours=1))
    assert span == Span(T0_NS + 123_000_000 - 8 * DAY, HOUR, 193), "recommender:7"
    assert span.last == T0_NS + 123_000_000


def test_a_span_that_its_step_does_not_divide_ends_before_its_end() -> None:
    span = Span.before(T0_NS, timedelta(hours=1), timedelta(minutes=25))
    assert (span.start, span.count) == (T0_NS - HOUR, 3)
    assert span.last == T0_NS - 10 * MINUTE


@given(st.integers(1, 30_000), st.integers(1, 12_000))
def test_parts_of_a_span_are_the_span(count: int, most: int) -> None:
    span = Span(T0_NS, MINUTE, count)
    parts = list(span.parts(most))
    assert sum(part.count for part in parts) == count
    assert max(part.count for part in parts) <= most
    assert [part.start for part in parts[1:]] == [part.last + MINUTE for part in parts[:-1]]
    assert (parts[0].start, parts[-1].last) == (span.start, span.last)


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(1, 3000)), st.integers(1, 5000), st.integers(1, 4000))
def test_every_namespace_is_asked_for_at_every_instant_once(sizes: dict[str, int], points: int, series: int) -> None:
    span = Span(T0_NS, HOUR, 193)
    seen: dict[str, int] = dict.fromkeys(sizes, T0_NS - HOUR)
    for piece in cut(span, sizes, Budget(points, series)):
        expected = sum(sizes[namespace] for namespace in piece.namespaces)
        assert expected <= series or len(piece.namespaces) == 1
        assert expected * piece.span.count <= points or piece.span.count == 1
        for namespace in piece.namespaces:
            assert piece.span.start == seen[namespace] + HOUR, "pieces of a namespace come in the order of time"
            seen[namespace] = piece.span.last
    assert set(seen.values()) <= {span.last}


def test_no_series_is_asked_for_more_points_than_prometheus_gives() -> None:
    span = Span.before(T0_NS, timedelta(days=8), timedelta(minutes=1))
    pieces = list(cut(span, {"a": 1}, Budget()))
    assert [piece.span.count for piece in pieces] == [MOST_POINTS, 521], "performance:R-7"


def test_a_piece_is_halved_by_time_first_then_by_namespace() -> None:
    piece = Piece(("a", "b", "c"), Span(T0_NS, HOUR, 3))
    older, newer = piece.halves()
    assert (older.span, newer.span) == (Span(T0_NS, HOUR, 2), Span(T0_NS + 2 * HOUR, HOUR, 1))
    assert [half.namespaces for half in newer.halves()] == [("a", "b"), ("c",)]
    assert Piece(("a",), Span(T0_NS, HOUR, 1)).halves() == ()
    assert Piece((), Span(T0_NS, HOUR, 1)).halves() == ()
