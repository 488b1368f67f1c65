from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.instants import instant
from recommender.samples import MISSING, UsageColumns, turns
from tests.builders import T0
from tests.recommender.scene import MINUTE, Scene, bits, columns, integers, of_one_container, pod

PODS = ("p0", "p1", "p2")


def scene() -> Scene:
    """Three pods; the first two share their aggregate."""
    return Scene().observe(pod("p0"), pod("p1"), pod("p2", labels={"app": "b"}))


@pytest.mark.parametrize(
    ("minutes", "millicores", "counts"),
    [(0, 100, False), (-1, 100, False), (1, 100, True), (1, -1, False), (1, 0, True)],
    ids=["same time", "older", "newer", "negative", "zero"],
)
def test_a_cpu_sample_counts_when_it_is_newer_and_not_negative(minutes: int, millicores: int, counts: bool) -> None:
    """Spec: recommender:2.1."""
    one = of_one_container()
    assert one.cpu(T0, 100)
    assert one.cpu(T0 + minutes * MINUTE, millicores) is counts
    aggregates, row = one.model.aggregates, one.aggregate()
    assert int(aggregates.sample_count[row]) == 1 + counts
    assert int(aggregates.first_sample[row]) == instant(T0)
    assert int(aggregates.last_sample[row]) == instant(T0 + counts * minutes * MINUTE)
    assert int(one.model.containers.last_cpu[one.row()]) == instant(T0 + counts * minutes * MINUTE)


def test_every_cpu_sample_weighs_a_tenth_whatever_the_request() -> None:
    """Spec: recommender:2.1."""
    one = of_one_container()
    one.cpu(T0, 100)
    assert float(one.model.aggregates.cpu.totals[one.aggregate()]) == 0.1


def test_memory_samples_alone_count_as_none() -> None:
    """Spec: recommender:2.1, recommender:3.4."""
    one = of_one_container()
    one.memory(T0, 100)
    assert int(one.model.aggregates.sample_count[one.aggregate()]) == 0


def fetched(*rows: tuple[int, int, int, int]) -> UsageColumns:
    """Return a fetch from container row, minutes after T0, millicores and bytes of each container."""
    containers, minutes, cpu, memory = zip(*rows, strict=True)
    moments = integers(*(instant(T0 + after * MINUTE) for after in minutes))
    return UsageColumns(integers(*containers), moments, integers(*cpu), integers(*memory))


def test_a_missing_resource_is_no_sample_of_it() -> None:
    """Spec: recommender:13.14."""
    one = of_one_container()
    aggregates, row = one.model.aggregates, one.aggregate()
    outcome = one.model.take_usage(fetched((one.row(), 0, 100, MISSING)), T0)
    assert (outcome.cpu.tolist(), outcome.memory.tolist()) == ([True], [False])
    assert bool(aggregates.memory.is_empty(integers(row))[0])
    outcome = one.model.take_usage(fetched((one.row(), 1, MISSING, 10**9)), T0)
    assert (outcome.cpu.tolist(), outcome.memory.tolist()) == ([False], [True])
    assert float(aggregates.cpu.totals[row]) == 0.1, "one sample"


def test_a_fetch_of_memory_alone_makes_the_history_longer_and_denser() -> None:
    """Spec: recommender:3.4, recommender:4.2, recommender:13.14."""
    one = of_one_container()
    for minutes in range(3):
        one.model.take_usage(fetched((one.row(), minutes, MISSING, 10**9)), T0)
    aggregates, row = one.model.aggregates, one.aggregate()
    assert (int(aggregates.sample_count[row]), float(aggregates.cpu.totals[row])) == (3, 0.0)
    assert int(aggregates.first_sample[row]) == instant(T0)
    assert int(aggregates.last_sample[row]) == instant(T0 + 2 * MINUTE)


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([(0, MISSING, 5), (0, MISSING, 5)], 1),
        ([(0, 100, 5), (0, MISSING, 5)], 1),
        ([(0, MISSING, 5), (0, 100, 5)], 1),
        ([(0, MISSING, MISSING)], 0),
        ([(0, MISSING, -1)], 0),
        ([(0, -1, 5)], 0),
        ([(1, MISSING, 5), (0, MISSING, 5)], 1),
    ],
    ids=["twice", "after cpu", "before cpu", "nothing", "refused memory", "negative cpu", "older"],
)
def test_a_fetch_counts_once_and_only_if_its_memory_does(rows: list[tuple[int, int, int]], count: int) -> None:
    """Two VPAs may tell of the same container; a negative amount is refused, not missing."""
    one = of_one_container()
    usage = fetched(*((one.row(), minutes, cpu, memory) for minutes, cpu, memory in rows))
    one.model.take_usage(usage, T0)
    assert int(one.model.aggregates.sample_count[one.aggregate()]) == count


def test_an_older_sample_of_another_container_moves_the_first_instant_back() -> None:
    one = scene()
    one.cpu(T0, 100, pod="p0")
    one.cpu(T0 - MINUTE, 100, pod="p1")
    assert one.aggregate(pod="p0") == one.aggregate(pod="p1") != one.aggregate(pod="p2")
    aggregate = one.aggregate(pod="p0")
    assert int(one.model.aggregates.first_sample[aggregate]) == instant(T0 - MINUTE)
    assert int(one.model.aggregates.last_sample[aggregate]) == instant(T0)


def test_a_fetch_is_one_cpu_and_one_memory_sample_of_each_container() -> None:
    one = scene()
    rows = integers(*(one.row(pod=name) for name in PODS))
    usage = UsageColumns(rows, np.full(3, instant(T0)), integers(100, -1, 300), integers(2**30, 2**29, -1))
    outcome = one.model.take_usage(usage, T0)
    assert outcome.cpu.tolist() == [True, False, True]
    assert outcome.memory.tolist() == [True, True, False]
    known = UsageColumns(rows, np.full(3, instant(T0 + MINUTE)), usage.cpu, usage.memory, are_distinct=True)
    assert one.model.take_usage(known, T0).cpu.tolist() == [True, False, True]


def test_containers_that_follow_one_another_take_in_the_same_as_in_any_order() -> None:
    ascending, descending = scene(), scene()
    for minutes, cpu, memory in ((0, (100, 200, 300), (5, 6, 7)), (1, (1, MISSING, 3), (6, 5, MISSING))):
        rows = [(ascending.row(pod=PODS[place]), minutes, cpu[place], memory[place]) for place in range(3)]
        taken = ascending.model.take_usage(fetched(*rows), T0)
        reverse = descending.model.take_usage(fetched(*reversed(rows)), T0)
        assert taken.cpu_samples().amounts.tolist() == reverse.cpu_samples().amounts.tolist()[::-1]
        assert taken.memory_samples().amounts.tolist() == reverse.memory_samples().amounts.tolist()[::-1]
        assert taken.memory_samples().amounts.tolist() == [amount for amount in memory if amount != MISSING]
    one, other = ascending.model.containers, descending.model.containers
    for column in ("last_cpu", "last_memory", "window_end", "peak", "memory_peak"):
        assert getattr(one, column).tolist() == getattr(other, column).tolist(), column
    banks = ascending.model.aggregates.cpu, descending.model.aggregates.cpu
    assert banks[0].weights.tolist() == banks[1].weights.tolist()


def test_a_batch_is_cut_where_a_container_occurs_again() -> None:
    one = scene()
    assert turns(one.model.containers, integers(0, 1, 2)) is None
    assert turns(one.model.containers, integers()) is None
    split = turns(one.model.containers, integers(0, 1, 0, 0, 1))
    assert split is not None
    assert [turn.tolist() for turn in split] == [[0, 1], [2, 4], [3]]
    in_runs = turns(one.model.containers, integers(2, 2, 0, 1, 1, 1))
    assert in_runs is not None
    assert [turn.tolist() for turn in in_runs] == [[0, 2, 3], [1, 4], [5]]
    assert [turn.tolist() for turn in in_runs[1:]] == [[1, 4], [5]]
    assert len(in_runs) == 3


Sample = tuple[int, int, int]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.one_of(st.integers(0, 30), st.sampled_from([60 * 24 * 101, 60 * 24 * 203])),
            st.sampled_from([-3, 0, 7, 250, 4000]),
        ),
        max_size=25,
    )
)
def test_a_batch_leaves_the_same_bits_as_one_sample_after_the_other(samples: list[Sample]) -> None:
    leave_the_same_bits(samples)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.sampled_from([-3, 0, 7, 250])), max_size=60))
def test_history_in_order_leaves_the_same_bits_as_well(samples: list[Sample]) -> None:
    """Spec: recommender:7: container by container, each in the order of time, piece after piece."""
    ordered = sorted(samples, key=lambda sample: sample[:2])
    leave_the_same_bits(*([one for one in ordered if (one[1] < 30) is early] for early in (True, False)))


def leave_the_same_bits(*batches: list[Sample]) -> None:
    """Take in batches at once here and sample by sample there, and compare everything."""
    at_once, in_turn = scene(), scene()
    for samples in batches:
        rows = [at_once.row(pod=PODS[place]) for place, _, _ in samples]
        moments = [T0 + minute * MINUTE for _, minute, _ in samples]
        amounts = [amount for _, _, amount in samples]
        counted = at_once.model.take_cpu(columns(rows, moments, amounts), T0).tolist()
        assert counted == [
            in_turn.cpu(moment, amount, pod=PODS[place])
            for (place, _, amount), moment in zip(samples, moments, strict=True)
        ]
    ours, theirs = at_once.model, in_turn.model
    for name in ("first_sample", "last_sample", "sample_count"):
        assert np.array_equal(getattr(ours.aggregates, name), getattr(theirs.aggregates, name))
    assert np.array_equal(ours.containers.last_cpu, theirs.containers.last_cpu)
    assert bits(ours.aggregates.cpu) == bits(theirs.aggregates.cpu)
