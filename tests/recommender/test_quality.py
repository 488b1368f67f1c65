"""Samples beside recommendations (recommender:10)."""

from __future__ import annotations

import numpy as np
import pytest

from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode, UpdatePolicy
from recommender.quality import UsageQuality, usage_quality
from tests.builders import T0
from tests.recommender.scene import APP, DAY, MINUTE, Scene, columns, of_one_container, pod, vpa


def beside(scene: Scene, amount: int, resource: str = CPU, *, is_oom: bool = False) -> UsageQuality:
    """Put one sample of container ``main`` beside its recommendation."""
    samples = columns([scene.row()], [T0], [amount])
    model = scene.model
    return usage_quality(model.containers, model.aggregates, samples, resource, is_oom=is_oom)


def recommended() -> Scene:
    """Return a scene whose container is recommended 296m and 380258472 bytes (recommender:E2)."""
    scene = of_one_container()
    scene.steady_cpu(T0, 1441, 250)
    scene.memory(T0 + DAY, 314572800)
    scene.recommendation()
    return scene


@pytest.mark.parametrize(
    ("row", "resource", "amount", "pair", "over_and_below", "relative"),
    [
        ("recommender:10", CPU, 250, (0.25, 0.296), ([0.296 - 0.25], []), (0.25 - 0.296) / 0.296),
        ("recommender:10", CPU, 296, (0.296, 0.296), ([], [0.0]), 0.0),
        ("recommender:10", CPU, 592, (0.592, 0.296), ([], [0.592 - 0.296]), 1.0),
        ("recommender:10", CPU, 0, (0.0, 0.296), ([0.296], []), -1.0),
        ("recommender:10", MEMORY, 380258471, (380258471.0, 380258472.0), ([1.0], []), -1 / 380258472),
        ("recommender:10", MEMORY, 380258473, (380258473.0, 380258472.0), ([], [1.0]), 1 / 380258472),
    ],
)
def test_a_sample_is_compared_with_the_uncapped_target(
    row: str,
    resource: str,
    amount: int,
    pair: tuple[float, float],
    over_and_below: tuple[list[float], list[float]],
    relative: float,
) -> None:
    quality = beside(recommended(), amount, resource)
    assert (quality.usage.tolist(), quality.targets.tolist()) == ([pair[0]], [pair[1]]), row
    assert (quality.excesses().tolist(), quality.shortfalls().tolist()) == over_and_below
    assert quality.recommended().relative_differences().tolist() == [relative]
    assert quality.missing().usage.size == 0


def test_before_the_first_recommendation_usage_is_compared_with_nothing() -> None:
    quality = beside(of_one_container(), 100)
    assert quality.recommended().usage.size == 0
    assert quality.missing().shortfalls().tolist() == [0.1]
    assert quality.missing().excesses().size == 0


def test_without_usage_nothing_is_equal_to_no_recommendation() -> None:
    assert beside(of_one_container(), 0).missing().shortfalls().tolist() == [0.0]


@pytest.mark.parametrize(
    ("row", "scene"),
    [
        ("recommender:10", Scene().observe(pod())),
        ("recommender:10", of_one_container(ContainerPolicy("main", mode=ScalingMode.OFF))),
    ],
)
def test_containers_that_no_vpa_scales_do_not_count(row: str, scene: Scene) -> None:
    assert beside(scene, 100).usage.size == 0, row


@pytest.mark.parametrize("mode", [None, UpdateMode.OFF, UpdateMode.IN_PLACE_OR_RECREATE])
def test_samples_are_told_apart_by_the_update_mode_as_it_is_stated(mode: UpdateMode | None) -> None:
    policy = None if mode is None else UpdatePolicy(mode)
    scene = Scene().follow(vpa(update_policy=policy), selector=APP).observe(pod())
    ((found, samples),) = beside(scene, 100).by_mode()
    assert found is mode
    assert samples.usage.tolist() == [0.1]


def test_the_needs_of_killed_containers_are_the_samples() -> None:
    scene = recommended()
    kills = scene.model.take_ooms([], T0)
    assert len(kills.needs) == 0
    scene.memory(T0 + DAY + MINUTE, 1)
    assert beside(scene, 1, MEMORY, is_oom=True).is_oom


def test_every_sample_is_either_over_or_below() -> None:
    scene = recommended()
    amounts = list(range(0, 1000, 7))
    samples = columns([scene.row()] * len(amounts), [T0] * len(amounts), amounts)
    quality = usage_quality(scene.model.containers, scene.model.aggregates, samples, CPU, is_oom=False)
    assert quality.excesses().size + quality.shortfalls().size == len(amounts)
    assert np.all(quality.excesses() > 0)
