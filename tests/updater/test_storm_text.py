"""Levels of storm budgets as text."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import T0
from updater.storm_levels import Bucket, Span, StormLevels, StormLimit, StormLimits
from updater.storm_text import LONGEST_TEXT, levels_text, read_levels

LIMITS = StormLimits(StormLimit(10, 1.0), StormLimit(10, 1.0), StormLimit(10, 1.0))
NAMES = st.text("abc-.0", min_size=1, max_size=8)
BUCKETS = st.one_of(
    st.builds(Bucket, st.sampled_from([Span.NODE, Span.NAMESPACE]), NAMES), st.just(Bucket(Span.CLUSTER))
)
AMOUNTS = st.floats(0, 10)


def test_the_text_is_short() -> None:
    levels = StormLevels(T0, {Bucket(Span.NODE, "n1"): 2.0, Bucket(Span.CLUSTER): 1 / 3}, {Span.NODE: 1.0})
    expected = '{"at":"2026-01-01T00:00:00+00:00","cluster":{"":0.334},"node":{"*":1.0,"n1":2.0}}'
    assert levels_text(levels) == expected, "beyond:B-24"


@given(st.dictionaries(BUCKETS, AMOUNTS, max_size=8), st.dictionaries(st.sampled_from(Span), AMOUNTS))
def test_what_is_read_is_what_was_written_and_never_less_missing(
    missing: dict[Bucket, float], elsewhere: dict[Span, float]
) -> None:
    levels = StormLevels(T0, missing, elsewhere)
    read = read_levels(levels_text(levels))
    assert read is not None
    assert read.at == T0
    assert read.missing.keys() == missing.keys()
    assert all(0 <= read.missing[bucket] - lacking <= 0.0011 for bucket, lacking in missing.items())
    assert all(0 <= read.elsewhere[span] - lacking <= 0.0011 for span, lacking in elsewhere.items())


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("beyond:B-24", ""),
        ("beyond:B-24", "{"),
        ("beyond:B-24", "[]"),
        ("beyond:B-24", "null"),
        ("beyond:B-24", "{}"),
        ("beyond:B-24", '{"at":"yesterday"}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00"}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00Z","node":5}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00Z","node":{"n1":"2"}}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00Z","node":{"n1":-1}}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00Z","node":{"n1":Infinity}}'),
        ("beyond:B-24", '{"at":"2026-01-01T00:00:00Z","node":{"n1":true}}'),
    ],
)
def test_what_cannot_be_read_is_not_guessed(row: str, text: str) -> None:
    assert read_levels(text) is None, row


def test_too_many_buckets_are_put_together_to_the_worse() -> None:
    many = {Bucket(Span.NODE, f"node-with-quite-a-long-name-{number}"): number % 7 for number in range(6000)}
    many[Bucket(Span.CLUSTER)] = 3
    text = levels_text(StormLevels(T0, many))
    assert len(text) <= LONGEST_TEXT
    read = read_levels(text)
    assert read is not None
    for bucket in many:
        before = StormLevels(T0, many).tokens(bucket, LIMITS, T0 + timedelta(seconds=1))
        assert read.tokens(bucket, LIMITS, T0 + timedelta(seconds=1)) <= before


def test_levels_that_were_never_used_have_no_text() -> None:
    with pytest.raises(ValueError, match="need not be kept"):
        levels_text(StormLevels())
