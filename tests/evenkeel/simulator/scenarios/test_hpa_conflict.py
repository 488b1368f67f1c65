"""The scenario hpa-conflict: what it expects follows from the rules of both autoscalers (case:43, beyond:B-14)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from autoscaling.behaviour import Profile
from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject, child, number
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.controllers.autoscaler_replicas import Sample, Scene, propose
from evenkeel.simulator.controllers.autoscaler_spec import Aim, Metric, MetricType, Pace, wish_of
from evenkeel.simulator.scenarios import library
from evenkeel.simulator.scenarios.expectations import Check, EventsExpected, PodsExpected, VpaExpected
from evenkeel.simulator.scenarios.syntax import AmountRange
from evenkeel.simulator.scenarios.usage import Constant
from tests.evenkeel.simulator.scenarios.spiral import Spiral

SCENARIO = library.load("hpa-conflict")
AUTOSCALER = child(SCENARIO.objects[0], "spec")
MOST, FIRST = number(AUTOSCALER, "maxReplicas"), SCENARIO.workloads["web"].replicas


def spiral() -> Spiral:
    shared = SCENARIO.workloads["web"].containers["main"].shared
    share = wish_of(SCENARIO.objects[0]).metrics[0].aim.utilization
    assert isinstance(shared, Constant)
    assert share is not None
    return Spiral(shared.cpu.milli_value(), share)


def checks(profile: Profile) -> list[Check]:
    return [check for check in SCENARIO.expect if check.profile is profile]


def exactly(milli: int) -> AmountRange:
    return AmountRange(Quantity.of_milli(milli), Quantity.of_milli(milli))


def test_before_the_vpa_comes_the_horizontal_autoscaler_is_at_rest() -> None:
    request = SCENARIO.workloads["web"].containers["main"].requests["cpu"].milli_value()
    assert spiral().calls_for(FIRST, request) == FIRST


@pytest.mark.parametrize("pods", range(FIRST, MOST))
def test_in_upstreams_profile_there_is_no_rest_below_the_most(pods: int) -> None:
    """Law: whatever the number of pods, the requests that follow from it call for more pods."""
    law = spiral()
    assert law.target_milli(pods + 1) < law.target_milli(pods)
    assert law.calls_for(pods, law.largest_request_milli(pods)) > pods


def test_the_end_in_upstreams_profile() -> None:
    law, found = spiral(), checks(Profile.UPSTREAM)
    pods = next(check for check in found if isinstance(check, PodsExpected))
    vpa = next(check for check in found if isinstance(check, VpaExpected))
    steps = next(check for check in found if isinstance(check, EventsExpected))
    least, largest = law.target_milli(MOST), law.largest_request_milli(MOST)
    assert (pods.count.min, pods.count.max) == (MOST, MOST)
    assert pods.requests == {"cpu": AmountRange(Quantity.of_milli(least), Quantity.of_milli(largest))}
    assert vpa.target == {"cpu": exactly(least)}
    quickest, size = 0, FIRST
    while size < MOST:
        quickest, size = quickest + 1, law.calls_for(size, law.target_milli(size))
    assert (steps.count.min, steps.count.max) == (quickest, MOST - FIRST)


def test_the_end_in_our_profile() -> None:
    """Spec: beyond:B-14."""
    vpa = next(check for check in checks(Profile.EVENKEEL) if isinstance(check, VpaExpected))
    request = exactly(SCENARIO.workloads["web"].containers["main"].requests["cpu"].milli_value())
    assert [vpa.target, vpa.lower_bound, vpa.upper_bound] == [{"cpu": request}] * 3
    assert vpa.uncapped_target == {"cpu": exactly(spiral().target_milli(FIRST))}
    assert vpa.conditions is not None
    assert vpa.conditions["HPAConflict"] == "True"


def pods_of(count: int, request_milli: int) -> list[JsonObject]:
    container: JsonObject = {"name": "main", "resources": {"requests": {"cpu": f"{request_milli}m"}}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    status = {"phase": "Running", "startTime": "2020-01-01T00:00:00Z", "conditions": [ready]}
    return [
        {"metadata": {"name": f"p{index}"}, "spec": {"containers": [container]}, "status": status}
        for index in range(count)
    ]


def test_the_series_of_case_43() -> None:
    """Spec: case:43. Requests set to use, 80 % aimed at: 1, 0.8, 0.64, 0.512, 0.41, 0.328 of a core, without end."""
    metric = Metric(MetricType.RESOURCE, "cpu", aim=Aim(utilization=80))
    load, replicas, series = 1024 * 10**6, 1024, []
    for _ in range(6):
        request = load // replicas // 1000
        series.append(request)
        pods = pods_of(replicas, request)
        used = {str(child(pod, "metadata")["name"]): Sample(request, EPOCH, timedelta(seconds=15)) for pod in pods}
        replicas = propose(metric, Scene(replicas, pods, used, EPOCH), Pace()).replicas
    assert series == [1000, 800, 640, 512, 409, 327]
    assert all(later * 10 == pytest.approx(earlier * 8, abs=10) for earlier, later in pairwise(series))
