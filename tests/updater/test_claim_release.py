"""Giving back what was asked for in vain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.limitrange import LimitRange, LimitType, merge
from autoscaling.pod import ConditionStatus, Pod, PodCondition
from autoscaling.target_resources import ContainerTarget
from tests.builders import T0, amounts, container, limit_range, pod
from tests.updater.rooms import ROOMY, given
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    EVENKEEL,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    UPSTREAM,
    about,
    circumstances,
    progressing,
    resizing,
    vpa_of,
    waiting,
)
from updater.circumstances import Circumstances, Memory
from updater.claim_release import releasable, released, unless_paused
from updater.decision import Reason
from updater.ledger import Ledger
from updater.room_watch import RoomWatch
from updater.settings import Settings
from updater.shaping import Hindrance, Proposal

ASKING = pod(container("c", "2/2Gi", "4/4Gi"))
STUCK = given(ASKING, "1/1Gi", "2/2Gi")
BELIEVED = EVENKEEL.behaviour
ADDED = given(pod(container("c", "2/2Gi", "4/4Gi")), "1/1Gi", "2/-")


def back(requests: str, limits: str = "-") -> tuple[ContainerTarget, ...]:
    return (ContainerTarget(amounts(requests), amounts(limits)),)


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("beyond:B-24", resizing(STUCK, DEFERRED), back("1/1Gi", "2/2Gi")),
        ("beyond:B-24", resizing(STUCK, INFEASIBLE), back("1/1Gi", "2/2Gi")),
        ("beyond:B-24", resizing(STUCK, IN_PROGRESS), None),
        ("beyond:B-24", resizing(STUCK, ERROR), None),
        ("beyond:B-24", STUCK, None),
        # Nothing to give back, or nothing told of what was given.
        ("beyond:B-24", resizing(given(ASKING, "2/2Gi", "4/4Gi"), DEFERRED), None),
        ("beyond:B-24", resizing(ASKING, DEFERRED), None),
        # What the spec asks for less of holds no room, and the node may still take it.
        ("beyond:B-24", resizing(given(pod(container("c", "1/1Gi", "2/2Gi")), "2/2Gi", "4/4Gi"), DEFERRED), None),
        (
            "beyond:B-24",
            resizing(given(pod(container("c", "2/1Gi", "4/2Gi")), "1/2Gi", "2/4Gi"), DEFERRED),
            back("1/-", "2/-"),
        ),
        # A limit that the spec has and the node did not give stays.
        ("resize:1.4", resizing(ADDED, DEFERRED), back("1/1Gi", "2/-")),
        # The class of service is kept, whatever it takes.
        ("resize:1.4", resizing(given(pod(container("c", "2/2Gi", "2/2Gi")), "1/1Gi", "2/2Gi"), DEFERRED), None),
        (
            "resize:1.4",
            resizing(given(pod(container("c", "2/2Gi", "2/2Gi")), "1/1Gi", "1/1Gi"), DEFERRED),
            back("1/1Gi", "1/1Gi"),
        ),
    ],
)
def test_what_goes_back(row: str, subject: Pod, expected: tuple[ContainerTarget, ...] | None) -> None:
    assert released(subject, BELIEVED) == expected, row


STALE = replace(STUCK, generation=2, observed_generation=2)
FALSE = ConditionStatus.FALSE


@pytest.mark.parametrize(
    ("row", "conditions", "upstream", "evenkeel"),
    [
        # What a condition says of an earlier spec is not believed.
        ("updater:K-19", (about(DEFERRED, 1),), True, False),
        ("updater:K-19", (about(DEFERRED, 2),), True, True),
        ("updater:K-19", (about(INFEASIBLE, 1),), True, False),
        ("updater:K-19", (about(INFEASIBLE, 2),), True, True),
        ("updater:K-19", (INFEASIBLE,), True, True),
        # Either condition may stand first.
        ("updater:K-19", (progressing(status=FALSE), about(DEFERRED, 2)), False, True),
        ("updater:K-19", (about(IN_PROGRESS, 1), about(DEFERRED, 2)), True, True),
        ("updater:K-19", (waiting("Deferred", FALSE),), False, False),
        # What is not known is waited for.
        ("updater:K-19", (about(waiting("Odd"), 2),), False, False),
    ],
)
def test_only_what_is_said_of_the_present_spec_is_given_back(
    row: str, conditions: tuple[PodCondition, ...], *, upstream: bool, evenkeel: bool
) -> None:
    subject = resizing(STALE, *conditions)
    assert (released(subject, UPSTREAM) is not None) is upstream, row
    assert (released(subject, BELIEVED) is not None) is evenkeel, row


def test_requests_go_back_to_what_was_accepted_and_not_to_what_the_runtime_rounds_to() -> None:
    subject = resizing(given(ASKING, "1001m/1Gi", "2/2Gi"), DEFERRED)
    (status,) = subject.statuses
    subject = replace(subject, statuses=(replace(status, allocated=amounts("1/1Gi")),))
    assert released(subject, BELIEVED) == back("1/1Gi", "2/2Gi"), "beyond:B-24"


def test_other_containers_stay_as_they_are() -> None:
    subject = resizing(given(pod(container("c", "2/2Gi"), container("bare")), "1/1Gi"), DEFERRED)
    assert released(subject, BELIEVED) == (*back("1/1Gi"), None)


def paused(behaviour: object = None) -> Circumstances:
    memory = Memory(rooms=RoomWatch().seeing([], [ASKING.uid], T0))
    settings = ROOMY if behaviour is None else replace(ROOMY, behaviour=UPSTREAM)
    return circumstances(vpa_of(IPOR), settings, memory, now=T0)


@pytest.mark.parametrize(
    ("row", "wanted", "minutes", "holds"),
    [
        ("beyond:B-24", "3/2Gi", 4, True),
        ("beyond:B-24", "3/2Gi", 5, False),
        ("beyond:B-24", "1/1Gi", 4, False),
    ],
)
def test_what_grows_waits_for_its_time(row: str, wanted: str, minutes: int, *, holds: bool) -> None:
    around = replace(paused(), now=T0 + minutes * MINUTE)
    found = unless_paused(Proposal(ASKING, back(wanted), None), around, Ledger())
    assert isinstance(found, Hindrance) is holds, row
    if isinstance(found, Hindrance):
        assert found.reason is Reason.RESIZE_BLOCKED, row


def test_without_the_rule_nothing_waits() -> None:
    proposal = Proposal(ASKING, back("3/2Gi"), None)
    assert unless_paused(proposal, paused(UPSTREAM), Ledger()) is proposal


@pytest.mark.parametrize(
    ("row", "least", "settings", "goes_back"),
    [
        ("beyond:B-12", "1/1Gi", EVENKEEL, True),
        # The LimitRange is younger than the pod, and the API server would refuse what the pod was before.
        ("beyond:B-12", "1001m/1Gi", EVENKEEL, False),
        ("beyond:B-12", "1001m/1Gi", ROOMY, True),
    ],
)
def test_what_a_limit_range_forbids_does_not_go_back(
    row: str, least: str, settings: Settings, *, goes_back: bool
) -> None:
    bounds = merge([LimitRange("default", "l", (limit_range(LimitType.CONTAINER, minimum=least),))])
    around = replace(circumstances(vpa_of(IPOR), settings), limits=bounds)
    assert (releasable(resizing(STUCK, DEFERRED), around, Ledger()) is not None) is goes_back, row
