"""The way back from a target to the use that it must have come from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY
from evenkeel.comparison.retracing import SideSettings, Step, retrace
from evenkeel.comparison.supposing import SUPPOSED, Suppositions
from recommender.settings import EstimatorSettings, RenderingSettings
from tests.evenkeel.comparison.states import NOW, autoscaler, checkpoint, state

q = Quantity.parse


@settings(max_examples=25)
@given(
    st.integers(0, 500_000),
    st.integers(0, 500_000),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.15, 0.5]),
    st.sampled_from([1, 7, 100]),
)
def test_what_the_recommender_makes_of_use_leads_back_to_its_bucket(
    millicores: int, mebibytes: int, containers: int, margin: float, step: int
) -> None:
    """Spec: beyond:B-35, recommender:4.2, recommender:4.3."""
    flags = SideSettings(EstimatorSettings(margin_fraction=margin), RenderingSettings(step, step))
    stored = [checkpoint(millicores, mebibytes, container=f"c{number}") for number in range(containers)]
    trace = retrace(state([autoscaler()], stored, flags), NOW).traces["default", "web", "c0"]
    for resource, histogram in ((CPU, stored[0].cpu), (MEMORY, stored[0].memory)):
        assert histogram is not None
        (bucket,) = histogram.bucket_weights
        supposed = Suppositions(flags).of(containers, resource)
        found = supposed.buckets_of(trace.targets[resource][Step.ROUNDING])
        # The last two buckets end alike.
        assert found & {bucket, bucket - 1}
        way = {step: supposed.at(step, bucket) for step in SUPPOSED}
        assert way == {step: trace.targets[resource][step] for step in SUPPOSED}


@pytest.mark.parametrize(
    ("spec_id", "containers", "resource", "target", "buckets"),
    [
        ("beyond:B-35", 1, CPU, "25m", {0, 1}),
        ("beyond:B-35", 2, CPU, "12m", {0}),
        ("beyond:B-35", 2, CPU, "11m", set()),
        ("beyond:B-35", 1, CPU, "26m", set()),
        ("beyond:B-35", 1, CPU, "49m", {3}),
    ],
)
def test_below_a_minimum_several_buckets_lead_to_a_target_and_none_to_what_cannot_be(
    spec_id: str, containers: int, resource: str, target: str, buckets: set[int]
) -> None:
    assert Suppositions(SideSettings()).of(containers, resource).buckets_of(q(target)) == buckets, spec_id


def test_nothing_leads_to_what_is_not_told() -> None:
    known = Suppositions(SideSettings())
    assert {known.of(1, resource).buckets_of(None) for resource in CONTROLLED} == {frozenset()}, "beyond:B-35"
