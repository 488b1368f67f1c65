from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from autoscaling.matching import EVERYTHING
from autoscaling.pod import ConditionStatus
from autoscaling.vpa import ContainerPolicy, ScalingMode, VpaCondition
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint
from recommender.checkpointing import checkpoint_order, checkpoints_of, load_checkpoints
from recommender.garbage import collect
from recommender.instants import instant
from recommender.status import FETCHING_HISTORY
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, Scene, filled, of_one_container, pod, vpa

MI = 2**20
DAY_ONE = HistogramCheckpoint(T0, {8: 10000}, 4.0)


def stored(name: str = "main", **changes: object) -> ContainerCheckpoint:
    plain = ContainerCheckpoint("default", "v", name, DAY_ONE, DAY_ONE, T0 - DAY, T0, 1440, T0 + timedelta(minutes=1))
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_the_vpa_written_longest_ago_comes_first() -> None:
    """Spec: recommender:6.3."""
    one = Scene().follow(vpa("a"), vpa("b"), vpa("c"), vpa("d"))
    loading = replace(vpa("e"), conditions=(VpaCondition(FETCHING_HISTORY, ConditionStatus.TRUE),))
    done = replace(vpa("f"), conditions=(VpaCondition(FETCHING_HISTORY, ConditionStatus.FALSE),))
    one.follow(loading, done)
    for name, hours in (("a", 3), ("b", 1), ("c", 2)):
        one.tracked(name).checkpoint_written = instant(T0 + hours * HOUR)
    assert [tracked.vpa.name for tracked in checkpoint_order(one.model)] == ["d", "f", "b", "c", "a"]


def test_each_container_of_a_vpa_has_its_checkpoint() -> None:
    """Spec: recommender:6.3."""
    one = Scene().follow(vpa("v", ContainerPolicy("side", mode=ScalingMode.OFF)), vpa("w"))
    one.observe(pod("p", "side", "main"))
    one.cpu(T0, 100)
    one.cpu(T0 + MINUTE, 100)
    now = T0 + HOUR
    first, second = checkpoints_of(one.model, [one.tracked(), one.tracked("w")], now)
    assert [checkpoint.name for checkpoint in first] == ["v-main", "v-side"]
    assert [checkpoint.name for checkpoint in second] == ["w-main", "w-side"]
    main = first[0]
    assert (main.namespace, main.vpa_name, main.container_name, main.version) == ("default", "v", "main", "v3")
    assert (main.first_sample, main.last_sample, main.sample_count) == (T0, T0 + MINUTE, 2)
    assert main.updated == now
    assert first[1] == ContainerCheckpoint(
        "default", "v", "side", HistogramCheckpoint(), HistogramCheckpoint(), updated=now
    )
    assert checkpoints_of(one.model, [], now) == []


def test_the_peak_of_a_running_window_is_left_out() -> None:
    """Spec: recommender:6.3."""
    one = of_one_container()
    one.memory(T0, 300 * MI)
    one.memory(T0 + DAY, 400 * MI)
    running = checkpoints_of(one.model, [one.tracked()], T0 + 2 * DAY - timedelta(seconds=1))[0][0].memory
    assert running == HistogramCheckpoint(T0 + DAY, {19: 10000}, 1.0)
    ended = checkpoints_of(one.model, [one.tracked()], T0 + 2 * DAY)[0][0].memory
    assert ended == HistogramCheckpoint(T0 + DAY, {19: 5000, 23: 10000}, 3.0)
    assert filled(one.model.aggregates.memory, one.aggregate()) == {19: 1.0, 23: 2.0}


def test_an_oom_peak_of_a_running_window_is_left_out_as_well() -> None:
    """Spec: recommender:6.3."""
    one = of_one_container()
    one.memory(T0, 300 * MI)
    one.oom(T0 + HOUR, 1024 * MI)
    assert checkpoints_of(one.model, [one.tracked()], T0 + HOUR)[0][0].memory == HistogramCheckpoint(T0 + DAY)


def test_running_windows_of_all_pods_are_left_out_of_every_vpa_that_selects_them() -> None:
    one = Scene().follow(vpa()).follow(vpa("w"), selector=EVERYTHING)
    one.observe(pod("p0"), pod("p1"), pod("q", labels={"app": "b"}))
    for hours, name in enumerate(("p0", "p1", "q")):
        one.memory(T0 + hours * HOUR, 300 * MI, pod=name)
        one.memory(T0 + DAY + hours * HOUR, 400 * MI, pod=name)
    (narrow,), (wide,) = checkpoints_of(one.model, [one.tracked(), one.tracked("w")], T0 + 25 * HOUR)
    assert narrow.memory is not None
    assert wide.memory is not None
    assert narrow.memory.bucket_weights == wide.memory.bucket_weights == {19: 10000}
    assert narrow.memory.total_weight == pytest.approx(1.0 + 2.0 ** (1 / 24))
    assert wide.memory.total_weight == pytest.approx(1.0 + 2.0 ** (1 / 24) + 2.0 ** (2 / 24))


def test_a_peak_is_left_out_of_the_aggregate_that_came_back() -> None:
    """Spec: recommender:6.3. The aggregate is found by the pod's labels, not by what the container still holds."""
    one = Scene().follow(vpa()).observe(pod("p"), pod("q", labels={"app": "z"}))
    one.memory(T0, 300 * MI)
    one.memory(T0, 400 * MI, pod="q")
    collect(one.model, (), T0 + 9 * DAY)
    one.memory(T0 + 9 * DAY, 500 * MI, pod="q")
    one.observe(pod("q"))
    one.memory(T0 + 9 * DAY, 100 * MI)
    found = checkpoints_of(one.model, [one.tracked()], T0 + 9 * DAY + HOUR)[0][0].memory
    assert found is not None
    assert found.bucket_weights == {}


def test_history_is_loaded_beside_what_pods_feed() -> None:
    """Spec: recommender:6.4."""
    one = of_one_container()
    one.cpu(T0 + HOUR, 100)
    assert load_checkpoints(one.model, [stored(), stored("gone")], T0) == ()
    row = one.tracked().initial["main"]
    assert filled(one.model.aggregates.cpu, row) == filled(one.model.aggregates.memory, row) == {8: 4.0}
    assert sorted(one.tracked().initial) == ["gone", "main"]
    assert [entry.container_name for entry in one.recommendation().containers] == ["gone", "main"]
    (main,) = (c for c in checkpoints_of(one.model, [one.tracked()], T0 + DAY)[0] if c.container_name == "main")
    assert (main.first_sample, main.last_sample, main.sample_count) == (T0 - DAY, T0 + HOUR, 1441)
    assert main.cpu is not None
    assert main.cpu.total_weight == pytest.approx(4.0 + 0.1 * 2 ** (1 / 24))


def test_what_is_written_comes_back_the_same() -> None:
    one = of_one_container()
    one.steady_cpu(T0, 200, 250)
    one.memory(T0, 300 * MI)
    one.memory(T0 + DAY, 500 * MI)
    written = checkpoints_of(one.model, [one.tracked()], T0 + 3 * DAY)[0]
    fresh = Scene().follow(vpa())
    assert load_checkpoints(fresh.model, written, T0) == ()
    assert checkpoints_of(fresh.model, [fresh.tracked()], T0 + 3 * DAY)[0] == written
    assert fresh.figures() == one.figures()


def test_of_two_checkpoints_of_one_container_the_later_counts() -> None:
    one = Scene().follow(vpa())
    heavier = stored(cpu=HistogramCheckpoint(T0, {8: 10000}, 7.0))
    load_checkpoints(one.model, [stored(), heavier], T0)
    assert filled(one.model.aggregates.cpu, one.tracked().initial["main"]) == {8: 7.0}
    load_checkpoints(one.model, [stored()], T0)
    assert filled(one.model.aggregates.cpu, one.tracked().initial["main"]) == {8: 4.0}
    assert len(one.model.aggregates.rows) == 1


def test_what_cannot_be_loaded_is_told_and_the_rest_is_loaded() -> None:
    """Spec: recommender:6.4, case:16."""
    one = Scene().follow(vpa())
    bad = [
        stored(vpa_name="x"),
        stored("a", version="v2"),
        stored("b", cpu=None),
        stored("c", memory=HistogramCheckpoint(T0, {200: 1}, 1.0)),
    ]
    failures = load_checkpoints(one.model, [*bad[:2], stored(), *bad[2:]], T0)
    assert [failure.checkpoint for failure in failures] == [checkpoint.ref for checkpoint in bad]
    texts = [str(failure.error) for failure in failures]
    for text, part in zip(texts, ("no VPA 'x'", "'v2' is not 'v3'", "absent", "bucket 200"), strict=True):
        assert part in text
    assert list(one.tracked().initial) == ["main"]


def test_a_checkpoint_without_times_has_seen_nothing() -> None:
    one = Scene().follow(vpa())
    load_checkpoints(one.model, [stored(first_sample=None, last_sample=None, sample_count=0)], T0)
    (found,) = checkpoints_of(one.model, [one.tracked()], T0)[0]
    assert (found.first_sample, found.last_sample, found.sample_count) == (None, None, 0)


def test_the_same_samples_leave_the_same_bits() -> None:
    """Spec: recommender:13.18: sums are made in the order in which histories came, not in that of a hash."""
    stored_by = []
    for _ in range(2):
        one = Scene().follow(vpa())
        for number in range(40):
            one.observe(pod(f"p{number}", labels={"app": "a", "run": str(number)}))
            one.cpu(T0 + number * HOUR, 100 + 7 * number, pod=f"p{number}")
            one.memory(T0, (100 + number) * MI, pod=f"p{number}")
        stored_by.append(checkpoints_of(one.model, [one.tracked()], T0 + 3 * DAY))
    assert len(one.tracked().linked["main"]) == 40
    assert stored_by[0] == stored_by[1]


def test_more_vpas_than_are_merged_at_a_time() -> None:
    one = Scene()
    names = [f"v{i}" for i in range(1100)]
    one.follow(*(vpa(name) for name in names))
    one.observe(pod())
    one.cpu(T0, 100)
    found = checkpoints_of(one.model, checkpoint_order(one.model), T0)
    assert [checkpoints[0].vpa_name for checkpoints in found] == names
    assert {checkpoints[0].cpu.total_weight for checkpoints in found if checkpoints[0].cpu} == {0.1}
    assert np.count_nonzero(one.model.aggregates.sample_count) == 1
