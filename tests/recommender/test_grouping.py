from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import EVERYTHING, NOTHING
from autoscaling.resources import CPU
from autoscaling.vpa import ContainerPolicy, ScalingMode
from recommender.buckets import CPU_BUCKETS
from recommender.checkpoint import encode_histograms
from recommender.checkpointing import checkpoints_of
from recommender.cluster_model import ClusterModel
from recommender.estimator import confidence
from recommender.grouping import Groups, merge_members, merged_samples, merged_usage
from recommender.histogram_bank import HistogramBank
from recommender.instants import LATEST, NEVER, instant
from recommender.settings import EstimatorSettings, ModelSettings
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, Scene, add, bits, filled, integers, pod, vpa


def two_ages() -> Scene:
    """Two aggregates of one container: an hour at 200m, and an hour at 800m three days later."""
    one = Scene().follow(vpa())
    one.observe(pod("old", labels={"app": "a", "hash": "1"}), pod("new", labels={"app": "a", "hash": "2"}))
    for minute in range(60):
        one.cpu(T0 + minute * MINUTE, 200, pod="old")
        one.cpu(T0 + 3 * DAY + minute * MINUTE, 800, pod="new")
    return one


def test_merging_two_histograms_of_different_age() -> None:
    """Spec: recommender:E8, recommender:3.5."""
    one = two_ages()
    (stored,) = checkpoints_of(one.model, [one.tracked()], T0)[0]
    assert stored.cpu is not None
    assert (stored.cpu.reference, dict(stored.cpu.bucket_weights)) == (T0 + 3 * DAY, {14: 1250, 32: 10000})
    assert stored.cpu.total_weight == 6.846770903208699
    groups = one.model.groups()
    first, last, count = merged_samples(one.model.aggregates, groups)
    assert count.tolist() == [120]
    assert confidence(first, last, count, DAY).tolist() == [0.08333333333333333]
    figures = one.figures()
    assert {key: vector["cpu"] for key, vector in figures.items()} == {
        "target": "920m",
        "lower": "898m",
        "upper": "11960m",
    }
    assert {vector["memory"] for vector in figures.values()} == {"250Mi"}


def test_groups_of_a_vpa_stand_together_sorted_by_name() -> None:
    """Spec: recommender:4.1."""
    policies = (
        ContainerPolicy("off", mode=ScalingMode.OFF),
        ContainerPolicy("cpu", controlled_resources=("cpu",)),
        ContainerPolicy("memory", controlled_resources=("memory", "memory")),
    )
    one = Scene().follow(vpa("v", *policies)).follow(vpa("w"), selector=EVERYTHING)
    one.observe(pod("p", "off", "memory", "cpu", "all"))
    one.model.set_initial(one.tracked("w"), "loaded", T0)
    groups = one.model.groups()
    assert groups.names == ("all", "cpu", "memory", "off", "all", "cpu", "loaded", "memory", "off")
    assert groups.bounds.tolist() == [0, 4, 9]
    assert groups.is_scaled.tolist() == [True, True, True, False] + [True] * 5
    assert groups.controls_cpu.tolist() == [True, True, False, False] + [True] * 5
    assert groups.controls_memory.tolist() == [True, False, True, False] + [True] * 5
    assert groups.scaled_in_vpa.tolist() == [3] * 4 + [5] * 5
    assert len(groups) == 9


def test_loaded_history_comes_after_what_pods_feed() -> None:
    """Spec: recommender:3.5."""
    one = two_ages()
    loaded = one.model.set_initial(one.tracked(), "main", T0)
    groups = one.model.groups()
    assert groups.members.tolist() == [one.aggregate(pod="old"), one.aggregate(pod="new"), loaded]
    assert (groups.starts.tolist(), groups.sizes.tolist()) == ([0], [3])


def test_vpas_without_containers_have_no_groups() -> None:
    one = Scene().follow(vpa(), vpa("w"))
    groups = one.model.groups()
    assert (len(groups), groups.bounds.tolist(), groups.scaled_in_vpa.tolist()) == (0, [0, 0, 0], [])
    usage = merged_usage(one.model.aggregates, groups, EstimatorSettings())
    assert usage.cpu.shape == (3, 0)
    assert usage.first_sample.size == usage.sample_count.size == 0


def test_the_earliest_and_the_latest_sample_of_all_members_count() -> None:
    """Spec: recommender:3.5."""
    one = Scene().follow(vpa())
    for name in ("a", "b", "c"):
        one.observe(pod(name, labels={"app": "a", "hash": name}))
    one.cpu(T0 + HOUR, 100, pod="a")
    one.cpu(T0, 100, pod="b")
    first, last, count = merged_samples(one.model.aggregates, one.model.groups())
    assert (first[0], last[0], count[0]) == (instant(T0), instant(T0 + HOUR), 2)
    empty = Scene().follow(vpa()).observe(pod())
    first, last, count = merged_samples(empty.model.aggregates, empty.model.groups())
    assert (first[0], last[0], count[0]) == (NEVER, NEVER, 0)
    assert int(empty.model.aggregates.first_sample[empty.aggregate()]) == LATEST


@pytest.mark.parametrize("sizes", [[1, 1, 1], [3], [1, 4, 2], [2, 2]])
def test_merging_members_in_rounds_is_merging_each_group_in_turn(sizes: list[int]) -> None:
    """Spec: recommender:3.5."""
    count = sum(sizes)

    def members() -> HistogramBank:
        bank = HistogramBank(CPU_BUCKETS, DAY, count)
        for row in range(count):
            for day in range(row + 1):
                add(bank, 50 * (row + 1), 1.0, T0 + (day * 7 % 5) * DAY + row * HOUR, row=row)
        return bank

    at_once, in_turn = members(), members()
    starts = np.cumsum(sizes) - np.array(sizes)
    merged = merge_members(at_once, np.arange(count), starts, np.array(sizes))
    for group, (start, size) in enumerate(zip(starts.tolist(), sizes, strict=True)):
        alone = HistogramBank(CPU_BUCKETS, DAY, 1)
        for row in range(start, start + size):
            alone.merge(integers(0), in_turn, integers(row))
        assert filled(merged, group) == filled(alone)
        assert merged.references.column()[group] == alone.references.column()[0]
        assert merged.totals[group] == alone.totals[0]
    assert bits(at_once) == bits(in_turn)


def test_a_group_of_one_needs_no_merging() -> None:
    """The percentiles of a lone member are taken from it directly, and are those of the merged histogram."""
    one = Scene(ClusterModel(ModelSettings())).follow(vpa()).observe(pod())
    for minute in range(100):
        one.cpu(T0 + minute * MINUTE, 50 + minute * 37 % 400)
    groups, aggregates = one.model.groups(), one.model.aggregates
    shares = EstimatorSettings().cpu.in_order()
    merged = merge_members(aggregates.cpu, groups.members, groups.starts, groups.sizes)
    direct = merged_usage(aggregates, groups, EstimatorSettings()).cpu
    assert np.array_equal(direct, merged.percentile(np.arange(1), shares))
    assert encode_histograms(merged, integers(0)) == encode_histograms(aggregates.cpu, groups.members)


def test_groups_are_listed_anew_only_when_something_changed() -> None:
    one = Scene().follow(vpa()).observe(pod())
    groups = one.model.groups()
    one.cpu(T0, 100)
    one.observe(pod("q"))
    assert one.model.groups() is groups
    one.observe(pod("r", "other"))
    assert one.model.groups() is not groups
    assert isinstance(one.model.groups(), Groups)


@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 4))
def test_the_groups_of_some_vpas_are_those_that_are_listed_for_them(names: list[str], count: int) -> None:
    off = ContainerPolicy("side", mode=ScalingMode.OFF)
    scene = Scene().follow(vpa("a"), vpa("b", off), vpa("c", ContainerPolicy("main", controlled_resources=(CPU,))))
    scene.follow(vpa("d"), selector=NOTHING).observe(
        pod("p", "main", "side"), pod("q", "main", labels={"app": "a", "hash": "2"})
    )
    scene.model.set_initial(scene.tracked("c"), "gone", T0)
    chosen = [scene.tracked(name) for name in names[:count]]
    found, listed = scene.model.groups().of_vpas(chosen), Groups.of(chosen)
    assert (found.vpas, found.names) == (listed.vpas, listed.names)
    for column in ("bounds", "members", "is_loaded", "starts", "sizes", "is_scaled", "is_present"):
        assert getattr(found, column).tolist() == getattr(listed, column).tolist(), column
    assert (found.controls_cpu.tolist(), found.controls_memory.tolist()) == (
        listed.controls_cpu.tolist(),
        listed.controls_memory.tolist(),
    )
