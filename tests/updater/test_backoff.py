"""How long a refused call is not repeated."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.updater.situations import (
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    OUT_OF_BOUNDS,
    RECREATE,
    SECOND,
    UPSTREAM,
    Scene,
    all_done,
    several,
    vpa_of,
)
from updater.backoff import Backoff, Refused
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.patches import PatchOperation, PatchVerb

CLASSIFYING = replace(GATES_ON, behaviour=replace(UPSTREAM, errors_are_classified=True))
PATCH = (PatchOperation(PatchVerb.ADD, "/spec/containers/0/resources/requests/cpu", "1"),)
OTHER = (PatchOperation(PatchVerb.ADD, "/spec/containers/0/resources/requests/cpu", "2"),)


def refused(outcome: Outcome, action: Action = Action.RESIZE) -> Refused:
    """Return a call on pod ``u`` that was refused."""
    return Refused("u", action, outcome, PATCH if action is Action.RESIZE else ())


@pytest.mark.parametrize(
    ("row", "outcome", "pause", "reason"),
    [
        ("beyond:B-21", Outcome.UNTIMELY, 30 * SECOND, Reason.TRIED_IN_VAIN),
        ("case:4", Outcome.OVER_QUOTA, 2 * MINUTE, Reason.QUOTA_WOULD_BLOCK),
        ("beyond:B-21", Outcome.OUTSIDE_LIMIT_RANGE, 2 * MINUTE, Reason.LIMIT_RANGE_WOULD_BLOCK),
        ("beyond:B-21", Outcome.FORBIDDEN, 2 * MINUTE, Reason.FORBIDDEN_BY_POLICY),
    ],
)
def test_the_same_waits_and_another_does_not(row: str, outcome: Outcome, pause: timedelta, reason: Reason) -> None:
    backoff = Backoff().after([refused(outcome)], NOW)
    assert backoff.holds_back("u", PATCH, NOW + pause - SECOND) is reason
    assert backoff.holds_back("u", PATCH, NOW + pause) is None
    assert backoff.holds_back("u", OTHER, NOW) is None
    assert backoff.holds_back("v", PATCH, NOW) is None
    assert backoff.holds_back_eviction("u", NOW) is None
    evicting = Backoff().after([refused(outcome, Action.EVICT)], NOW)
    assert evicting.holds_back_eviction("u", NOW + pause - SECOND) is reason
    assert evicting.holds_back_eviction("u", NOW + pause) is None
    assert evicting.holds_back("u", PATCH, NOW) is None


@given(st.integers(1, 60))
def test_pauses_double_up_to_half_an_hour(failures: int) -> None:
    backoff = Backoff()
    for _ in range(failures):
        backoff = backoff.after([refused(Outcome.UNTIMELY)], NOW)
    pause = min(30 * SECOND * 2 ** (min(failures, 12) - 1), 30 * MINUTE)
    assert backoff.pauses["u"].until == NOW + pause


@pytest.mark.parametrize("action", [Action.RESIZE, Action.EVICT])
def test_a_missing_permission_stops_that_path_alone_and_is_tried_again(action: Action) -> None:
    """Spec: beyond:B-21."""
    backoff = Backoff().after([refused(Outcome.NOT_PERMITTED, action)], NOW)

    def held(now: datetime) -> tuple[Reason | None, Reason | None]:
        return backoff.holds_back("v", OTHER, now), backoff.holds_back_eviction("v", now)

    both = (Reason.NOT_PERMITTED, None) if action is Action.RESIZE else (None, Reason.NOT_PERMITTED)
    assert held(NOW + 10 * MINUTE - SECOND) == both
    assert held(NOW + 10 * MINUTE) == (None, None)
    assert backoff.after([], NOW + 10 * MINUTE).stopped == {}


def test_what_fails_without_telling_more_is_not_waited_for_and_gone_pods_are_forgotten() -> None:
    assert Backoff().after([refused(Outcome.FAILED)], NOW) == Backoff()
    backoff = Backoff().after([refused(Outcome.UNTIMELY)], NOW)
    assert backoff.keeping({"u"}) is backoff
    assert backoff.keeping(frozenset()).pauses == {}


def calls(scene: Scene, outcome: Outcome) -> tuple[list[str], Memory]:
    """Return the calls of a round in which resizes come to this, with what is remembered."""

    def answer(decision: Decision) -> Outcome:
        return outcome if decision.action is Action.RESIZE else all_done(decision)

    played = scene.played(answer)
    made = [f"{d.action.value} {d.ref.name}" for d in played.decisions if d.action in {Action.RESIZE, Action.EVICT}]
    return made, played.memory


@pytest.mark.parametrize(
    ("row", "outcome", "expected", "later"),
    [
        ("beyond:B-21", Outcome.FAILED, ["resize p0", "resize p1", "evict p0"], 2),
        # It may have been carried out all the same, and uses up the group's budget for the round.
        ("beyond:B-21", Outcome.UNTIMELY, ["resize p0"], 1),
        ("case:4", Outcome.OVER_QUOTA, ["resize p0", "resize p1"], 0),
        ("beyond:B-21", Outcome.OUTSIDE_LIMIT_RANGE, ["resize p0", "resize p1"], 0),
        ("beyond:B-21", Outcome.FORBIDDEN, ["resize p0", "resize p1"], 0),
        ("updater:R-6", Outcome.GONE, ["resize p0"], 1),
        # One refusal is enough where no other call could fare better.
        ("beyond:B-21", Outcome.NOT_PERMITTED, ["resize p0"], 0),
    ],
)
def test_an_error_that_a_new_pod_would_not_mend_never_evicts(
    row: str, outcome: Outcome, expected: list[str], later: int
) -> None:
    scene = Scene(vpa_of(IPOR, OUT_OF_BOUNDS), several(2), settings=CLASSIFYING)
    made, memory = calls(scene, outcome)
    assert made == expected
    again, _ = calls(replace(scene, memory=memory, now=NOW + SECOND), outcome)
    assert sum(call.startswith("resize") for call in again) == later
    assert calls(replace(scene, settings=GATES_ON), outcome)[0] == ["resize p0", "resize p1", "evict p0"]


@pytest.mark.parametrize(
    ("row", "outcome", "expected", "later"),
    [
        ("beyond:B-21", Outcome.FAILED, ["evict p0", "evict p1"], ["evict p0", "evict p1"]),
        # It may have been carried out and its answer lost, so it counts for the rest of the round.
        ("resize:4", Outcome.UNTIMELY, ["evict p0"], ["evict p1"]),
        ("updater:R-6", Outcome.GONE, ["evict p0"], ["evict p0"]),
        ("beyond:B-21", Outcome.NOT_PERMITTED, ["evict p0"], []),
    ],
)
def test_evictions_that_fail(row: str, outcome: Outcome, expected: list[str], later: list[str]) -> None:
    def round_of(scene: Scene) -> tuple[list[str], Memory]:
        played = scene.played(lambda d: outcome if d.action is Action.EVICT else all_done(d))
        return [f"evict {d.ref.name}" for d in played.decisions if d.action is Action.EVICT], played.memory

    scene = Scene(vpa_of(RECREATE), several(2), settings=CLASSIFYING)
    made, memory = round_of(scene)
    assert made == expected
    assert round_of(replace(scene, memory=memory, now=NOW + SECOND))[0] == later


def test_in_profile_evenkeel_refusals_are_told_apart() -> None:
    scene = Scene(vpa_of(IN_PLACE), several(2), settings=EVENKEEL)
    made, memory = calls(scene, Outcome.OVER_QUOTA)
    assert made == ["resize p0", "resize p1"]
    # The calls name the pods' UIDs as well, which makes them no other calls.
    assert calls(replace(scene, memory=memory, now=NOW + SECOND), Outcome.OVER_QUOTA)[0] == []
