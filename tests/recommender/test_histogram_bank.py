from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.checkpoint import HistogramCheckpoint, decode_histograms
from recommender.histogram_bank import HistogramBank, WeightChanges
from recommender.instants import instant, moment
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, add, bits, filled, integers

ROWS = 4
EPSILON = CPU_BUCKETS.epsilon


def bank(half_life: timedelta = DAY, capacity: int = ROWS) -> HistogramBank:
    return HistogramBank(CPU_BUCKETS, half_life, capacity)


def percentiles(of: HistogramBank, *shares: float, row: int = 0) -> list[float]:
    return [float(value) for value in of.percentile(integers(row), shares)[:, 0]]


def reference(of: HistogramBank, row: int = 0) -> datetime | None:
    return moment(int(of.references[integers(row)][0]))


def test_decayed_percentile_of_three_samples() -> None:
    """Spec: recommender:E1."""
    one = bank()
    for day, millicores in enumerate((1000, 500, 250)):
        add(one, millicores, at=T0 + day * DAY)
    assert filled(one) == {36: 0.1, 25: 0.2, 16: 0.4}
    assert float(one.totals[0]) == 0.7000000000000001
    low, middle, high = 0.25840366356020639, 0.51113453758887062, 1.0162813885540904
    shares = {0.0: low, 0.57: low, 0.58: middle, 0.85: middle, 0.86: high, 1.0: high}
    assert percentiles(one, *shares) == list(shares.values())
    edges = {16: (0.236574917, 258), 25: (0.477, 511), 36: (0.958, 1016)}
    assert [int(CPU_BUCKETS.ends[b] * 1000) for b in edges] == [m for _, m in edges.values()]


@pytest.mark.parametrize(
    ("samples", "at", "total", "weights"),
    [
        ([(1000, T0), (500, T0 + 100 * DAY)], T0, 1.2676506002282295e29, {25: 1.2676506002282295e29, 36: 0.1}),
        (
            [(1000, T0), (500, T0 + 100 * DAY), (500, T0 + 100 * DAY + MINUTE)],
            T0 + 100 * DAY,
            0.20004814680772873,
            {25: 0.20004814680772873, 36: 0.1 * 2.0**-100},
        ),
        ([(1000, T0 + 18 * HOUR)], T0 + DAY, 0.08408964152537146, {36: 0.08408964152537146}),
    ],
    ids=["at the limit", "one minute beyond", "in the evening"],
)
def test_the_reference_moves_only_beyond_a_hundred_half_lives(
    samples: list[tuple[int, datetime]], at: datetime, total: float, weights: dict[int, float]
) -> None:
    """Spec: recommender:E9."""
    one = bank()
    for millicores, moment_of_sample in samples:
        add(one, millicores, at=moment_of_sample)
    assert reference(one) == at
    assert float(one.totals[0]) == total
    assert filled(one) == weights


def test_after_the_shift_only_the_heavy_bucket_is_in_range() -> None:
    one = bank()
    for at in (T0, T0 + 100 * DAY, T0 + 100 * DAY + MINUTE):
        add(one, 1000 if at == T0 else 500, at=at)
    assert (int(one.lowest[0]), int(one.highest[0])) == (25, 25)


def test_weights_below_epsilon_count_in_the_total_but_not_in_the_range() -> None:
    """Spec: recommender:1.2."""
    one = bank()
    add(one, 100, 0.00009)
    add(one, 900, 0.00009)
    assert one.is_empty(integers(0)).tolist() == [True]
    assert percentiles(one, 0.5) == [0.0]
    assert (int(one.lowest[0]), int(one.highest[0]), float(one.totals[0])) == (175, 0, 0.00018)
    add(one, 900, 0.00002)
    assert one.is_empty(integers(0)).tolist() == [False]
    bucket = int(CPU_BUCKETS.bucket_of_amounts(integers(900))[0])
    assert (int(one.lowest[0]), int(one.highest[0])) == (bucket, bucket)


def test_a_shift_scales_the_total_and_what_is_in_range_and_nothing_else() -> None:
    """Spec: recommender:13.18, recommender:1.3: as upstream, so that both store the same."""
    one = bank()
    add(one, 100, 1.0)
    add(one, 900, 0.00009)
    one.shift(integers(0), integers(instant(T0 + DAY)))
    outside = int(CPU_BUCKETS.bucket_of_amounts(integers(900))[0])
    assert filled(one) == {8: 0.5, outside: 0.00009}
    assert float(one.totals[0]) == 1.00009 / 2


@pytest.mark.parametrize(
    ("row", "half_life", "reference_after", "weight"),
    [
        ("recommender:13.20 a part of the former", DAY / 2, T0 + 3 * DAY, 2.0**-6),
        # 72 hours are two half lives, but the reference time is a third of one off the grid.
        ("recommender:13.20 no part of it", 1.5 * DAY, T0 + 2.5 * DAY, 2.0**-2),
    ],
)
def test_a_reference_time_from_another_half_life_is_kept_until_the_next_shift(
    row: str, half_life: timedelta, reference_after: datetime, weight: float
) -> None:
    """As upstream, whose exponents are whole numbers: once, weights are off by less than half a half life."""
    one = bank(half_life)
    decode_histograms(one, integers(0), [HistogramCheckpoint(T0, {8: 10000}, 1.0)])
    assert reference(one) == T0, row
    add(one, 900, 1.0, T0 + half_life)
    assert filled(one) == {8: 1.0, 34: 2.0}, f"{row}: a sample is weighed from the time itself"
    one.shift(integers(0), integers(instant(T0 + 3 * DAY)))
    assert reference(one) == reference_after, row
    assert filled(one)[8] == weight, row
    exact = 2.0 ** ((T0 - reference_after) / half_life)
    assert 2.0**-0.5 <= weight / exact <= 2.0**0.5


def test_a_percentile_never_walks_past_the_highest_bucket() -> None:
    """Spec: recommender:1.2. The total holds mass outside the range, so the walk may not reach the threshold."""
    one = bank()
    add(one, 100, 0.0002)
    add(one, 5000, 0.00009)
    end = float(CPU_BUCKETS.ends[8])
    assert percentiles(one, 0.0, 1.0) == [end, end]


def test_the_last_bucket_returns_its_own_start() -> None:
    """Spec: recommender:1.2."""
    one = bank()
    add(one, 10**9)
    assert percentiles(one, 0.5) == [float(CPU_BUCKETS.starts[175])]


def test_taking_away_leaves_zero_below_epsilon_and_tightens_the_range() -> None:
    """Spec: recommender:1.2."""
    one = bank()
    for millicores in (100, 300, 900):
        add(one, millicores, 1.0)
    add(one, 900, 0.99995, taken=True)
    assert filled(one) == {8: 1.0, 18: 1.0}
    assert (int(one.lowest[0]), int(one.highest[0])) == (8, 18)
    assert float(one.totals[0]) == pytest.approx(2.00005)
    add(one, 100, 5.0, taken=True)
    assert filled(one) == {18: 1.0}
    assert float(one.totals[0]) == 0.0
    add(one, 300, 1.0, taken=True)
    assert (int(one.lowest[0]), int(one.highest[0])) == (175, 0)
    assert one.is_empty(integers(0)).tolist() == [True]


def test_samples_before_the_reference_weigh_less() -> None:
    """Spec: recommender:1.3."""
    one = bank()
    add(one, 100, 1.0)
    add(one, 900, 1.0, T0 - DAY)
    assert filled(one)[34] == 0.5
    assert reference(one) == T0


def test_merging_shifts_the_older_of_the_two_also_in_the_other_bank() -> None:
    """Spec: recommender:1.3."""
    young, old = bank(), bank()
    add(young, 100, 1.0, T0 + 2 * DAY)
    add(old, 100, 1.0)
    young.merge(integers(0), old, integers(0))
    assert reference(old) == T0 + 2 * DAY
    assert filled(old) == {8: 0.25}
    assert filled(young) == {8: 1.25}
    old_again = bank()
    add(old_again, 300, 1.0)
    old_again.merge(integers(0), young, integers(0))
    assert reference(old_again) == T0 + 2 * DAY
    assert filled(old_again) == {8: 1.25, 18: 0.25}
    assert float(old_again.totals[0]) == 1.5


def test_merging_into_a_new_row_takes_over_the_other_reference() -> None:
    """Spec: recommender:1.3."""
    new, other = bank(), bank()
    add(other, 100, 1.0, T0 + 18 * HOUR)
    new.merge(integers(2), other, integers(0))
    assert filled(new, 2) == filled(other)
    assert reference(new, 2) == reference(other) == T0 + DAY
    other.merge(integers(0), bank(), integers(1))
    assert reference(other) == T0 + DAY


def test_merging_leaves_out_what_lies_outside_the_other_range() -> None:
    """Spec: recommender:1.2."""
    one, other = bank(), bank()
    add(other, 100, 1.0)
    add(other, 900, 0.00009)
    one.merge(integers(0), other, integers(0))
    assert filled(one) == {8: 1.0}
    assert float(one.totals[0]) == 1.00009


def test_merging_one_row_twice_goes_in_order() -> None:
    one, other = bank(), bank()
    add(one, 100, 1.0, T0 + DAY)
    add(one, 100, 1.0, T0 + 2 * DAY, row=1)
    add(other, 100, 1.0)
    one.merge(integers(0, 1), other, integers(0, 0))
    assert filled(one) == {8: 1.5}
    assert filled(one, 1) == {8: 1.25}
    assert reference(other) == T0 + 2 * DAY


def test_only_alike_banks_merge() -> None:
    with pytest.raises(ValueError, match="same buckets"):
        bank().merge(integers(0), HistogramBank(MEMORY_BUCKETS, DAY), integers(0))
    with pytest.raises(ValueError, match="half life"):
        bank().merge(integers(0), bank(HOUR), integers(0))


def test_a_half_life_has_a_length() -> None:
    with pytest.raises(ValueError, match="longer than nothing"):
        bank(timedelta(0))


def test_shares_are_within_zero_and_one() -> None:
    with pytest.raises(ValueError, match="within 0 and 1"):
        bank().percentile(integers(0), [0.5, 1.1])


def test_growing_and_clearing() -> None:
    one = bank(capacity=2)
    add(one, 100, row=1)
    before = filled(one, 1)
    one.reserve(5)
    one.reserve(3)
    assert len(one.totals) == 8
    assert filled(one, 1) == before
    add(one, 300, row=7)
    one.clear(integers(1))
    assert filled(one, 1) == {}
    assert reference(one, 1) is None
    assert (int(one.lowest[1]), int(one.highest[1]), float(one.totals[1])) == (175, 0, 0.0)
    assert percentiles(one, 0.5, row=7) == [float(CPU_BUCKETS.ends[18])]


def test_percentiles_of_no_rows() -> None:
    assert bank().percentile(integers(), [0.5]).shape == (1, 0)


Change = tuple[int, int, float, int, bool]


def changes(max_size: int = 40) -> st.SearchStrategy[list[Change]]:
    """Return rows, millicores, weights, hours and whether taken; hours reach beyond a hundred half lives."""
    change = st.tuples(
        st.integers(0, ROWS - 1),
        st.sampled_from([0, 5, 40, 41, 250, 251, 999, 5000, 10**7]),
        st.sampled_from([1e-6, 9e-5, 0.1, 1.0, 7.0]),
        st.one_of(st.integers(-30, 60), st.sampled_from([2399, 2400, 2401, 2500, 4900])),
        st.booleans(),
    )
    return st.lists(change, max_size=max_size)


def as_changes(batch: list[Change]) -> WeightChanges:
    rows, amounts, weights, hours, taken = zip(*batch, strict=True) if batch else ((), (), (), (), ())
    return WeightChanges(
        integers(*rows),
        CPU_BUCKETS.bucket_of_amounts(integers(*amounts)),
        np.array(weights, dtype=np.float64),
        integers(*(instant(T0 + hour * HOUR) for hour in hours)),
        np.array(taken, dtype=np.bool_),
    )


@settings(deadline=None)
@given(changes(), changes())
def test_a_batch_leaves_the_same_bits_as_one_change_after_the_other(first: list[Change], then: list[Change]) -> None:
    """The second batch finds weights that it may take from without making a histogram empty."""
    at_once, in_turn = bank(), bank()
    for batch in (first, then):
        at_once.apply(as_changes(batch))
        for change in batch:
            in_turn.apply(as_changes([change]))
    assert bits(at_once) == bits(in_turn)


@settings(deadline=None)
@given(changes(), changes())
def test_what_is_taken_from_a_full_histogram_leaves_the_same_bits_at_once_as_in_turn(
    added: list[Change], mixed: list[Change]
) -> None:
    at_once, in_turn = bank(), bank()
    full = [(row, 250, 50.0, hour % 48, False) for row, _, _, hour, _ in added for _ in range(3)]
    later = [(row, amount, weight, hour % 48, taken) for row, amount, weight, hour, taken in mixed]
    for one in (at_once, in_turn):
        one.apply(as_changes(full))
    at_once.apply(as_changes(later))
    for change in later:
        in_turn.apply(as_changes([change]))
    assert bits(at_once) == bits(in_turn)


def plain_percentile(weights: NDArray[np.float64], total: float, share: float) -> float:
    """Walk one histogram bucket by bucket."""
    filled_buckets = [b for b in range(CPU_BUCKETS.count) if weights[b] >= EPSILON]
    if not filled_buckets:
        return 0.0
    reached = 0.0
    for bucket in range(filled_buckets[0], filled_buckets[-1] + 1):
        reached += float(weights[bucket])
        if reached >= share * total:
            return float(CPU_BUCKETS.ends[bucket])
    return float(CPU_BUCKETS.ends[filled_buckets[-1]])


@settings(deadline=None)
@given(changes(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_percentiles_of_many_rows_are_those_of_each(batch: list[Change], shares: list[float]) -> None:
    one = bank()
    one.apply(as_changes(batch))
    found = one.percentile(np.arange(ROWS), shares)
    for row in range(ROWS):
        for place, share in enumerate(shares):
            assert found[place, row] == plain_percentile(one.weights[row], float(one.totals[row]), share)


@settings(deadline=None)
@given(changes(), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_percentiles_ascend_with_the_share(batch: list[Change], one_share: float, other_share: float) -> None:
    one = bank()
    one.apply(as_changes(batch))
    low, high = one.percentile(np.arange(ROWS), sorted((one_share, other_share)))
    assert (low <= high).all()


@settings(deadline=None)
@given(changes(), st.sampled_from([2.0**-3, 2.0**5, 4.0]))
def test_scaling_all_weights_moves_no_percentile(batch: list[Change], factor: float) -> None:
    batch = [(row, amount, max(weight, 0.1), hour % 48, False) for row, amount, weight, hour, _ in batch]
    one, other = bank(), bank()
    one.apply(as_changes(batch))
    other.apply(as_changes([(row, amount, weight * factor, hour, taken) for row, amount, weight, hour, taken in batch]))
    shares = [0.0, 0.5, 0.9, 0.95, 1.0]
    assert np.array_equal(one.percentile(np.arange(ROWS), shares), other.percentile(np.arange(ROWS), shares))


@settings(deadline=None)
@given(changes(), changes())
def test_merging_is_adding_both_streams(first: list[Change], second: list[Change]) -> None:
    first, second = (
        [(row, amount, max(weight, 0.1), hour % 48, False) for row, amount, weight, hour, _ in batch]
        for batch in (first, second)
    )
    merged, other, both = bank(), bank(), bank()
    merged.apply(as_changes(first))
    other.apply(as_changes(second))
    both.apply(as_changes(first + second))
    merged.merge(np.arange(ROWS), other, np.arange(ROWS))
    assert np.array_equal(merged.weights > 0.0, both.weights > 0.0)
    assert np.array_equal(merged.lowest, both.lowest)
    assert np.array_equal(merged.highest, both.highest)
    # The two may count from different midnights; the shares are the same.
    for row in range(ROWS):
        if both.totals[row]:
            scale = merged.totals[row] / both.totals[row]
            np.testing.assert_allclose(merged.weights[row], both.weights[row] * scale, rtol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 1_000_000), st.floats(0.0, 1.0))
def test_a_percentile_is_above_a_lone_sample_by_one_step_at_most(millicores: int, share: float) -> None:
    one = bank()
    add(one, millicores, 1.0)
    value = millicores / 1000.0
    assert value <= percentiles(one, share)[0] <= value * 1.05 + 0.01 + 1e-12


def test_the_used_buckets_are_those_of_all_rows_together() -> None:
    one = bank()
    add(one, 250, row=0)
    add(one, 1000, row=1)
    low, high = (int(one.scheme.bucket_of_amounts(integers(amount))[0]) for amount in (250, 1000))
    assert one.used_buckets(integers(0)) == slice(low, low + 1)
    assert one.used_buckets(integers(1, 0, 2)) == slice(low, high + 1)
    assert one.within_range(integers(2, 1), slice(low, high + 1)).sum(axis=1).tolist() == [0, 1]
    nothing = one.used_buckets(integers(2))
    assert one.weights[integers(2), nothing].size == 0
    assert one.weights[integers(), one.used_buckets(integers())].size == 0
