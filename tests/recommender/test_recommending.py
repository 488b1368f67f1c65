from __future__ import annotations

import numpy as np
import pytest

from autoscaling.vpa import ContainerPolicy, ScalingMode
from recommender.checkpoint import HistogramCheckpoint
from recommender.checkpointing import checkpoints_of
from recommender.estimator import confidence
from recommender.grouping import merged_samples
from recommender.settings import RenderingSettings
from tests.builders import T0
from tests.recommender.scene import DAY, MINUTE, Scene, columns, of_one_container, pod, vpa

WEEK_CPU = (
    "4:1952 5:4212 6:4157 7:4532 8:4855 9:4813 10:5523 11:5461 12:5859 13:5742 14:6451 15:6757 16:7079 17:7434 "
    "18:7656 19:8074 20:8719 21:9009 22:9320 23:10000 24:1282"
)


def test_a_week_of_use() -> None:
    """Spec: recommender:E11."""
    one = of_one_container()
    samples = range(10080)
    moments = [T0 + minute * MINUTE for minute in samples]
    one.model.take_cpu(columns([one.row()] * 10080, moments, [50 + 37 * i % 400 for i in samples]), T0)
    for day in range(1, 8):
        # The peak is dated at the end of its window.
        one.memory(T0 + (day - 1) * DAY, day * 200000000)
    first, last, count = merged_samples(one.model.aggregates, one.model.groups())
    assert confidence(first, last, count, DAY).tolist() == [6.999305555555556]
    figures = {key: tuple(vector.values()) for key, vector in one.figures().items()}
    assert figures == {
        "target": ("476m", "1644423393"),
        "lower": ("295m", "1643953611"),
        "upper": ("584m", "1879364328"),
    }
    (stored,) = checkpoints_of(one.model, [one.tracked()], T0 + 8 * DAY)[0]
    weights = {int(bucket): int(weight) for bucket, _, weight in (pair.partition(":") for pair in WEEK_CPU.split())}
    assert stored.cpu == HistogramCheckpoint(T0, weights, 26377.657417208327)
    peaks = {14: 156, 22: 313, 28: 625, 32: 1250, 36: 2500, 39: 5000, 42: 10000}
    assert stored.memory == HistogramCheckpoint(T0 + DAY, peaks, 127.0)


def test_every_vpa_gets_its_recommendation() -> None:
    one = Scene().follow(vpa("v"), vpa("w", ContainerPolicy("*", mode=ScalingMode.OFF)))
    one.observe(pod("p", "b", "a"))
    one.cpu(T0, 1000, "a")
    assert [entry.container_name for entry in one.recommendation("v").containers] == ["a", "b"]
    assert one.recommendation("w").containers == ()
    assert one.figures("a")["target"]["cpu"] == "1168m"


@pytest.mark.parametrize(
    ("policy", "rendering", "cpu", "memory"),
    [
        (None, RenderingSettings(), 296, 262144000),
        (None, RenderingSettings(round_cpu_millicores=50), 300, 262144000),
        (None, RenderingSettings(humanize_memory=True, round_memory_bytes=380258472), 296, 380255601),
        (ContainerPolicy("*", controlled_resources=("memory",)), RenderingSettings(), 0, 262144000),
        (ContainerPolicy("*", controlled_resources=("cpu",)), RenderingSettings(), 296, 0),
    ],
)
def test_uncapped_targets_are_remembered(
    policy: ContainerPolicy | None, rendering: RenderingSettings, cpu: int, memory: int
) -> None:
    """Spec: recommender:6.2, recommender:10."""
    one = of_one_container(*([policy] if policy else []))
    one.cpu(T0, 250)
    one.recommendation(rendering=rendering)
    aggregates, row = one.model.aggregates, one.aggregate()
    assert (int(aggregates.last_cpu[row]), int(aggregates.last_memory[row])) == (cpu, memory)


def test_what_is_switched_off_keeps_its_last_target() -> None:
    one = of_one_container()
    one.recommendation()
    one.follow(vpa("v", ContainerPolicy("*", mode=ScalingMode.OFF)))
    one.recommendation()
    assert int(one.model.aggregates.last_cpu[one.aggregate()]) == 25


def test_recommending_reads_and_does_not_change_what_is_known() -> None:
    one = of_one_container()
    one.steady_cpu(T0, 50, 250)
    before = one.model.aggregates.cpu.weights.copy()
    assert one.recommendation() == one.recommendation()
    assert np.array_equal(before, one.model.aggregates.cpu.weights)
