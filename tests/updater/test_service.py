"""Which pods serve, and what that leaves of a group's budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.pod import Pod, PodCondition
from autoscaling.vpa import UpdateMode
from tests.updater.disruptions import ready, unready, with_only
from tests.updater.situations import (
    DEFERRED,
    GATES_ON,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    NOW,
    RECREATE,
    UPSTREAM,
    Scene,
    group,
    pending,
    reporting,
    resizing,
    restarting,
    small,
    vpa_of,
)
from updater.decision import Action, Outcome
from updater.service import is_in_service, is_ready
from updater.settings import Settings

HELPS = with_only("eviction_only_when_it_helps")
EVENKEEL = Behaviour.of(Profile.EVENKEEL)


def midway(subject: Pod, *conditions: PodCondition) -> Pod:
    """Return a Ready pod whose spec asks for more memory than it has, with these conditions."""
    return ready(resizing(reporting(subject, "100m/100Mi"), *conditions))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("updater:K-20", ready(small()), True),
        ("updater:K-20", unready(small()), False),
        ("updater:K-20", small(), False),
    ],
)
def test_ready_is_what_the_condition_says(row: str, subject: Pod, *, expected: bool) -> None:
    assert is_ready(subject) is expected, row
    assert is_in_service(subject, EVENKEEL) is expected, row


@pytest.mark.parametrize(
    ("row", "subject", "behaviour", "expected"),
    [
        ("updater:K-20", midway(restarting(small()), IN_PROGRESS), EVENKEEL, False),
        ("updater:K-20", midway(restarting(small()), DEFERRED), EVENKEEL, False),
        ("updater:K-20", midway(restarting(small()), INFEASIBLE), EVENKEEL, True),
        ("updater:K-20", midway(small(), IN_PROGRESS), EVENKEEL, True),
        ("updater:K-20", midway(restarting(small())), UPSTREAM, True),
        ("updater:K-20", ready(resizing(reporting(restarting(small()), "50m/200Mi"), IN_PROGRESS)), EVENKEEL, True),
    ],
)
def test_a_restart_under_way_is_out_of_service(row: str, subject: Pod, behaviour: Behaviour, *, expected: bool) -> None:
    assert is_in_service(subject, behaviour) is expected, row


@pytest.mark.parametrize(
    ("row", "configured", "disrupted", "out", "serving", "other"),
    [
        ("updater:K-20", 4, 0, 0, True, True),
        ("updater:K-20", 4, 0, 1, True, True),
        ("updater:K-20", 4, 0, 2, False, True),
        ("updater:K-20", 4, 1, 1, False, True),
        ("updater:K-20", 4, 2, 1, False, False),
        ("updater:K-20", 1, 0, 1, False, True),
        ("updater:K-20", 1, 1, 1, False, False),
    ],
)
def test_what_does_not_serve_counts_as_disrupted(
    row: str, configured: int, disrupted: int, out: int, *, serving: bool, other: bool
) -> None:
    broken = tuple(small(f"b{n}") for n in range(max(out, 1)))
    out_of_service = frozenset(p.uid for p in broken[:out])
    subject = replace(group(configured, configured, disrupted=disrupted), out_of_service=out_of_service)
    assert subject.bears(small("s")) is serving, row
    assert subject.is_disruptable is serving, row
    assert not out or subject.bears(broken[0]) is other, row


def old(subject: Pod) -> Pod:
    """Return a pod that started an hour ago."""
    return replace(subject, start_time=NOW - HOUR)


MIXED = (ready(small("p0")), ready(small("p1")), unready(small("p2")), unready(small("p3")))


@pytest.mark.parametrize(
    ("row", "pods", "settings", "evicted"),
    [
        ("updater:K-20", MIXED, HELPS, {"p2", "p3"}),
        ("updater:R-5", MIXED, GATES_ON, {"p0", "p1"}),
        ("updater:K-20", (unready(small("p0")),), HELPS, {"p0"}),
        ("updater:K-34", tuple(old(pending(small(f"p{n}"))) for n in range(4)), HELPS, {"p0", "p1"}),
        ("updater:K-34", (old(pending(small("p0"))),), HELPS, {"p0"}),
        ("updater:R-8", tuple(old(pending(small(f"p{n}"))) for n in range(4)), GATES_ON, {"p0", "p1", "p2", "p3"}),
        ("updater:K-34", (old(pending(small("p0"))), *MIXED[:2], ready(small("p3"))), HELPS, {"p0"}),
    ],
)
def test_whole_rounds(row: str, pods: tuple[Pod, ...], settings: Settings, evicted: set[str]) -> None:
    played = Scene(vpa_of(RECREATE, minimum=1), pods, settings=settings).played()
    assert {d.ref.name for d in played.decisions if d.action is Action.EVICT} == evicted, row


KINDS = st.sampled_from(["ready", "unready", "restarting", "pending"])
MADE = {
    "ready": lambda name: ready(restarting(small(name))),
    "unready": lambda name: unready(restarting(small(name))),
    "restarting": lambda name: midway(restarting(small(name)), IN_PROGRESS),
    "pending": lambda name: old(pending(small(name))),
}


@given(
    st.lists(KINDS, min_size=1, max_size=8),
    st.sampled_from([RECREATE, IPOR]),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.sampled_from([("eviction_only_when_it_helps",), ("eviction_only_when_it_helps", "pdbs_are_read_too")]),
)
def test_pods_that_serve_stay_within_the_budget(
    kinds: list[str], mode: UpdateMode, tolerance: float, switches: tuple[str, ...]
) -> None:
    made = {f"p{n}": kind for n, kind in enumerate(kinds)}
    settings = replace(with_only(*switches), eviction_tolerance=tolerance)
    pods = tuple(MADE[kind](name) for name, kind in made.items())
    played = Scene(vpa_of(mode, minimum=1), pods, settings=settings).played()
    lost = [
        made[d.ref.name]
        for d, o in zip(played.decisions, played.outcomes, strict=True)
        if d.action in {Action.RESIZE, Action.EVICT} and o is Outcome.DONE
    ]
    allowed = int(len(kinds) * tolerance)
    serving = kinds.count("ready")
    is_full = serving == len(kinds) and allowed == 0
    assert lost.count("ready") <= max(serving - (len(kinds) - allowed), int(is_full)), "updater:K-20"
    assert lost.count("pending") <= max(allowed, 1), "updater:K-34"
    assert len(lost) <= max(allowed, 1) + len([k for k in lost if k == "pending"]), "updater:R-6"
