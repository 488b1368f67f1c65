"""The recommender's arithmetic over checkpoints, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.behaviour import UPSTREAM
from autoscaling.matching import NOTHING
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode
from evenkeel.comparison.retracing import TRACED, SideSettings, State, Step, retrace
from recommender.checkpointing import load_checkpoints
from recommender.cluster_model import ClusterModel
from recommender.recommending import recommend
from recommender.settings import EstimatorSettings, Percentiles, RenderingSettings
from tests.builders import amounts, printed
from tests.evenkeel.comparison.states import NOW, autoscaler, checkpoint, histogram, state

KEY = ("default", "web", "main")
CAPPED = ContainerPolicy("*", max_allowed=amounts("150m/-"))


def targets(given: State, resource: str) -> dict[Step, str]:
    trace = retrace(given, NOW).traces[KEY]
    return {step: str(target) for step, target in trace.targets[resource].items()}


def test_each_step_is_on_top_of_those_before_it() -> None:
    spread = replace(checkpoint(100, 100), cpu=histogram(8, 9, 10))
    flags = SideSettings(
        EstimatorSettings(cpu=Percentiles(target=0.5), margin_fraction=0.5, pod_minimum_cpu_millicores=200.0),
        RenderingSettings(round_cpu_millicores=70),
    )
    told = targets(state([autoscaler(policies=[CAPPED])], [spread], flags), CPU)
    assert told == {
        Step.SAMPLES: "142m",
        Step.PERCENTILE: "125m",
        Step.MARGIN: "187m",
        Step.MINIMUM: "200m",
        Step.ROUNDING: "210m",
        Step.CAPS: "150m",
    }, "beyond:B-35"
    assert tuple(told) == TRACED


def test_flags_do_not_change_what_histograms_are_asked_for_alike() -> None:
    given = state([autoscaler()], [checkpoint(100, 100)], SideSettings(EstimatorSettings(cpu=Percentiles(target=0.1))))
    other = state([autoscaler()], [checkpoint(100, 100)])
    assert targets(given, CPU)[Step.SAMPLES] == targets(other, CPU)[Step.SAMPLES], "beyond:B-35"


def test_memory_is_traced_in_bytes() -> None:
    told = targets(state([autoscaler()], [checkpoint(100, 500)]), MEMORY)
    assert told[Step.MINIMUM] == told[Step.MARGIN] == told[Step.CAPS], "beyond:B-35"
    assert int(told[Step.SAMPLES]) > 500 * 2**20


@pytest.mark.parametrize(
    ("spec_id", "policy", "capped"),
    [
        ("beyond:B-35", ContainerPolicy("*", mode=ScalingMode.OFF), set()),
        ("beyond:B-35", ContainerPolicy("*", controlled_resources=("cpu",)), {CPU}),
        ("beyond:B-35", ContainerPolicy("*"), {CPU, MEMORY}),
    ],
)
def test_what_a_policy_leaves_out_is_not_capped(spec_id: str, policy: ContainerPolicy, capped: set[str]) -> None:
    trace = retrace(state([autoscaler(policies=[policy])], [checkpoint(100, 100)]), NOW).traces[KEY]
    assert {name for name, steps in trace.targets.items() if Step.CAPS in steps} == capped, spec_id


def test_checkpoints_of_others_are_left_out_and_broken_ones_told_of() -> None:
    broken = replace(checkpoint(100, 100, container="sidecar"), memory=None)
    found = retrace(state([autoscaler()], [checkpoint(100, 100), checkpoint(1, 1, name="gone"), broken]), NOW)
    assert set(found.traces) == {KEY}, "beyond:B-35"
    assert [str(failure.checkpoint) for failure in found.failures] == [
        "VerticalPodAutoscalerCheckpoint default/web-sidecar"
    ]


def test_nothing_stored_has_no_traces() -> None:
    assert retrace(state([autoscaler()]), NOW).traces == {}, "beyond:B-35"


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 4_000)), min_size=1, max_size=3),
    st.sampled_from([None, [CAPPED], [ContainerPolicy("c0", min_allowed=amounts("30m/1Gi"))]]),
    st.sampled_from([0.0, 0.15, 0.4]),
    st.sampled_from([1, 50]),
)
def test_the_last_step_is_what_the_recommender_recommends(
    use: list[tuple[int, int]], policies: list[ContainerPolicy] | None, margin: float, step: int
) -> None:
    """Spec: beyond:B-35, recommender:4."""
    vpa = autoscaler(policies=policies)
    stored = [checkpoint(*each, container=f"c{number}") for number, each in enumerate(use)]
    flags = SideSettings(EstimatorSettings(margin_fraction=margin), RenderingSettings(round_cpu_millicores=step))
    model = ClusterModel()
    model.observe_vpa(vpa, NOTHING)
    assert load_checkpoints(model, stored, NOW) == ()
    (own,) = recommend(model, model.groups(), flags.estimator, flags.rendering, UPSTREAM).recommendations
    traces = retrace(state([vpa], stored, flags), NOW).traces
    for entry in own.containers:
        traced = traces["default", "web", entry.container_name].targets
        assert {name: str(steps[Step.CAPS]) for name, steps in traced.items()} == printed(entry.target)
        assert entry.uncapped_target is not None
        assert {name: str(steps[Step.ROUNDING]) for name, steps in traced.items()} == printed(entry.uncapped_target)
