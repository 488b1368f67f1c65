"""Start and end of a CPU start-up boost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.pod import ConditionStatus, PodCondition
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.startup_boost import (
    boost_of,
    boosted_containers,
    boosted_cpu,
    boosted_resources,
    is_over,
    original_resources_text,
    remaining,
)
from autoscaling.vpa import BoostType, ContainerPolicy, ControlledValues, CpuBoost, StartupBoost, Vpa
from tests.builders import T0, amounts, pod, printed, vpa

TWICE = CpuBoost(BoostType.FACTOR, factor=2)
PLUS_ONE = CpuBoost(BoostType.QUANTITY, quantity=Quantity.parse("1"))
BOTH, ONLY = ControlledValues.REQUESTS_AND_LIMITS, ControlledValues.REQUESTS_ONLY


def boosted(pod_level: CpuBoost | None, **containers: CpuBoost | None) -> Vpa:
    """Return a VPA with boosts; a container that is given None has a policy without a boost of its own."""
    policies = [
        ContainerPolicy("*" if name == "star" else name, startup_boost=StartupBoost(boost) if boost else None)
        for name, boost in containers.items()
    ]
    return replace(vpa(policies=policies), startup_boost=StartupBoost(pod_level) if pod_level else None)


@pytest.mark.parametrize(
    ("row", "the_vpa", "wanted"),
    [
        ("admission:8.8 none", boosted(None), None),
        ("admission:8.8 of the VPA", boosted(TWICE), TWICE),
        ("admission:8.8 of the container, whole", boosted(TWICE, c=PLUS_ONE), PLUS_ONE),
        ("admission:8.8 of the star", boosted(TWICE, star=PLUS_ONE), PLUS_ONE),
        ("admission:8.8 the exact policy hides the star", boosted(TWICE, c=None, star=PLUS_ONE), TWICE),
    ],
)
def test_which_boost_applies(row: str, the_vpa: Vpa, wanted: CpuBoost | None) -> None:
    assert boost_of(the_vpa, "c") == wanted, row


def test_an_empty_boost_is_named() -> None:
    empty = replace(vpa(), startup_boost=StartupBoost())
    with pytest.raises(
        InvalidObjectError, match="VerticalPodAutoscaler default/v: startupBoost of container 'c' is empty"
    ):
        boost_of(empty, "c")


@pytest.mark.parametrize(
    ("row", "base", "boost", "cap", "wanted"),
    [
        ("admission:8.3 factor", "150m", TWICE, None, "300m"),
        ("admission:8.3 no type is a factor", "150m", CpuBoost(factor=3), None, "450m"),
        ("admission:8.3 nothing to multiply", "0", TWICE, None, "0"),
        ("admission:8.3 quantity is added", "150m", PLUS_ONE, None, "1150m"),
        ("admission:8.4 below the cap", "150m", TWICE, "300m", "300m"),
        ("admission:8.4 above the cap", "151m", TWICE, "300m", "300m"),
        ("admission:8.4 the cap below the base", "2", TWICE, "1", "1"),
        ("admission:8.4 a cap of zero is none", "2", TWICE, "0", "4"),
    ],
)
def test_the_boosted_request(row: str, base: str, boost: CpuBoost, cap: str | None, wanted: str) -> None:
    limit = None if cap is None else Quantity.parse(cap)
    assert str(boosted_cpu(vpa(), Quantity.parse(base), boost, limit)) == wanted, row


@pytest.mark.parametrize(
    ("boost", "problem"),
    [
        (CpuBoost(BoostType.FACTOR, factor=0), "startup boost factor 0"),
        (CpuBoost(BoostType.FACTOR), "startup boost factor None"),
        (CpuBoost(BoostType.QUANTITY), "startup boost without a quantity"),
    ],
)
def test_a_boost_that_cannot_be_reckoned_is_named(boost: CpuBoost, problem: str) -> None:
    with pytest.raises(InvalidObjectError, match=problem):
        boosted_cpu(vpa(), Quantity.parse("1"), boost, None)


@pytest.mark.parametrize(
    ("row", "requests", "limits", "new_limits", "boosted_to", "values", "new_request", "limit"),
    [
        ("admission:8.6 ratio kept", "100m", "200m", "300m", "500m", BOTH, "500m", {"cpu": "1"}),
        ("admission:8.6 no limit", "100m", "-", "-", "500m", BOTH, "500m", {}),
        ("admission:8.6 limit from elsewhere kept", "100m", "-", "300m", "500m", BOTH, "500m", {"cpu": "300m"}),
        ("admission:8.6 below the limit", "100m", "500m", "-", "500m", ONLY, "500m", {}),
        ("admission:8.6 above the limit", "100m", "500m", "-", "501m", ONLY, "499m", {}),
        ("admission:8.6 limit of a millicore", "1m", "1m", "-", "2m", ONLY, "1m", {}),
        ("admission:8.6 limit of two", "1m", "2m", "-", "3m", ONLY, "1m", {}),
        ("admission:8.6 explicit zero", "100m", "0", "-", "500m", ONLY, "0", {}),
        ("admission:8.6 no limit at all", "100m", "-", "-", "500m", ONLY, "500m", {}),
    ],
)
def test_request_and_limit_of_a_boosted_container(  # noqa: PLR0917 the row of a table
    row: str,
    requests: str,
    limits: str,
    new_limits: str,
    boosted_to: str,
    values: ControlledValues,
    new_request: str,
    limit: dict[str, str],
) -> None:
    current = ContainerResources(amounts(requests), amounts(limits) or None)
    got, got_limits = boosted_resources(current, amounts(new_limits), Quantity.parse(boosted_to), values)
    assert (str(got), printed(got_limits)) == (new_request, limit), row


def test_what_the_annotation_keeps() -> None:
    gpu = {**amounts("100m/1Gi"), "example.com/gpu": Quantity.parse("1")}
    assert original_resources_text(ContainerResources(gpu, amounts("1"))) == (
        '{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"1"}}'
    ), "admission:7.3.3"
    assert original_resources_text(ContainerResources()) == '{"requests":{},"limits":{}}'
    assert boosted_containers({"vpaCpuStartupBoost/b": "x", "vpaCpuStartupBoost/a": "x", "other": "y"}) == ("a", "b")
    assert boosted_containers(None) == ()


SECONDS_10 = CpuBoost(BoostType.FACTOR, factor=2, duration_seconds=10)


@pytest.mark.parametrize(
    ("row", "the_vpa", "ready", "ready_for_ms", "over"),
    [
        ("updater:U-2 no duration", boosted(TWICE), ConditionStatus.TRUE, 0, True),
        ("updater:U-2 not Ready", boosted(TWICE), ConditionStatus.FALSE, 60_000, False),
        ("updater:U-2 exactly", boosted(SECONDS_10), ConditionStatus.TRUE, 10_000, False),
        ("updater:U-2 past", boosted(SECONDS_10), ConditionStatus.TRUE, 10_001, True),
        (
            "updater:U-2 container's own",
            boosted(SECONDS_10, c=replace(TWICE, duration_seconds=5)),
            ConditionStatus.TRUE,
            6_000,
            True,
        ),
        (
            "updater:U-2 pod's where container's has none",
            boosted(SECONDS_10, c=TWICE),
            ConditionStatus.TRUE,
            6_000,
            False,
        ),
        ("updater:U-2 negative", boosted(replace(TWICE, duration_seconds=-1)), ConditionStatus.TRUE, 0, True),
        ("updater:D-64 no boost any more", boosted(None), ConditionStatus.TRUE, 0, True),
    ],
)
def test_when_a_boost_is_over(row: str, the_vpa: Vpa, ready: ConditionStatus, ready_for_ms: int, *, over: bool) -> None:
    """Spec: admission:8.11."""
    the_pod = replace(pod(), conditions=(PodCondition("Ready", ready, last_transition_time=T0),))
    assert is_over(the_pod, the_vpa, "c", T0 + timedelta(milliseconds=ready_for_ms)) is over, row


@pytest.mark.parametrize(
    "the_vpa", [boosted(SECONDS_10), boosted(None), boosted(replace(TWICE, duration_seconds=-(2**31)))]
)
def test_a_boost_is_over_where_the_pod_does_not_say_since_when_it_is_ready(the_vpa: Vpa) -> None:
    the_pod = replace(pod(), conditions=(PodCondition("Ready", ConditionStatus.TRUE),))
    assert is_over(the_pod, the_vpa, "c", T0), "updater:U-2"


def test_the_time_that_is_left() -> None:
    ready = PodCondition("Ready", ConditionStatus.TRUE, last_transition_time=T0)
    the_pod = replace(pod(), conditions=(ready,))
    assert remaining(the_pod, boosted(SECONDS_10), "c", T0 + timedelta(seconds=4)) == timedelta(seconds=6)
    assert remaining(pod(), boosted(SECONDS_10), "c", T0) is None
