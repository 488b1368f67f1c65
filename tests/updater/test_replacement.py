"""Evicting only where the replacement would come up, and as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.limitrange import LimitRange, LimitType, merge
from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.vpa import BoostType, CpuBoost, StartupBoost, UpdateMode
from tests.builders import amounts, limit_range, printed, recommended
from tests.updater.disruptions import ready, with_only
from tests.updater.situations import (
    GATES_ON,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SECOND,
    Scene,
    circumstances,
    pending,
    refusing,
    reporting,
    small,
    vpa_of,
)
from updater.conditions import TYPE_OF_REASON
from updater.decision import Action, Reason
from updater.evicting import EvictionProposal
from updater.replacement import STARTING_TIME, replacement_of
from updater.settings import Settings
from updater.surroundings import UNKNOWN, Surroundings

HELPS = with_only("eviction_only_when_it_helps")
TARGET = recommended("c", "500m/300Mi", lower="400m/250Mi", upper="600m/500Mi")


def quota(hard: str, used: str, *scopes: str, prefix: str = "requests.") -> Quota:
    """Return a quota on requests, or under another prefix."""
    limits, use = ({f"{prefix}{name}": amount for name, amount in amounts(text).items()} for text in (hard, used))
    return Quota("default", "q", limits, use, tuple(ScopeRequirement(scope) for scope in scopes))


def bounded(*quotas: Quota) -> Surroundings:
    """Return surroundings in which only these quotas are known."""
    return Surroundings(quotas={"default": quotas})


@pytest.mark.parametrize("mode", [RECREATE, IPOR])
@pytest.mark.parametrize(
    ("row", "quotas", "settings", "expected"),
    [
        ("case:4", [quota("1", "600m")], HELPS, Reason.OUTSIDE_BOUNDS),
        ("case:4", [quota("1", "601m")], HELPS, Reason.QUOTA_WOULD_BLOCK),
        ("case:4", [quota("1", "601m")], GATES_ON, Reason.OUTSIDE_BOUNDS),
        ("resize:1.6 to be set", [quota("9", "1", prefix="limits.")], HELPS, Reason.QUOTA_WOULD_BLOCK),
        ("case:4 another scope", [quota("1", "9", "BestEffort")], HELPS, Reason.OUTSIDE_BOUNDS),
        ("case:4 the stricter", [quota("9", "1"), quota("1", "1")], HELPS, Reason.QUOTA_WOULD_BLOCK),
        ("case:4 not known", [], HELPS, Reason.OUTSIDE_BOUNDS),
    ],
)
def test_what_quotas_would_refuse_is_not_made(
    row: str, quotas: Sequence[Quota], settings: Settings, expected: Reason, mode: UpdateMode
) -> None:
    subject = vpa_of(mode, TARGET, minimum=1)
    made = Scene(subject, (small(),), settings=settings, surroundings=bounded(*quotas))
    played = made.played(refusing(Action.RESIZE))
    last = played.decisions[-1]
    is_blocked = expected is Reason.QUOTA_WOULD_BLOCK
    assert last.action is (Action.SKIP if is_blocked else Action.EVICT), row
    assert (last.reason is expected) or not is_blocked, row
    assert TYPE_OF_REASON[Reason.QUOTA_WOULD_BLOCK] == "QuotaWouldBlock", row


def test_a_quota_that_the_pod_is_over_already_lets_no_new_pod_in() -> None:
    # The replacement asks for less than the pod does, and is refused all the same.
    subject = vpa_of(RECREATE, recommended("c", "80m/300Mi", upper="90m/300Mi"), minimum=1)
    for hard, is_held in (("80m", False), ("79m", True)):
        made = Scene(subject, (small(),), settings=HELPS, surroundings=bounded(quota(hard, "100m")))
        assert (made.played().count(Action.EVICT) == 0) is is_held, "case:4"


@pytest.mark.parametrize(
    ("row", "room", "boost", "is_on", "expected"),
    [
        ("case:4, admission:8", 899, 2, True, Reason.QUOTA_WOULD_BLOCK),
        ("case:4, admission:8", 900, 2, True, None),
        ("case:4, admission:8 gate off", 400, 2, False, None),
        ("admission:8 not to be reckoned", 9000, 0, True, Reason.INVALID_OBJECT),
    ],
)
def test_the_boost_of_a_replacement_counts(
    row: str, room: int, boost: int, is_on: bool, expected: Reason | None
) -> None:
    subject = vpa_of(RECREATE, TARGET, minimum=1)
    boosted = replace(subject, startup_boost=StartupBoost(CpuBoost(BoostType.FACTOR, factor=boost)))
    settings = replace(HELPS, is_startup_boost_on=is_on)
    around = bounded(quota(f"{100 + room}m", "100m"))
    played = Scene(boosted, (small(),), settings=settings, surroundings=around).played()
    assert played.count(Action.EVICT) == (expected is None), row
    assert expected is None or [decision.reason for decision in played.decisions] == [expected], row


def test_what_is_missing_is_told() -> None:
    made = Scene(vpa_of(RECREATE, TARGET, minimum=1), (small(),), settings=HELPS)
    (held,) = replace(made, surroundings=bounded(quota("1", "650m"))).played().decisions
    assert held.detail == "ResourceQuota default/q is short of 50m requests.cpu", "case:4"
    (open_,) = replace(made, surroundings=bounded(quota("9", "1", prefix="limits."))).played().decisions
    assert open_.detail == "ResourceQuota default/q asks for limits.cpu of c", "resize:1.6"


@given(st.integers(1, 6), st.integers(0, 3000), st.sampled_from([0.5, 1.0]))
def test_evictions_of_a_round_fit_a_quota_together(count: int, room: int, tolerance: float) -> None:
    pods = tuple(small(f"p{n}") for n in range(count))
    used = 100 * count
    settings = replace(HELPS, eviction_tolerance=tolerance)
    around = bounded(quota(f"{used + room}m", f"{used}m"))
    made = Scene(vpa_of(RECREATE, TARGET, minimum=1), pods, settings=settings, surroundings=around)
    evicted = made.played().count(Action.EVICT)
    assert evicted * 400 <= room, "case:4"
    allowed = max(int(count * tolerance), 1)
    assert evicted == min(room // 400, allowed), "case:4"


@pytest.mark.parametrize(
    ("row", "proven", "settings", "expected"),
    [
        ("beyond:B-25", False, HELPS, Reason.WEBHOOK_NOT_PROVEN),
        ("beyond:B-25", None, HELPS, Reason.OUTSIDE_BOUNDS),
        ("beyond:B-25", True, HELPS, Reason.OUTSIDE_BOUNDS),
        ("updater:M-7", False, GATES_ON, Reason.OUTSIDE_BOUNDS),
    ],
)
def test_the_webhook_is_heeded(row: str, proven: bool | None, settings: Settings, expected: Reason) -> None:
    around = replace(UNKNOWN, is_webhook_proven=proven)
    made = Scene(vpa_of(RECREATE, minimum=1), (small(),), settings=settings, surroundings=around)
    assert [d.reason for d in made.played().decisions] == [expected], row
    # Resizes need no webhook.
    in_place = replace(made, vpa=vpa_of(IPOR, minimum=1)).played()
    assert [d.action for d in in_place.decisions] == [Action.RESIZE], row


@pytest.mark.parametrize(
    ("row", "age", "settings", "expected"),
    [
        ("updater:K-34", STARTING_TIME, HELPS, Reason.OUTSIDE_BOUNDS),
        ("updater:K-34", STARTING_TIME - SECOND, HELPS, Reason.STILL_STARTING),
        ("updater:K-34", None, HELPS, Reason.STILL_STARTING),
        ("updater:R-8", MINUTE, GATES_ON, Reason.OUTSIDE_BOUNDS),
        ("updater:R-8", None, GATES_ON, Reason.OUTSIDE_BOUNDS),
    ],
)
def test_a_pod_gets_time_to_start(row: str, age: timedelta | None, settings: Settings, expected: Reason) -> None:
    subject = replace(pending(small()), start_time=None if age is None else NOW - age)
    made = Scene(vpa_of(RECREATE, minimum=1), (subject,), settings=settings)
    assert [d.reason for d in made.played().decisions] == [expected], row


def test_the_replacement_is_the_pod_with_what_is_recommended() -> None:
    defaults = merge([LimitRange("default", "l", (limit_range(LimitType.CONTAINER, default="1/1Gi"),))])
    around = replace(circumstances(vpa_of(RECREATE, TARGET), HELPS), limits=defaults)
    subject = reporting(ready(small()), "900m/900Mi")
    processed = process(subject, around.vpa, around.limits)
    new = replacement_of(EvictionProposal(subject, processed, Reason.OUTSIDE_BOUNDS), around)
    assert (new.statuses, new.conditions, new.qos_class) == ((), (), ""), "case:4"
    assert printed(new.containers[0].resources.requests or {}) == {"cpu": "500m", "memory": "300Mi"}, "case:4"
    assert set(new.containers[0].resources.limits or {}) == {"cpu", "memory"}, "beyond:B-12"
