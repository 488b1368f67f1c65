from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.checkpoint import encode_histograms
from recommender.cluster_model import ClusterModel
from recommender.container_table import NO_AGGREGATE
from recommender.instants import instant, moment
from recommender.memory_peaks import carry_peaks
from recommender.settings import ModelSettings
from tests.builders import T0
from tests.recommender.scene import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Scene,
    bits,
    columns,
    filled,
    integers,
    of_one_container,
    pod,
)

MI = 2**20


def window_end(one: Scene) -> datetime | None:
    return moment(int(one.model.containers.window_end[one.row()]))


def peaks(one: Scene) -> tuple[int, int]:
    """Return the peak that stands in the histogram and the last one that was use."""
    row = one.row()
    return int(one.model.containers.peak[row]), int(one.model.containers.memory_peak[row])


def stored(one: Scene) -> tuple[datetime | None, dict[int, int], float]:
    """Return reference time, relative weights and total of the memory histogram."""
    (found,) = encode_histograms(one.model.aggregates.memory, integers(one.aggregate()))
    return found.reference, dict(found.bucket_weights), found.total_weight


def test_one_peak_for_each_interval() -> None:
    """Spec: recommender:E7."""
    one = of_one_container()
    assert one.memory(T0, 400 * MI)
    assert one.memory(T0 + MINUTE, 500 * MI)
    assert one.memory(T0 + 2 * MINUTE, 450 * MI)
    assert peaks(one) == (500 * MI, 500 * MI)
    assert not one.memory(T0 + MINUTE, 900 * MI)
    assert window_end(one) == T0 + DAY
    assert one.memory(T0 + DAY, 300 * MI)
    assert window_end(one) == T0 + 2 * DAY
    assert stored(one) == (T0 + DAY, {19: 10000, 26: 5000}, 3.0)
    assert one.figures()["target"]["memory"] == "628694953"


def test_a_gap_opens_the_window_that_the_sample_falls_into() -> None:
    """Spec: recommender:E7."""
    one = of_one_container()
    one.memory(T0, 100 * MI)
    one.memory(T0 + 84 * HOUR, 200 * MI)
    assert window_end(one) == T0 + 4 * DAY
    assert stored(one)[1:] == ({14: 10000, 8: 1250}, 9.0)


def test_a_zero_first_sample_pins_the_peak_until_the_window_ends() -> None:
    """Spec: recommender:E7."""
    one = of_one_container()
    one.memory(T0, 0)
    one.memory(T0 + MINUTE, 100 * MI)
    assert peaks(one) == (0, 0)
    assert stored(one)[1] == {0: 10000}
    one.memory(T0 + DAY, 100 * MI)
    assert peaks(one) == (100 * MI, 100 * MI)


@pytest.mark.parametrize(
    ("row", "gives_way", "samples", "peak", "weights"),
    [
        ("recommender:E7 upstream", False, [0, 100 * MI], 0, {0: 10000}),
        ("beyond:B-4", True, [0, 100 * MI], 100 * MI, {8: 10000}),
        ("beyond:B-4 larger ones follow", True, [0, 100 * MI, 90 * MI, 200 * MI], 200 * MI, {14: 10000}),
        ("beyond:B-4 still zero", True, [0, 0, 0], 0, {0: 10000}),
        ("beyond:B-4 one byte", True, [0, 1], 1, {0: 10000}),
        ("beyond:B-4 no zero", True, [100 * MI, 0, 200 * MI], 200 * MI, {14: 10000}),
        ("recommender:E7 no zero", False, [100 * MI, 0, 200 * MI], 200 * MI, {14: 10000}),
    ],
)
def test_a_peak_of_zero_gives_way_or_stands(
    row: str, samples: list[int], peak: int, weights: dict[int, int], *, gives_way: bool
) -> None:
    """Spec: recommender:13.3."""
    one = of_one_container(settings=ModelSettings(zero_peaks_give_way=gives_way))
    for minute, amount in enumerate(samples):
        assert one.memory(T0 + minute * MINUTE, amount), row
    assert peaks(one) == (peak, peak), row
    assert stored(one)[1:] == (weights, 1.0), row


def test_a_peak_of_zero_gives_way_within_one_batch_as_well() -> None:
    """Spec: beyond:B-4."""
    at_once, in_turn = (of_one_container(settings=ModelSettings(zero_peaks_give_way=True)) for _ in range(2))
    samples = [0, 0, 7 * MI, 3 * MI, 50 * MI, 0]
    moments = [T0 + minute * MINUTE for minute in range(len(samples))]
    at_once.model.take_memory(columns([at_once.row()] * len(samples), moments, samples), T0)
    for at, amount in zip(moments, samples, strict=True):
        in_turn.memory(at, amount)
    assert peaks(at_once) == peaks(in_turn) == (50 * MI, 50 * MI)
    assert bits(at_once.model.aggregates.memory) == bits(in_turn.model.aggregates.memory)


def test_the_last_instant_before_the_end_is_still_the_old_window() -> None:
    """Spec: recommender:2.2."""
    one = of_one_container()
    one.memory(T0, 400 * MI)
    one.memory(T0 + DAY - SECOND, 500 * MI)
    assert (window_end(one), peaks(one)) == (T0 + DAY, (500 * MI, 500 * MI))
    one.memory(T0 + DAY, 300 * MI)
    assert (window_end(one), peaks(one)) == (T0 + 2 * DAY, (300 * MI, 300 * MI))


def test_windows_are_anchored_at_the_first_sample() -> None:
    """Spec: recommender:2.2."""
    one = of_one_container()
    one.memory(T0 + 7 * HOUR, 400 * MI)
    one.memory(T0 + 3 * DAY, 400 * MI)
    assert window_end(one) == T0 + 3 * DAY + 7 * HOUR


@pytest.mark.parametrize(
    ("minutes", "amount", "counts"), [(0, 300, True), (-1, 300, False), (1, 300, True), (1, -1, False)]
)
def test_equal_times_count_and_older_or_negative_samples_do_not(minutes: int, amount: int, counts: bool) -> None:
    """Spec: recommender:2.2."""
    one = of_one_container()
    one.memory(T0, 400)
    assert one.memory(T0 + minutes * MINUTE, amount) is counts


def test_a_lower_sample_only_moves_the_last_instant() -> None:
    """Spec: recommender:2.2."""
    one = of_one_container()
    one.memory(T0, 400 * MI)
    before = filled(one.model.aggregates.memory, one.aggregate())
    one.memory(T0 + MINUTE, 300 * MI)
    assert filled(one.model.aggregates.memory, one.aggregate()) == before
    assert int(one.model.containers.last_memory[one.row()]) == instant(T0 + MINUTE)


def test_each_pod_has_its_own_peak() -> None:
    """Spec: recommender:2.2."""
    one = Scene().observe(pod("p0"), pod("p1"))
    one.memory(T0, 400 * MI, pod="p0")
    one.memory(T0, 400 * MI, pod="p1")
    one.memory(T0 + MINUTE, 500 * MI, pod="p1")
    assert one.aggregate(pod="p0") == one.aggregate(pod="p1")
    assert filled(one.model.aggregates.memory, one.aggregate(pod="p0")) == {23: 1.0, 26: 1.0}


def test_peaks_move_to_other_aggregates() -> None:
    """Spec: beyond:B-3: only those of windows that were opened in an aggregate that is still there."""
    one = Scene().observe(pod("p0", "main", "fresh", "bare"))
    for container in ("main", "bare"):
        one.memory(T0, 400 * MI, container=container, pod="p0")
    rows = integers(*(one.row(name, "p0") for name in ("main", "fresh", "bare")))
    old, aggregates = one.aggregate(pod="p0"), one.model.aggregates
    one.model.containers.feed(rows[2:], NO_AGGREGATE)
    heirs = integers(*(aggregates.create(0) for _ in range(3)))
    carry_peaks(one.model.containers, aggregates, rows, heirs)
    assert filled(aggregates.memory, old) == {}
    assert [filled(aggregates.memory, int(heir)) for heir in heirs] == [{23: 1.0}, {}, {}]


Sample = tuple[int, timedelta, int]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([0 * HOUR, HOUR, 5 * HOUR, 23 * HOUR, DAY, 25 * HOUR, 3 * DAY, 102 * DAY]),
            st.sampled_from([-1, 0, 90 * MI, 91 * MI, 200 * MI, 300 * MI, 2**40]),
        ),
        max_size=25,
    )
)
def test_a_batch_leaves_the_same_bits_as_one_sample_after_the_other(samples: list[Sample]) -> None:
    leave_the_same_bits(samples)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 60).map(lambda hours: hours * HOUR), st.integers(0, 12)),
        max_size=80,
    ),
    st.booleans(),
)
def test_history_in_order_leaves_the_same_bits_as_well(samples: list[Sample], gives_way: bool) -> None:
    """Spec: recommender:7: container by container, each in the order of time, piece after piece."""
    ordered = sorted(samples, key=lambda sample: sample[:2])
    pieces = [
        [one for one in ordered if begin <= one[1] < begin + 30 * HOUR] for begin in (0 * HOUR, 30 * HOUR, 60 * HOUR)
    ]
    leave_the_same_bits(*pieces, settings=ModelSettings(zero_peaks_give_way=gives_way))


def leave_the_same_bits(*batches: list[Sample], settings: ModelSettings | None = None) -> None:
    """Take in batches at once here and sample by sample there, and compare everything."""
    names = ("p0", "p1", "p2")
    pods = pod("p0"), pod("p1"), pod("p2", labels={"app": "b"})
    at_once, in_turn = (Scene(ClusterModel(settings)).observe(*pods) for _ in range(2))
    for samples in batches:
        rows = [at_once.row(pod=names[place]) for place, _, _ in samples]
        batch = columns(rows, [T0 + after for _, after, _ in samples], [amount for _, _, amount in samples])
        counted = at_once.model.take_memory(batch, T0).tolist()
        assert counted == [in_turn.memory(T0 + after, amount, pod=names[place]) for place, after, amount in samples]
    ours, theirs = at_once.model, in_turn.model
    for name in ("last_memory", "window_end", "peak", "memory_peak"):
        assert np.array_equal(getattr(ours.containers, name), getattr(theirs.containers, name))
    assert bits(ours.aggregates.memory) == bits(theirs.aggregates.memory)
