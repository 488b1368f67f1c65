from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.errors import CheckpointError
from recommender.buckets import CPU_BUCKETS
from recommender.checkpoint import (
    ContainerCheckpoint,
    HistogramCheckpoint,
    check_histogram,
    decode_histograms,
    encode_histograms,
)
from recommender.histogram_bank import HistogramBank
from recommender.instants import NEVER
from tests.builders import T0
from tests.recommender.scene import DAY, add, filled, integers


def bank(rows: int = 2) -> HistogramBank:
    return HistogramBank(CPU_BUCKETS, DAY, rows)


def encoded(of: HistogramBank, row: int = 0) -> HistogramCheckpoint:
    return encode_histograms(of, integers(row))[0]


def decoded(stored: HistogramCheckpoint) -> HistogramBank:
    one = bank()
    decode_histograms(one, integers(0), [check_histogram(stored)])
    return one


def with_weights(weights: dict[int, float]) -> HistogramBank:
    """Return a bank whose first row holds these weights, added at its reference time."""
    one = bank()
    for bucket, weight in weights.items():
        add(one, int(CPU_BUCKETS.edge_amounts[bucket]) + 2, weight)
    assert filled(one) == weights
    return one


def test_three_samples_are_stored_and_come_back_the_same() -> None:
    """Spec: recommender:E1."""
    one = bank()
    for day, millicores in enumerate((1000, 500, 250)):
        add(one, millicores, at=T0 + day * DAY)
    stored = encoded(one)
    assert stored == HistogramCheckpoint(T0, {16: 10000, 25: 5000, 36: 2500}, 0.7000000000000001)
    assert list(stored.bucket_weights) == [16, 25, 36]
    assert encoded(decoded(stored)) == stored


def test_weights_are_rounded_to_ten_thousandths_of_the_heaviest() -> None:
    """Spec: recommender:E10."""
    stored = encoded(with_weights({36: 30000.0, 25: 1.0, 16: 2.0}))
    assert (dict(stored.bucket_weights), stored.total_weight) == ({16: 1, 36: 10000}, 30003.0)
    again = filled(decoded(stored))
    ratio = 30003 / 10001
    assert again == {16: ratio, 36: 10000 * ratio}


@pytest.mark.parametrize(("light", "count"), [(0.49999, None), (0.5, 1), (1.49999, 1), (1.5, 2)])
def test_halves_are_rounded_up(light: float, count: int | None) -> None:
    """Spec: recommender:1.4."""
    assert encoded(with_weights({30: 10000.0, 20: light})).bucket_weights.get(20) == count


def test_an_empty_histogram_is_stored_as_nothing() -> None:
    """Spec: recommender:1.4."""
    assert encoded(bank()) == HistogramCheckpoint(None, {}, 0.0)


def test_many_rows_are_stored_in_their_order() -> None:
    one = bank(3000)
    for row in (0, 1500, 2999):
        add(one, 10 * row, row=row)
    found = encode_histograms(one, np.arange(3000)[::-1])
    assert [place for place, stored in enumerate(found) if stored.bucket_weights] == [0, 1499, 2999]
    assert encode_histograms(one, integers()) == []


def test_weights_without_a_sum_leave_the_histogram_empty_but_give_the_reference() -> None:
    """Spec: recommender:1.4."""
    one = decoded(HistogramCheckpoint(T0, {3: 0, 5: 0}, 7.0))
    assert (filled(one), float(one.totals[0]), int(one.references.column()[0])) == ({}, 0.0, 1767225600 * 10**9)
    nothing = decoded(HistogramCheckpoint())
    assert int(nothing.references.column()[0]) == NEVER


def test_a_loaded_reference_is_not_rounded() -> None:
    """Spec: recommender:1.4."""
    odd = T0 + timedelta(hours=5, seconds=7)
    assert encoded(decoded(HistogramCheckpoint(odd, {4: 10000}, 1.0))).reference == odd


def test_what_falls_below_epsilon_by_loading_leaves_the_range() -> None:
    """Spec: recommender:1.4, case:16."""
    one = decoded(HistogramCheckpoint(T0, {2: 1, 9: 10000, 30: 1}, 0.5))
    assert (int(one.lowest[0]), int(one.highest[0])) == (9, 9)
    assert float(one.percentile(integers(0), [0.0])[0, 0]) == float(CPU_BUCKETS.ends[9])
    assert filled(one).keys() == {2, 9, 30}


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (None, "absent"),
        (HistogramCheckpoint(T0, {1: 1}, -1.0), "totalWeight"),
        (HistogramCheckpoint(T0, {1: 1}, math.nan), "totalWeight"),
        (HistogramCheckpoint(T0, {1: 1}, math.inf), "totalWeight"),
        (HistogramCheckpoint(T0, {-1: 1}, 1.0), "bucket -1"),
        (HistogramCheckpoint(T0, {176: 1}, 1.0), "bucket 176"),
        (HistogramCheckpoint(T0, {1: -1}, 1.0), r"bucketWeights\[1\]"),
        (HistogramCheckpoint(T0, {1: 2**32}, 1.0), r"bucketWeights\[1\]"),
    ],
)
def test_what_cannot_be_loaded_is_refused(stored: HistogramCheckpoint | None, problem: str) -> None:
    """Spec: recommender:1.4, case:16."""
    with pytest.raises(CheckpointError, match=problem):
        check_histogram(stored)


def test_the_outermost_buckets_and_weights_are_fine() -> None:
    stored = HistogramCheckpoint(T0, {0: 1, 175: 2**32 - 1}, 0.0)
    assert check_histogram(stored) is stored


def test_a_checkpoint_is_named_after_its_vpa_and_container() -> None:
    """Spec: recommender:6.3."""
    one = ContainerCheckpoint("default", "web", "app", None, None)
    assert one.name == "web-app"
    assert str(one.ref) == "VerticalPodAutoscalerCheckpoint default/web-app"
    assert one.version == "v3"


canonical = st.dictionaries(st.integers(0, 175), st.integers(1, 10000), max_size=30).map(
    lambda weights: {
        bucket: 10000 if bucket == max(weights, key=lambda b: weights[b]) else weights[bucket]
        for bucket in sorted(weights)
    }
)


@settings(deadline=None)
@given(canonical, st.floats(1e2, 1e12), st.sampled_from([T0, T0 - 400 * DAY]))
def test_what_was_stored_is_stored_again_the_same(weights: dict[int, int], total: float, reference: datetime) -> None:
    stored = HistogramCheckpoint(reference, weights, total if weights else 0.0)
    again = encoded(decoded(stored))
    assert again == stored


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 174), st.floats(1.0, 100.0), min_size=1, max_size=20),
    st.floats(0.001, 0.999),
)
def test_percentiles_move_by_one_step_at_most(weights: dict[int, float], share: float) -> None:
    one = with_weights({bucket: weights[bucket] for bucket in sorted(weights)})
    again = decoded(encoded(one))
    buckets = sorted(weights)
    total = sum(weights.values())
    before, after = (float(b.percentile(integers(0), [share])[0, 0]) for b in (one, again))
    places = [buckets.index(int(np.flatnonzero(CPU_BUCKETS.ends >= value)[0])) for value in (before, after)]
    # Rounding may only tip the walk over the edge between two neighbouring filled buckets.
    assert abs(places[0] - places[1]) <= 1
    assert again.totals[0] == one.totals[0] == pytest.approx(total)
