"""Samples beside recommendations (recommender:10)."""

from __future__ import annotations

import numpy as np
import pytest

from autoscaling.matching import parse_selector
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode, UpdatePolicy
from recommender.quality import Members, UsageQuality, replace_targets, size_class, usage_quality
from recommender.recommending import recommend
from recommender.settings import EstimatorSettings, RenderingSettings
from tests.builders import T0
from tests.recommender.scene import APP, DAY, MINUTE, UPSTREAM, Scene, columns, of_one_container, pod, vpa


def beside(scene: Scene, amount: int, resource: str = CPU, *, is_oom: bool = False) -> UsageQuality:
    """Put one sample of container ``main`` beside its recommendation."""
    samples = columns([scene.row()], [T0], [amount])
    model = scene.model
    return usage_quality(model.containers, model.aggregates, samples, resource, is_oom=is_oom)


def pairs(quality: UsageQuality) -> list[tuple[float, float]]:
    """Return each sample with the target that it stands beside, in cores or bytes."""
    found = quality.pairs()
    return [pair for usage, targets in found for pair in zip(usage.tolist(), targets.tolist(), strict=True)]


def recommended() -> Scene:
    """Return a scene whose container is recommended 296m and 380258472 bytes (recommender:E2)."""
    scene = of_one_container()
    scene.steady_cpu(T0, 1441, 250)
    scene.memory(T0 + DAY, 314572800)
    scene.recommendation()
    return scene


@pytest.mark.parametrize(
    ("row", "resource", "amount", "pair"),
    [
        ("recommender:10", CPU, 250, (0.25, 0.296)),
        ("recommender:10", CPU, 0, (0.0, 0.296)),
        ("recommender:10", MEMORY, 380258471, (380258471.0, 380258472.0)),
    ],
)
def test_a_sample_is_compared_with_the_uncapped_target(
    row: str, resource: str, amount: int, pair: tuple[float, float]
) -> None:
    quality = beside(recommended(), amount, resource)
    assert pairs(quality) == [pair], row
    (((_, is_recommended), samples),) = quality.by_standing()
    assert samples is quality
    assert is_recommended


def test_before_the_first_recommendation_usage_is_compared_with_nothing() -> None:
    quality = beside(of_one_container(), 100)
    (((_, is_recommended), samples),) = quality.by_standing()
    assert pairs(samples) == [(0.1, 0.0)]
    assert not is_recommended


@pytest.mark.parametrize(
    ("row", "scene"),
    [
        ("recommender:10", Scene().observe(pod())),
        ("recommender:10", of_one_container(ContainerPolicy("main", mode=ScalingMode.OFF))),
    ],
)
def test_containers_that_no_vpa_scales_do_not_count(row: str, scene: Scene) -> None:
    assert list(beside(scene, 100).by_standing()) == [], row


def test_no_samples_have_no_standing() -> None:
    scene = recommended()
    none = columns([], [], [])
    quality = usage_quality(scene.model.containers, scene.model.aggregates, none, CPU, is_oom=False)
    assert list(quality.by_standing()) == []


@pytest.mark.parametrize("mode", [None, UpdateMode.OFF, UpdateMode.IN_PLACE_OR_RECREATE])
def test_samples_are_told_apart_by_the_update_mode_as_it_is_stated(mode: UpdateMode | None) -> None:
    policy = None if mode is None else UpdatePolicy(mode)
    scene = Scene().follow(vpa(update_policy=policy), selector=APP).observe(pod())
    (((found, _), samples),) = beside(scene, 100).by_standing()
    assert found is mode
    assert samples.amounts.tolist() == [100]


def test_the_needs_of_killed_containers_are_the_samples() -> None:
    scene = recommended()
    kills = scene.model.take_ooms([], T0)
    assert len(kills.needs) == 0
    scene.memory(T0 + DAY + MINUTE, 1)
    assert beside(scene, 1, MEMORY, is_oom=True).is_oom


def test_samples_of_several_containers_are_told_apart() -> None:
    """Of three containers one is recommended for, one is not yet, and one is not scaled at all."""
    scene = recommended()
    scene.follow(vpa("w", ContainerPolicy("off", mode=ScalingMode.OFF)), selector=parse_selector("app=other"))
    scene.observe(pod("q", "new", "off", labels={"app": "other"}))
    rows = [scene.row(), scene.row("new", "q"), scene.row("off", "q")] * 2
    samples = columns(rows, [T0] * 6, [100, 200, 300, 400, 500, 600])
    quality = usage_quality(scene.model.containers, scene.model.aggregates, samples, CPU, is_oom=False)
    found = {standing.is_recommended: samples for standing, samples in quality.by_standing()}
    assert found[True].amounts.tolist() == [100, 400]
    assert found[True].feeding.counts.tolist() == [2]
    assert found[False].amounts.tolist() == [200, 500]


def changes(scene: Scene) -> list[list[tuple[int, float]]]:
    """Recommend and return place of the VPA and relative change of each CPU, then of each memory target."""
    settings, rendering = EstimatorSettings(), RenderingSettings()
    found = recommend(scene.model, scene.model.groups(), settings, rendering, UPSTREAM)
    return [list(zip(c.vpas.tolist(), c.relative.tolist(), strict=True)) for c in found.changes]


def test_the_first_target_changes_nothing_and_the_next_one_is_compared_with_it() -> None:
    scene = of_one_container()
    assert changes(scene) == [[], []]
    scene.steady_cpu(T0, 1441, 250)
    assert changes(scene) == [[(0, 296 / 25 - 1)], [(0, 0.0)]]
    assert changes(scene) == [[(0, 0.0)], [(0, 0.0)]]


def test_a_change_at_the_end_of_a_bucket_is_counted_as_upstream_counts_it() -> None:
    """From 10 to 11 millicores is a little more than a tenth, and would be a little less in cores."""
    scene = of_one_container()
    scene.recommendation()
    members = Members(np.array([scene.aggregate()]), np.array([0]))
    last = np.zeros(scene.aggregate() + 1, dtype=np.int64)
    for amount in (10, 11):
        change = replace_targets(CPU, last, members, np.array([amount]), np.array([True]))
    assert change.relative.tolist() == [11 / 10 - 1]
    assert change.relative[0] > 0.1


def test_an_aggregate_of_two_vpas_takes_their_targets_in_turn() -> None:
    scene = Scene().follow(vpa("b"), vpa("a", ContainerPolicy("main", controlled_resources=(CPU,)))).observe(pod())
    # By name: a has none before, and b compares CPU with a's; memory of a is not there to compare with.
    assert changes(scene) == [[(1, 0.0)], []]
    assert changes(scene) == [[(0, 0.0), (1, 0.0)], []]


def test_loaded_history_has_no_target_to_compare_with() -> None:
    scene = of_one_container()
    scene.model.set_initial(scene.tracked(), "main", T0)
    changes(scene)
    assert changes(scene) == [[(0, 0.0)], [(0, 0.0)]]


def test_switched_off_containers_keep_their_last_target() -> None:
    scene = of_one_container()
    changes(scene)
    scene.follow(vpa("v", ContainerPolicy("main", mode=ScalingMode.OFF)))
    assert changes(scene) == [[], []]
    assert scene.model.aggregates.last_cpu[scene.aggregate()] == 25


@pytest.mark.parametrize(
    ("row", "pods", "expected"),
    [
        ("recommender:10", 0, 0),
        ("recommender:10", 1, 0),
        ("recommender:10", 2, 1),
        ("recommender:10", 3, 1),
        ("recommender:10", 4, 2),
        ("recommender:10", 2**20 - 1, 19),
        ("recommender:10", 2**20, 20),
        ("recommender:10", 2**30, 20),
    ],
)
def test_sizes_are_classed_by_their_binary_logarithm(row: str, pods: int, expected: int) -> None:
    assert size_class(pods) == expected, row
