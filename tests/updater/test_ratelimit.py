"""The token bucket."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.updater.situations import MINUTE, NOW, SECOND
from updater.ratelimit import TokenBucket

END = NOW + MINUTE


def takes(bucket: TokenBucket, *seconds: float) -> list[float | None]:
    """Return the waits of tokens taken at these seconds of a round of one minute."""
    waits: list[float | None] = []
    for second in seconds:
        token = bucket.take(NOW + second * SECOND, END)
        bucket = token.bucket
        waits.append(None if token.wait is None else token.wait.total_seconds())
    return waits


@pytest.mark.parametrize(
    ("row", "bucket", "seconds", "waits"),
    [
        ("updater:X-11", TokenBucket(-1.0), (0, 0, 0), [0, 0, 0]),
        ("updater:X-11", TokenBucket(0.0, 0), (0, 0), [0, 0]),
        ("updater:X-11", TokenBucket(1.0, 1), (0, 0, 0), [0, 1, 2]),
        ("updater:X-11", TokenBucket(1.0, 1), (0, 1, 2), [0, 0, 0]),
        ("updater:X-11", TokenBucket(1.0, 1), (0, 0.5), [0, 0.5]),
        ("updater:X-11", TokenBucket(2.0, 3), (0, 0, 0, 0, 0), [0, 0, 0, 0.5, 1]),
        # A full bucket holds no more than its burst.
        ("updater:X-11", TokenBucket(1.0, 2), (0, 0, 30, 30, 30), [0, 0, 0, 0, 1]),
        ("updater:M-21", TokenBucket(5.0, 0), (0,), [None]),
        ("updater:M-21", TokenBucket(1 / 60, 1), (0, 0), [0, 60]),
        ("updater:M-21", TokenBucket(1 / 61, 1), (0, 0), [0, None]),
        ("updater:M-21", TokenBucket(1 / 30, 1), (0, 31, 31, 32), [0, 0, None, None]),
        ("updater:M-21", TokenBucket(1e-300, 1), (0, 0), [0, None]),
        # The round's own deadline counts without any rate as well.
        ("updater:M-21", TokenBucket(-1.0), (59.9, 60, 61), [0, None, None]),
    ],
)
def test_waits(row: str, bucket: TokenBucket, seconds: tuple[float, ...], waits: list[float | None]) -> None:
    assert takes(bucket, *seconds) == pytest.approx(waits)


def test_a_refusal_costs_nothing() -> None:
    bucket = TokenBucket(1 / 30, 1).take(NOW, END).bucket
    refused = bucket.take(NOW + 31 * SECOND, NOW + 32 * SECOND).bucket.take(NOW + 31 * SECOND, NOW + 32 * SECOND)
    assert refused.wait is None
    assert refused.bucket.take(NOW + 60 * SECOND, NOW + 2 * MINUTE).wait == SECOND


def test_a_clock_that_goes_backwards_fills_nothing() -> None:
    bucket = TokenBucket(1.0, 1).take(NOW, END).bucket
    assert bucket.take(NOW - MINUTE, END).wait == SECOND


@given(st.floats(0.1, 100), st.integers(1, 10), st.lists(st.floats(0, 5), min_size=1, max_size=30))
def test_no_more_than_the_rate_allows(rate: float, burst: int, gaps: list[float]) -> None:
    bucket, clock, used = TokenBucket(rate, burst), 0.0, []
    for gap in gaps:
        clock += gap
        token = bucket.take(NOW + clock * SECOND, NOW + timedelta(days=1))
        assert token.wait is not None
        bucket = token.bucket
        used.append(clock + token.wait.total_seconds())
    for first, start in enumerate(used):
        for last in range(first, len(used)):
            assert last - first + 1 <= burst + (used[last] - start) * rate + 0.01
