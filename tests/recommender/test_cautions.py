"""What users are told about a recommendation: that a bound is too tight, that there is little history."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour, HpaConflict
from autoscaling.pod import ConditionStatus
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerPolicy, ScalingMode, VpaCondition
from recommender.cautions import judged_types
from recommender.recommending import recommend
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.status import (
    CAPPED_BELOW_NEED,
    CAPPED_TO_NODE,
    FETCHING_HISTORY,
    HPA_CONFLICT,
    LOW_CONFIDENCE,
    STRATEGY_UNAVAILABLE,
    USAGE_FALLBACK,
)
from tests.builders import T0, amounts
from tests.recommender.scene import DAY, HOUR, MINUTE, UPSTREAM, Scene, columns, of_one_container, pod, vpa

EVENKEEL = Behaviour()
MI = 1024 * 1024


def cautions(
    one: Scene,
    behaviour: Behaviour = EVENKEEL,
    settings: EstimatorSettings | None = None,
    maximum: ResourceList | None = None,
    name: str = "v",
) -> dict[str, VpaCondition]:
    """Return the further conditions of one VPA by type."""
    rendering = RenderingSettings(maximum=maximum or {})
    found = recommend(one.model, one.model.groups(), settings or EstimatorSettings(), rendering, behaviour)
    return {condition.type: condition for condition in found.cautions.get(one.tracked(name), ())}


@pytest.mark.parametrize(
    ("row", "behaviour", "judged"),
    [
        (
            "evenkeel",
            EVENKEEL,
            {
                HPA_CONFLICT,
                CAPPED_BELOW_NEED,
                CAPPED_TO_NODE,
                LOW_CONFIDENCE,
                FETCHING_HISTORY,
                USAGE_FALLBACK,
                STRATEGY_UNAVAILABLE,
            },
        ),
        ("upstream", UPSTREAM, set()),
        ("beyond:B-14", replace(UPSTREAM, hpa_conflict=HpaConflict.DERIVE), {HPA_CONFLICT}),
        ("beyond:B-10", replace(UPSTREAM, strategies=True), {STRATEGY_UNAVAILABLE}),
        ("beyond:B-15", replace(UPSTREAM, capped_below_need=True), {CAPPED_BELOW_NEED}),
        ("beyond:B-11", replace(UPSTREAM, node_fit=True), {CAPPED_TO_NODE}),
        (
            "beyond:B-8",
            replace(UPSTREAM, low_confidence_and_fetching_history_conditions=True),
            {LOW_CONFIDENCE, FETCHING_HISTORY, USAGE_FALLBACK},
        ),
    ],
)
def test_which_conditions_a_profile_decides_on(row: str, behaviour: Behaviour, judged: set[str]) -> None:
    assert judged_types(behaviour) == judged, row


# 100m of CPU ends its bucket at 110m, 300Mi of memory at 330659541 bytes; with the margin 126m and 380258472.
@pytest.mark.parametrize(
    ("row", "policy", "maximum", "parts"),
    [
        ("beyond:B-15 no bound", {}, {}, None),
        ("beyond:B-15 wide", amounts("1/1Gi"), {}, None),
        ("beyond:B-15 cuts the margin only", amounts("110m"), {}, None),
        ("beyond:B-15 cpu", amounts("109m"), {}, ["container main needs 110m of cpu, but maxAllowed is 109m"]),
        ("beyond:B-15 memory at the need", amounts("-/330659541"), {}, None),
        ("beyond:B-15 memory", amounts("-/330659540"), {}, ["330659541 of memory, but maxAllowed is 330659540"]),
        ("beyond:B-15 both", amounts("50m/100Mi"), {}, ["110m of cpu, but maxAllowed is 50m; ", "of memory, but"]),
        (
            "beyond:B-15 flag",
            {},
            amounts("50m"),
            ["needs 110m of cpu, but --container-recommendation-max-allowed-cpu is 50m"],
        ),
        ("beyond:B-15 the policy's counts", amounts("1"), amounts("50m"), None),
        ("beyond:B-15 zero is no bound", amounts("0"), amounts("50m"), None),
    ],
)
def test_bounds_below_the_need(row: str, policy: ResourceList, maximum: ResourceList, parts: list[str] | None) -> None:
    one = of_one_container(*([ContainerPolicy("*", max_allowed=policy)] if policy else []))
    one.cpu(T0, 100)
    one.memory(T0, 300 * MI)
    found = cautions(one, maximum=maximum).get(CAPPED_BELOW_NEED)
    if parts is None:
        assert found is None, row
        return
    assert found is not None, row
    assert (found.status, found.reason) == (ConditionStatus.TRUE, "MaxAllowedTooLow"), row
    for part in (*parts, "Raise the bound"):
        assert part in found.message, row
    assert CAPPED_BELOW_NEED not in cautions(one, UPSTREAM, maximum=maximum), row


def test_the_minimum_of_a_pod_is_no_need() -> None:
    one = of_one_container(ContainerPolicy("*", max_allowed=amounts("10m/100Mi")))
    one.cpu(T0, 1)
    one.memory(T0, 20 * MI)
    assert CAPPED_BELOW_NEED not in cautions(one), "beyond:B-15"


def test_of_several_containers_those_are_named_that_lack_something() -> None:
    policies = [
        ContainerPolicy("a", max_allowed=amounts("50m")),
        ContainerPolicy("b", max_allowed=amounts("50m"), mode=ScalingMode.OFF),
        ContainerPolicy("c", max_allowed=amounts("50m"), controlled_resources=("memory",)),
        ContainerPolicy("d", max_allowed=amounts("60m")),
    ]
    one = Scene().follow(vpa("v", *policies), vpa("w")).observe(pod("p", "a", "b", "c", "d"))
    for name in "abcd":
        one.cpu(T0, 100, name)
    message = cautions(one)[CAPPED_BELOW_NEED].message
    assert [f"container {name} " in message for name in "abcd"] == [True, False, False, True], "beyond:B-15"
    assert CAPPED_BELOW_NEED not in cautions(one, name="w")


@pytest.mark.parametrize("behaviour", [EVENKEEL, UPSTREAM])
@given(
    kills=st.lists(st.tuples(st.integers(0, 72), st.integers(1, 512 * MI)), min_size=1, max_size=30),
    ratio=st.integers(1, 4),
)
def test_the_uncapped_target_does_not_run_away(behaviour: Behaviour, kills: list[tuple[int, int]], ratio: int) -> None:
    """A container that is killed again and again at its bound shows no more need than one kill does.

    Spec: beyond:B-15.
    """
    one = of_one_container(ContainerPolicy("*", max_allowed=amounts("-/512Mi")))
    limit = 512 * MI * ratio
    for hours, used in sorted(kills):
        one.memory(T0 + hours * HOUR, min(used * ratio, limit))
        one.oom(T0 + hours * HOUR + MINUTE, 512 * MI)
    entry = one.recommendation(behaviour=behaviour).of("main")
    assert entry is not None
    uncapped = (entry.uncapped_target or {})["memory"].value()
    assert uncapped <= max(limit * 1.2, limit + 100 * MI) * 1.05 * 1.15 + 10_000_000 * 1.15
    assert entry.target["memory"] == Quantity.parse("512Mi")


def run_for(one: Scene, length: timedelta, container: str = "main") -> None:
    """Let a container show a sample a minute for some time."""
    minutes = int(length / MINUTE)
    moments = [T0 + minute * MINUTE for minute in range(minutes + 1)]
    one.model.take_cpu(columns([one.row(container)] * (minutes + 1), moments, [100] * (minutes + 1)), T0)


@pytest.mark.parametrize(
    ("row", "length", "is_low"),
    [
        ("beyond:B-8 one sample", timedelta(0), True),
        ("beyond:B-8 just too short", DAY - MINUTE, True),
        ("beyond:B-8 one interval", DAY, False),
        ("beyond:B-8 long", 8 * DAY, False),
    ],
)
def test_little_history(row: str, length: timedelta, *, is_low: bool) -> None:
    """Spec: recommender:13.8."""
    one = of_one_container()
    run_for(one, length)
    found = cautions(one).get(LOW_CONFIDENCE)
    assert (found is not None) is is_low, row
    if found is not None:
        assert (found.status, found.reason) == (ConditionStatus.TRUE, "LittleHistory"), row
        assert "less than 24 h of samples of main" in found.message, row
    assert cautions(one, UPSTREAM) == {}, row


@pytest.mark.parametrize(
    ("row", "settings", "is_low"),
    [
        ("beyond:B-8 default", EstimatorSettings(), True),
        ("beyond:B-8 shorter", EstimatorSettings(confidence_interval_cpu=HOUR, confidence_interval_memory=HOUR), False),
        ("beyond:B-8 memory alone", EstimatorSettings(confidence_interval_cpu=HOUR), True),
    ],
)
def test_the_interval_is_a_setting(row: str, settings: EstimatorSettings, *, is_low: bool) -> None:
    one = of_one_container()
    run_for(one, HOUR)
    one.memory(T0, 1)
    assert (LOW_CONFIDENCE in cautions(one, settings=settings)) is is_low, row


@pytest.mark.parametrize(
    ("row", "policies", "is_low"),
    [
        ("beyond:B-8 all", (), True),
        ("beyond:B-8 off", (ContainerPolicy("side", mode=ScalingMode.OFF),), False),
        ("beyond:B-8 nothing controlled", (ContainerPolicy("side", controlled_resources=()),), False),
    ],
)
def test_only_what_is_recommended_counts(row: str, policies: tuple[ContainerPolicy, ...], *, is_low: bool) -> None:
    one = Scene().follow(vpa("v", *policies)).observe(pod("p", "main", "new", "side"))
    run_for(one, DAY)
    one.cpu(T0, 100, "side")
    found = cautions(one).get(LOW_CONFIDENCE)
    assert (found is not None) is is_low, row
    if found is not None:
        assert "samples of side," in found.message, "a container without any sample has no recommendation"


def test_without_a_recommendation_there_is_no_confidence_in_it() -> None:
    assert LOW_CONFIDENCE not in cautions(of_one_container())
    assert cautions(Scene().follow(vpa())) == {}
