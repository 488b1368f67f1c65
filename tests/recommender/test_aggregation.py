from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode
from recommender.aggregation import UPDATE_MODES, AggregateTable, by_all_labels
from recommender.instants import LATEST, NEVER, instant
from recommender.settings import ModelSettings
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, filled, integers, pod


def test_the_key_is_the_full_set_of_labels_in_order() -> None:
    """Spec: recommender:3.1."""
    labelled = pod(labels={"tier": "web", "app": "a", "pod-template-hash": "x"})
    key = by_all_labels(labelled)
    assert key.text == "app=a,pod-template-hash=x,tier=web"
    assert key.labels == labelled.labels
    assert by_all_labels(replace(labelled, labels={})).text == ""


def test_a_new_aggregate_has_the_settings_and_has_seen_nothing() -> None:
    settings = ModelSettings(
        memory_interval=HOUR, memory_interval_count=5, oom_bump_up_ratio=1.5, oom_min_bump_up_bytes=7.9
    )
    table = AggregateTable(settings)
    row = table.create(3)
    assert (int(table.interval[row]), int(table.interval_count[row])) == (3600 * 10**9, 5)
    assert (float(table.oom_ratio[row]), int(table.oom_bump[row]), int(table.created[row])) == (1.5, 7, 3)
    assert (int(table.first_sample[row]), int(table.last_sample[row])) == (LATEST, NEVER)
    assert table.cpu.half_life == table.memory.half_life == 86400 * 10**9


def test_half_lives_are_set_apart() -> None:
    table = AggregateTable(ModelSettings(cpu_half_life=HOUR, memory_half_life=2 * HOUR))
    assert (table.cpu.half_life, table.memory.half_life) == (3600 * 10**9, 7200 * 10**9)


def test_a_released_row_comes_back_empty() -> None:
    table = AggregateTable(ModelSettings(), capacity=1)
    first = table.create(0)
    table.add_cpu(integers(first), integers(100), integers(instant(T0)))
    table.change_peaks(integers(first), integers(2**30), integers(instant(T0)), np.array([False]))
    table.apply_mode(first, UpdateMode.OFF)
    table.apply_policy(first, None)
    table.release(first)
    assert table.create(9) == first
    assert filled(table.cpu, first) == filled(table.memory, first) == {}
    assert (int(table.sample_count[first]), int(table.last_sample[first]), int(table.created[first])) == (0, NEVER, 9)
    assert (bool(table.is_scaled[first]), int(table.update_mode[first])) == (False, 0)


def test_the_table_grows_and_keeps_what_it_has() -> None:
    table = AggregateTable(ModelSettings(), capacity=1)
    rows = [table.create(number) for number in range(5)]
    assert table.created[rows].tolist() == [0, 1, 2, 3, 4]
    assert len(table.cpu.totals) == len(table.memory.totals) == len(table.created) == 8
    assert table.interval[rows].tolist() == [86400 * 10**9] * 5


@pytest.mark.parametrize(
    ("policy", "is_scaled"),
    [
        (None, True),
        (ContainerPolicy("*"), True),
        (ContainerPolicy("*", mode=ScalingMode.AUTO), True),
        (ContainerPolicy("*", mode=ScalingMode.OFF), False),
    ],
)
def test_only_a_policy_that_says_off_switches_off(policy: ContainerPolicy | None, is_scaled: bool) -> None:
    table = AggregateTable(ModelSettings())
    row = table.create(0)
    table.apply_policy(row, policy)
    assert bool(table.is_scaled[row]) is is_scaled


@pytest.mark.parametrize("is_on", [True, False])
def test_overrides_of_a_policy_count_behind_their_gate(is_on: bool) -> None:
    """Spec: recommender:9.2."""
    table = AggregateTable(ModelSettings(per_vpa_config=is_on))
    row = table.create(0)
    policy = ContainerPolicy(
        "*",
        oom_bump_up_ratio=Quantity.parse("1.23451"),
        oom_min_bump_up=Quantity.parse("1.9995"),
        memory_aggregation_interval_seconds=90,
        memory_aggregation_interval_count=2,
    )
    table.apply_policy(row, policy)
    found = (table.oom_ratio[row], table.oom_bump[row], table.interval[row], table.interval_count[row])
    own = (1.235, 2, 90 * 10**9, 2)
    assert found == (own if is_on else (1.2, 104857600, 86400 * 10**9, 8))
    table.apply_policy(row, ContainerPolicy("*"))
    table.apply_policy(row, None)
    assert (table.interval[row] == 90 * 10**9) is np.bool_(is_on)


def test_every_update_mode_has_a_code() -> None:
    table = AggregateTable(ModelSettings())
    row = table.create(0)
    for mode in (None, *UpdateMode):
        table.apply_mode(row, mode)
        assert UPDATE_MODES[table.update_mode[row]] is mode


def test_samples_of_one_aggregate_are_counted_and_dated() -> None:
    """Spec: recommender:2.1."""
    table = AggregateTable(ModelSettings())
    rows = integers(table.create(0), table.create(0))
    moments = (T0 + HOUR, T0, T0 + DAY)
    instants = integers(*(instant(moment) for moment in moments))
    table.add_cpu(rows[[0, 0, 1]], integers(100, 900, 100), instants)
    assert table.sample_count[rows].tolist() == [2, 1]
    assert table.first_sample[rows].tolist() == instants[[1, 2]].tolist()
    assert table.last_sample[rows].tolist() == instants[[0, 2]].tolist()
    table.add_cpu(integers(), integers(), integers())
    assert table.sample_count[rows].tolist() == [2, 1]


def test_samples_of_no_aggregate_are_refused() -> None:
    table = AggregateTable(ModelSettings())
    table.create(0)
    nobody = integers(-1)
    with pytest.raises(ValueError, match="aggregate -1"):
        table.add_cpu(nobody, nobody, nobody)
    with pytest.raises(ValueError, match="aggregate -1"):
        table.change_peaks(nobody, nobody, nobody, np.array([False]))


def test_an_aggregate_takes_over_what_another_one_has_seen() -> None:
    """Spec: beyond:B-3."""
    table = AggregateTable(ModelSettings())
    other, row = table.create(5), table.create(9)
    for each, begin in ((row, T0 + HOUR), (other, T0)):
        table.add_cpu(integers(each, each), integers(100, 1000), integers(instant(begin), instant(begin + HOUR)))
        table.change_peaks(integers(each), integers(2**30), integers(instant(begin + DAY)), np.array([False]))
    table.oom_need[other], table.oom_need_until[other] = 7, 8
    table.absorb(row, other)
    assert (int(table.sample_count[row]), int(table.created[row])) == (4, 5)
    assert (int(table.first_sample[row]), int(table.last_sample[row])) == (instant(T0), instant(T0 + 2 * HOUR))
    assert (int(table.last_peak[row]), int(table.oom_need[row]), int(table.oom_need_until[row])) == (
        instant(T0 + DAY + HOUR),
        7,
        8,
    )
    assert len(filled(table.cpu, row)) == 2
    assert sum(filled(table.memory, row).values()) == pytest.approx(1.0 + 2 ** (1 / 24))


def test_an_aggregate_remembers_its_last_peak() -> None:
    """Spec: beyond:B-19."""
    table = AggregateTable(ModelSettings())
    row = table.create(0)
    assert int(table.last_peak[row]) == NEVER
    for at in (T0 + DAY, T0):
        table.change_peaks(integers(row), integers(1), integers(instant(at)), np.array([False]))
    assert int(table.last_peak[row]) == instant(T0 + DAY)
    table.release(row)
    assert int(table.last_peak[table.create(0)]) == NEVER
