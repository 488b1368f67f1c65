"""How old recommendations are at most, as the recommender's metrics tell it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from recommender.instants import instant
from recommender.samples import MISSING, UsageColumns
from recommender.shell.freshness import FreshnessMetrics
from tests.builders import T0
from tests.exposed_families import exposed, family

SECOND = timedelta(seconds=1)
USAGE = "evenkeel_recommender_newest_usage_timestamp_seconds"
ROUND = "evenkeel_recommender_last_round_timestamp_seconds"


def usage(moments: Sequence[datetime]) -> UsageColumns:
    """A fetch of samples of containers 0, 1, … at these times."""
    count = len(moments)
    times = np.array([instant(moment) for moment in moments], dtype=np.int64)
    return UsageColumns(np.arange(count), times, np.full(count, 100), np.full(count, MISSING))


@pytest.mark.parametrize(
    ("row", "fetches", "expected"),
    [
        ("product:9 nothing yet", [], 0.0),
        ("product:9 no samples", [[]], 0.0),
        ("product:9 the newest of several", [[T0 - 30 * SECOND, T0 - 15 * SECOND, T0 - 20 * SECOND]], -15.0),
        ("product:9 none in the next round", [[T0 - 15 * SECOND], []], -15.0),
        ("product:9 the present", [[T0]], 0.0),
        ("product:9 a clock that is ahead", [[T0 + 3600 * SECOND]], 0.0),
    ],
)
def test_the_newest_usage_is_shown(row: str, fetches: list[list[datetime]], expected: float) -> None:
    registry = CollectorRegistry()
    metrics = FreshnessMetrics.register(registry)
    for moments in fetches:
        metrics.took(usage(moments), T0)
    shown = registry.get_sample_value(USAGE)
    assert shown == (T0.timestamp() + expected if any(fetches) else 0.0), row


def test_the_end_of_a_round_is_shown() -> None:
    registry = CollectorRegistry()
    metrics = FreshnessMetrics.register(registry)
    assert registry.get_sample_value(ROUND) == 0.0
    metrics.round_ended(T0 + SECOND)
    assert registry.get_sample_value(ROUND) == T0.timestamp() + 1.0


def test_there_are_two_families() -> None:
    registry = CollectorRegistry()
    FreshnessMetrics.register(registry)
    assert exposed(registry, "") == {ROUND: family("gauge"), USAGE: family("gauge")}
