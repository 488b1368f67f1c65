"""Token buckets of nodes, namespaces and the cluster."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import T0
from updater.storm_levels import Bucket, Span, StormFlag, StormFlags, StormLevels, StormLimit, StormLimits

SECOND = timedelta(seconds=1)
NODE, OTHER, NAMESPACE = Bucket(Span.NODE, "n1"), Bucket(Span.NODE, "n2"), Bucket(Span.NAMESPACE, "a")
CLUSTER = Bucket(Span.CLUSTER)
LIMITS = StormLimits(node=StormLimit(2, 1.0), namespace=StormLimit(5, 0.5), cluster=StormLimit(10, -1.0))


@pytest.mark.parametrize(
    ("row", "nodes", "cluster", "namespace"),
    [
        ("beyond:B-24", 0, 20, 10),
        ("beyond:B-24", 3, 20, 10),
        ("beyond:B-24", 209, 20, 10),
        ("beyond:B-24", 210, 21, 10),
        ("beyond:B-24", 5000, 500, 250),
    ],
)
def test_limits_suit_the_size_of_the_cluster(row: str, nodes: int, cluster: int, namespace: int) -> None:
    limits = StormFlags().limits(nodes)
    assert (limits.node.burst, limits.namespace.burst, limits.cluster.burst) == (10, namespace, cluster), row
    assert limits.cluster.rate * 60 == pytest.approx(cluster), "as many per minute as at once"


def test_flags_win_over_the_size() -> None:
    flags = StormFlags(StormFlag(3, 6.0), StormFlag(0, -1.0), StormFlag(7))
    limits = flags.limits(5000)
    assert limits.node == StormLimit(3, 0.1)
    assert limits.namespace.burst == 3
    assert limits.namespace.rate < 0
    assert limits.cluster.burst == 7
    assert limits.cluster.rate * 60 == pytest.approx(7)


def test_a_bucket_starts_full_is_used_up_and_fills_again() -> None:
    levels = StormLevels()
    assert levels.tokens(NODE, LIMITS, T0) == 2
    levels = levels.taking({NODE: 2}, LIMITS, T0)
    assert levels.first_short([NODE, NAMESPACE], {}, LIMITS, T0) == NODE
    assert levels.first_short([NODE], {}, LIMITS, T0 + 0.999 * SECOND) == NODE
    assert levels.first_short([NODE], {}, LIMITS, T0 + SECOND) is None
    assert levels.tokens(NODE, LIMITS, T0 + 100 * SECOND) == 2
    assert levels.tokens(OTHER, LIMITS, T0) == 2
    assert levels.tokens(NODE, LIMITS, T0 - SECOND) == 0, "a clock that went backwards adds nothing"


def test_tokens_taken_in_the_round_count() -> None:
    assert StormLevels().first_short([NODE], {NODE: 1}, LIMITS, T0) is None
    assert StormLevels().first_short([NODE], {NODE: 2}, LIMITS, T0) == NODE


def test_a_span_without_a_rate_is_not_limited() -> None:
    levels = StormLevels.empty(T0).taking({CLUSTER: 1000}, LIMITS, T0)
    assert levels.first_short([CLUSTER], {CLUSTER: 1000}, LIMITS, T0) is None


def test_empty_levels_fill_like_others() -> None:
    levels = StormLevels.empty(T0)
    assert [levels.tokens(b, LIMITS, T0) for b in (NODE, NAMESPACE)] == [0, 0]
    assert [levels.tokens(b, LIMITS, T0 + 2 * SECOND) for b in (NODE, NAMESPACE)] == [2, 1]
    assert StormLevels(T0 + SECOND).known_at(T0) == StormLevels(T0)
    assert StormLevels().known_at(T0) == StormLevels()


BUCKETS = st.sampled_from([NODE, OTHER, NAMESPACE, Bucket(Span.NAMESPACE, "b"), CLUSTER])
LEVELS = st.sampled_from([StormLevels(), StormLevels.empty(T0)])
LIMITED = st.builds(
    StormLimits,
    *[st.builds(StormLimit, st.integers(1, 12), st.sampled_from([0.1, 0.5, 1.0, 3.0, -1.0])) for _ in range(3)],
)
STEPS = st.lists(st.tuples(st.lists(BUCKETS, max_size=6), st.integers(0, 5)), max_size=8)


@given(LEVELS, LIMITED, STEPS)
def test_levels_stay_between_nothing_and_the_burst(
    levels: StormLevels, limits: StormLimits, steps: list[tuple[list[Bucket], int]]
) -> None:
    now = T0
    for taken, seconds in steps:
        now += seconds * SECOND
        levels = levels.taking(Counter(taken), limits, now)
        for bucket in [NODE, OTHER, NAMESPACE, CLUSTER, Bucket(Span.NODE, "never seen")]:
            limit = limits.of(bucket.span)
            assert limit.rate <= 0 or 0 <= levels.tokens(bucket, limits, now) <= limit.burst


@given(LEVELS, LIMITED, st.lists(BUCKETS, max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_waiting_in_two_parts_is_waiting(
    levels: StormLevels, limits: StormLimits, taken: list[Bucket], first: int, then: int
) -> None:
    levels = levels.taking(Counter(taken), limits, T0)
    later = T0 + (first + then) * SECOND
    looked_at = levels.taking({}, limits, T0 + first * SECOND)
    for bucket in [NODE, OTHER, NAMESPACE, CLUSTER]:
        assert looked_at.tokens(bucket, limits, later) == pytest.approx(levels.tokens(bucket, limits, later))


@given(LEVELS, LIMITED, st.lists(BUCKETS, max_size=6), st.integers(0, 30))
def test_what_is_reserved_is_never_more_than_what_can_be_left(
    levels: StormLevels, limits: StormLimits, taken: list[Bucket], seconds: int
) -> None:
    reserved = levels.reserving(6, limits, T0)
    used = levels.taking(Counter(taken), limits, T0)
    later = T0 + seconds * SECOND
    for bucket in [NODE, OTHER, NAMESPACE, CLUSTER, Bucket(Span.NODE, "never seen")]:
        assert reserved.tokens(bucket, limits, later) <= used.tokens(bucket, limits, later) + 1e-9
