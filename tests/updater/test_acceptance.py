"""Whether pods are worth disturbing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ContainerStatus, Pod, Termination
from autoscaling.vpa import (
    ChangeRequirement,
    ContainerPolicy,
    EvictionRequirement,
    Recommendation,
    ScalingMode,
    UpdateMode,
    Vpa,
)
from tests.builders import T0, container, pod, recommended
from tests.updater.situations import (
    EVENKEEL,
    GATES_ON,
    HOUR,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    OUT_OF_BOUNDS,
    RECREATE,
    SECOND,
    Scene,
    annotated,
    circumstances,
    killed,
    policy,
    reporting,
    small,
    vpa_of,
)
from updater.acceptance import Acceptance, is_quick_oom, judge, meets_requirements, next_change
from updater.circumstances import Memory
from updater.decision import Reason
from updater.infeasible import InfeasibleMemory
from updater.priority import Priority
from updater.settings import Settings

PER_VPA = replace(GATES_ON, is_per_vpa_config_on=True)
OWN_THRESHOLD = replace(vpa_of(RECREATE), update_policy=policy(RECREATE, oom_seconds=60))
MODE_OFF = (ContainerPolicy("c", mode=ScalingMode.OFF),)
ALL_OFF = (ContainerPolicy("*", mode=ScalingMode.OFF),)
ONLY_OTHERS_OFF = (ContainerPolicy("c", mode=ScalingMode.AUTO), *ALL_OFF)
TEN = 10 * MINUTE


def ended(started: timedelta | None, finished: timedelta | None) -> Pod:
    """Return a pod whose container was killed, with times relative to now; None leaves one out."""
    times = [None if offset is None else NOW + offset for offset in (started, finished)]
    status = ContainerStatus("c", last_terminated=Termination("OOMKilled", times[0], times[1]))
    return replace(small(), statuses=(status,))


@pytest.mark.parametrize(
    ("row", "vpa", "settings", "subject", "quick"),
    [
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, small(), False),
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, killed(small(), MINUTE, MINUTE), True),
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, killed(small(), MINUTE, MINUTE, reason="Error"), False),
        ("updater:W-7", vpa_of(RECREATE), GATES_ON, killed(small(), TEN - SECOND, TEN - SECOND), True),
        ("updater:W-7", vpa_of(RECREATE), GATES_ON, killed(small(), TEN - SECOND, TEN), False),
        ("updater:W-7", vpa_of(RECREATE), GATES_ON, killed(small(), TEN, TEN - SECOND), False),
        ("updater:W-7", vpa_of(RECREATE), GATES_ON, killed(small(), MINUTE, timedelta(days=3)), False),
        ("updater:W-7", OWN_THRESHOLD, PER_VPA, killed(small(), 59 * SECOND, 59 * SECOND), True),
        ("updater:W-7", OWN_THRESHOLD, PER_VPA, killed(small(), 60 * SECOND, 59 * SECOND), False),
        ("updater:W-7", OWN_THRESHOLD, PER_VPA, killed(small(), 59 * SECOND, 60 * SECOND), False),
        ("updater:W-7", OWN_THRESHOLD, GATES_ON, killed(small(), TEN - SECOND, TEN - SECOND), True),
        ("updater:P-6", vpa_of(RECREATE), PER_VPA, killed(small(), TEN - SECOND, TEN - SECOND), True),
        ("updater:P-6", replace(vpa_of(RECREATE), update_policy=None), PER_VPA, killed(small(), MINUTE, MINUTE), True),
        # A finish in the future, by a clock that is ahead, is recent.
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, killed(small(), MINUTE, -HOUR), True),
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, ended(None, -MINUTE), False),
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, ended(-MINUTE, None), False),
        ("updater:P-6", vpa_of(RECREATE), GATES_ON, ended(None, None), False),
        ("updater:P-6", vpa_of(RECREATE, policies=MODE_OFF), GATES_ON, killed(small(), MINUTE, MINUTE), False),
        ("updater:P-6", vpa_of(RECREATE, policies=ALL_OFF), GATES_ON, killed(small(), MINUTE, MINUTE), False),
        ("updater:P-6", vpa_of(RECREATE, policies=ONLY_OTHERS_OFF), GATES_ON, killed(small(), MINUTE, MINUTE), True),
        (
            "updater:P-6",
            vpa_of(RECREATE),
            GATES_ON,
            annotated(killed(small(), MINUTE, MINUTE), vpaObservedContainers="d"),
            False,
        ),
        (
            "updater:P-6",
            vpa_of(RECREATE),
            GATES_ON,
            annotated(killed(small(), MINUTE, MINUTE), vpaObservedContainers="c"),
            True,
        ),
    ],
)
def test_quick_oom(row: str, vpa: Vpa, settings: Settings, subject: Pod, quick: bool) -> None:
    assert is_quick_oom(subject, circumstances(vpa, settings)) is quick


def test_the_end_of_the_present_run_is_no_quick_oom() -> None:
    status = killed(small(), MINUTE, MINUTE).statuses[0]
    present = replace(small(), statuses=(ContainerStatus("c", terminated=status.last_terminated),))
    assert not is_quick_oom(present, circumstances(vpa_of(RECREATE)))


def test_one_killed_container_is_enough() -> None:
    quiet, noisy = ContainerStatus("a"), replace(killed(small(), MINUTE, MINUTE).statuses[0], name="b")
    assert is_quick_oom(replace(small(), statuses=(quiet, noisy)), circumstances(vpa_of(RECREATE)))


WITHIN, OUTSIDE = Priority(difference=0.1), Priority(is_outside_bounds=True)
UNCHANGED = Priority()
RECOMMENDED = Recommendation((OUT_OF_BOUNDS,))
OLD = replace(small(), start_time=NOW - 12 * HOUR)
YOUNG = replace(small(), start_time=NOW - 12 * HOUR + SECOND)
NEVER = replace(small(), start_time=None)
REMEMBERED = Memory(infeasible=InfeasibleMemory({"uid-p0": RECOMMENDED}))


def quick(subject: Pod) -> Pod:
    """Return a pod with a quick OOM kill."""
    return killed(subject, MINUTE, MINUTE)


def yes(reason: Reason) -> Acceptance:
    """Return that a pod is to be updated."""
    return Acceptance(is_given=True, reason=reason)


def no(reason: Reason) -> Acceptance:
    """Return that a pod is not to be updated."""
    return Acceptance(is_given=False, reason=reason)


@pytest.mark.parametrize(
    ("row", "subject", "priority", "acceptance"),
    [
        ("updater:P-7", YOUNG, OUTSIDE, yes(Reason.OUTSIDE_BOUNDS)),
        ("updater:P-7", NEVER, OUTSIDE, yes(Reason.OUTSIDE_BOUNDS)),
        ("updater:P-7", NEVER, WITHIN, no(Reason.NO_START_TIME)),
        ("updater:P-7", YOUNG, Priority(difference=9), no(Reason.TOO_YOUNG)),
        ("updater:P-7", OLD, WITHIN, yes(Reason.WORTHWHILE_CHANGE)),
        ("updater:P-7", OLD, Priority(difference=0.0999), no(Reason.CHANGE_TOO_SMALL)),
        ("updater:P-7", OLD, UNCHANGED, no(Reason.CHANGE_TOO_SMALL)),
        ("updater:P-7", quick(YOUNG), Priority(difference=0.001), yes(Reason.QUICK_OOM)),
        ("updater:P-7", quick(NEVER), Priority(difference=0.001), yes(Reason.QUICK_OOM)),
        ("updater:P-7", quick(OLD), UNCHANGED, no(Reason.OOM_WITHOUT_CHANGE)),
        ("updater:P-7", quick(OLD), OUTSIDE, no(Reason.OOM_WITHOUT_CHANGE)),
        ("updater:P-7", quick(OLD), Priority(True, True, 0.5), yes(Reason.OUTSIDE_BOUNDS)),
    ],
)
@pytest.mark.parametrize("mode", [RECREATE, IPOR, IN_PLACE])
def test_acceptance(row: str, subject: Pod, priority: Priority, acceptance: Acceptance, mode: UpdateMode) -> None:
    assert judge(subject, RECOMMENDED, priority, circumstances(vpa_of(mode))) == acceptance


@pytest.mark.parametrize(
    ("row", "mode", "recommendation", "acceptance"),
    [
        ("updater:P-7", IN_PLACE, RECOMMENDED, no(Reason.NO_LESS_FOR_THE_POD)),
        ("updater:P-7", IN_PLACE, Recommendation((recommended("c", "249m/9Gi"),)), yes(Reason.OUTSIDE_BOUNDS)),
        ("updater:P-7", IPOR, RECOMMENDED, yes(Reason.OUTSIDE_BOUNDS)),
        ("updater:P-7", RECREATE, RECOMMENDED, yes(Reason.OUTSIDE_BOUNDS)),
    ],
)
def test_infeasible_memory_counts_in_mode_in_place_alone(
    row: str, mode: UpdateMode, recommendation: Recommendation, acceptance: Acceptance
) -> None:
    assert judge(small(), recommendation, OUTSIDE, circumstances(vpa_of(mode), memory=REMEMBERED)) == acceptance


@pytest.mark.parametrize(
    ("row", "recommendation", "threshold", "acceptance"),
    [
        ("updater:P-7", None, 0.1, no(Reason.NO_RECOMMENDATION)),
        ("updater:P-7", Recommendation(), 0.1, no(Reason.NO_RECOMMENDATION)),
        ("updater:K-31c", None, 0.0, no(Reason.NO_RECOMMENDATION)),
        ("updater:K-31c", None, -1.0, no(Reason.NO_RECOMMENDATION)),
        ("updater:P-7", Recommendation(), 0.0, yes(Reason.WORTHWHILE_CHANGE)),
    ],
)
def test_without_recommendation(
    row: str, recommendation: Recommendation | None, threshold: float, acceptance: Acceptance
) -> None:
    settings = replace(GATES_ON, pod_update_threshold=threshold)
    assert judge(OLD, recommendation, UNCHANGED, circumstances(vpa_of(RECREATE), settings)) == acceptance


def needs(change: ChangeRequirement, *resources: str) -> EvictionRequirement:
    """Return a requirement."""
    return EvictionRequirement(resources, change)


HIGHER, LOWER = ChangeRequirement.TARGET_HIGHER, ChangeRequirement.TARGET_LOWER
ONE = pod(container("c", "100m/1Gi"))
TWO = pod(container("a", "100m/1Gi"), container("b", "100m/1Gi"))


@pytest.mark.parametrize(
    ("row", "subject", "targets", "requirements", "met"),
    [
        ("updater:P-9", ONE, {"c": "200m/1Gi"}, (), True),
        ("updater:P-9", ONE, {}, (), False),
        ("updater:P-9", ONE, {"d": "200m/1Gi"}, (), False),
        ("updater:P-9", ONE, {"c": "200m/1Gi"}, (needs(HIGHER, "cpu"),), True),
        ("updater:P-9", ONE, {"c": "100m/1Gi"}, (needs(HIGHER, "cpu"),), False),
        ("updater:P-9", ONE, {"c": "100m/1Gi"}, (needs(LOWER, "cpu"),), False),
        ("updater:P-9", ONE, {"c": "99m/1Gi"}, (needs(LOWER, "cpu"),), True),
        # Compared in thousandths rounded up, so half a thousandth less is not less.
        ("updater:P-9", ONE, {"c": "99500u/1Gi"}, (needs(LOWER, "cpu"),), False),
        ("updater:P-9", ONE, {"c": "99m/2Gi"}, (needs(HIGHER, "cpu", "memory"),), True),
        ("updater:P-9", ONE, {"c": "99m/2Gi"}, (needs(HIGHER, "cpu"), needs(HIGHER, "memory")), False),
        ("updater:P-9", ONE, {"c": "200m/2Gi"}, (needs(HIGHER, "cpu"), needs(HIGHER, "memory")), True),
        ("updater:P-9", ONE, {"c": "200m/2Gi"}, (needs(HIGHER),), False),
        ("updater:P-9", pod(container("c", "100m/-")), {"c": "50m/1"}, (needs(HIGHER, "cpu"),), True),
        ("updater:P-9", pod(container("c", "-/1Gi")), {"c": "50m/1"}, (needs(HIGHER, "memory"),), True),
        ("updater:P-9", pod(container("c", "0/0")), {"c": "0/0"}, (needs(HIGHER, "memory"),), False),
        ("updater:W-17", ONE, {"c": "300m/512Mi"}, (needs(HIGHER, "memory"),), False),
        ("updater:W-17", ONE, {"c": "300m/-"}, (needs(LOWER, "memory"),), True),
        ("updater:W-17", ONE, {"c": "300m/-"}, (needs(HIGHER, "memory"),), False),
        (
            "updater:W-17",
            TWO,
            {"a": "200m/2Gi", "b": "50m/512Mi"},
            (needs(HIGHER, "cpu"), needs(LOWER, "memory")),
            False,
        ),
        (
            "updater:W-17",
            TWO,
            {"a": "50m/2Gi", "b": "200m/512Mi"},
            (needs(HIGHER, "cpu"), needs(LOWER, "memory")),
            True,
        ),
    ],
)
def test_requirements(
    row: str, subject: Pod, targets: dict[str, str], requirements: tuple[EvictionRequirement, ...], met: bool
) -> None:
    recommendation = Recommendation(tuple(recommended(name, text) for name, text in targets.items()))
    assert meets_requirements(subject, vpa_of(RECREATE, requirements=requirements), recommendation) is met


def test_without_update_policy_there_is_no_requirement() -> None:
    assert meets_requirements(ONE, replace(vpa_of(None), update_policy=None), Recommendation())


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("updater:P-7", small(), T0 + 12 * HOUR),
        ("updater:P-7", replace(small(), start_time=NOW - 12 * HOUR), None),
        ("updater:P-7", replace(small(), start_time=None), None),
        ("updater:P-6", killed(replace(small(), start_time=None), MINUTE, 6 * MINUTE), NOW + 4 * MINUTE),
        ("updater:P-6", killed(replace(small(), start_time=None), MINUTE, 10 * MINUTE), None),
        ("updater:P-6", killed(small(), MINUTE, 6 * MINUTE), NOW + 4 * MINUTE),
    ],
)
def test_when_the_time_alone_may_change_a_judgement(row: str, subject: Pod, expected: datetime | None) -> None:
    assert next_change(subject, circumstances(vpa_of(IPOR))) == expected, row


SKEW = 10 * SECOND


@pytest.mark.parametrize("settings", [GATES_ON, EVENKEEL])
@pytest.mark.parametrize(
    ("row", "ago", "in_upstream", "in_evenkeel"),
    [
        ("case:14 A", timedelta(days=9), False, False),
        ("case:14 B", -30 * SECOND, True, False),
        ("case:14 B", -SKEW - SECOND, True, False),
        ("case:14 B", -SKEW, True, True),
        ("case:14 B", -HOUR, True, False),
        ("case:14 C", 2 * MINUTE, True, True),
        ("case:14 C", TEN - SECOND, True, True),
        ("case:14 C", TEN, False, False),
    ],
)
def test_only_kills_of_a_short_while_ago_count(
    row: str, ago: timedelta, in_upstream: bool, in_evenkeel: bool, settings: Settings
) -> None:
    # Within bounds and too young for anything but a quick kill to count.
    within = vpa_of(IPOR, recommended("c", "102m/204Mi", lower="50m/100Mi", upper="1/1Gi"), minimum=1)
    played = Scene(within, (killed(small(), 3 * MINUTE, ago),), settings=settings).played()
    expected = in_upstream if settings is GATES_ON else in_evenkeel
    assert (played.decisions[0].reason is Reason.QUICK_OOM) is expected, row
    assert played.decisions[0].reason in {Reason.QUICK_OOM, Reason.TOO_YOUNG}, row


def test_a_kill_in_the_future_counts_when_its_time_has_come() -> None:
    within = vpa_of(IPOR, recommended("c", "150m/300Mi", lower="50m/100Mi", upper="1/1Gi"), minimum=1)
    made = Scene(within, (killed(small(), 3 * MINUTE, -HOUR),), settings=EVENKEEL)
    reasons: list[Reason] = []
    memory = made.memory
    for now in (NOW, NOW + HOUR - SKEW - SECOND, NOW + HOUR - SKEW, NOW + HOUR + TEN):
        played = replace(made, memory=memory, now=now).played()
        memory = played.memory
        reasons.append(played.decisions[0].reason)
    assert reasons == [Reason.TOO_YOUNG, Reason.TOO_YOUNG, Reason.QUICK_OOM, Reason.TOO_YOUNG], "case:14"


@given(st.integers(-100_000, 100_000), st.integers(0, 700))
def test_no_other_kill_is_quick_than_upstream_holds_for_quick(ago: int, ran: int) -> None:
    subject = killed(small(), ran * SECOND, ago * SECOND)
    upstream, ours = (is_quick_oom(subject, circumstances(vpa_of(IPOR), each)) for each in (GATES_ON, EVENKEEL))
    assert ours == (upstream and ago >= -10), "case:14"


AS_RECOMMENDED = small(requests="250m/300Mi")


@pytest.mark.parametrize(
    ("row", "subject", "settings", "acceptance"),
    [
        # A LimitRange for pods may bring the upper bound below the target; a new pod would be no different.
        ("case:46", AS_RECOMMENDED, EVENKEEL, no(Reason.CHANGE_TOO_SMALL)),
        ("case:46", small(requests="251m/300Mi"), EVENKEEL, yes(Reason.OUTSIDE_BOUNDS)),
        ("case:46", reporting(AS_RECOMMENDED, "250m/299Mi"), EVENKEEL, yes(Reason.OUTSIDE_BOUNDS)),
        ("case:46", reporting(small(), "250m/300Mi"), EVENKEEL, yes(Reason.OUTSIDE_BOUNDS)),
        ("updater:P-7", AS_RECOMMENDED, GATES_ON, yes(Reason.OUTSIDE_BOUNDS)),
    ],
)
def test_a_pod_that_has_what_is_recommended_is_left_alone(
    row: str, subject: Pod, settings: Settings, acceptance: Acceptance
) -> None:
    assert judge(subject, RECOMMENDED, OUTSIDE, circumstances(vpa_of(RECREATE), settings)) == acceptance, row
