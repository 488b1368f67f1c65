"""Whole rounds in mode InPlace over pods whose node has refused a resize for good (beyond:B-28, updater K-4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from autoscaling.node import Node
from autoscaling.pod import ConditionStatus, Pod, PodCondition
from autoscaling.vpa import Vpa
from tests.builders import recommended
from tests.updater.rooms import around, filling, given, node, on
from tests.updater.situations import (
    EVENKEEL,
    IN_PLACE,
    INFEASIBLE,
    MINUTE,
    NOW,
    SECOND,
    UPSTREAM,
    Scene,
    about,
    annotated,
    refusing,
    resizing,
    restarting,
    sent,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.conditions import verdicts
from updater.decision import Action, Decision, Outcome
from updater.patches import writes_anything
from updater.settings import Settings
from updater.storm_levels import Bucket, Span, StormFlags, StormLevels

READY = PodCondition("Ready", ConditionStatus.TRUE)
ROOMY = node(room="40/80Gi")
WITHOUT = replace(EVENKEEL, behaviour=replace(EVENKEEL.behaviour, free_room=False))
"""Nothing is known of nodes, so whether there is room does not matter."""


def wanting(target: str) -> Vpa:
    """Return a VPA in mode InPlace that recommends this, and takes nothing less."""
    return vpa_of(IN_PLACE, recommended("c", target), minimum=1)


def fine(requests: str = "1/1Gi", generation: int = 3) -> Pod:
    """Return a pod that has what it asks for."""
    subject = on(replace(given(small("p0", requests), requests), generation=generation, observed_generation=generation))
    return resizing(subject, READY)


def stuck(asked: str = "4/1Gi", generation: int = 2, since: datetime = NOW) -> Pod:
    """Return a pod of which the node has refused what it asks for."""
    subject = on(replace(given(small("p0", asked), "1/1Gi"), generation=generation, observed_generation=generation))
    return replace(resizing(subject, READY, about(INFEASIBLE, generation, since)), resized_at=since - SECOND)


def amounts_set(decision: Decision) -> list[object]:
    """Return what a resize sets, in order."""
    assert decision.patches is not None
    return [operation["value"] for operation in sent(decision.patches.resize) if operation["op"] == "add"]


@dataclass
class Days:
    """Rounds of one VPA one after the other, with what each hands to the next.

    Attributes:
        memory: Of the last round.
        last: The last decision.
    """

    settings: Settings = EVENKEEL
    home: Node = ROOMY
    memory: Memory = field(default_factory=Memory)
    last: Decision | None = None

    def round(self, subject: Pod, target: str = "4/1Gi", after: timedelta = timedelta(0)) -> str:
        """Play one round and return what was decided about the pod."""
        scene = Scene(wanting(target), (subject,), settings=self.settings, memory=self.memory, now=NOW + after)
        played = replace(scene, surroundings=around(self.home)).played()
        self.memory, self.last = played.memory, played.decisions[-1]
        return f"{self.last.action.value} {self.last.reason.value}"


@pytest.mark.parametrize("settings", [EVENKEEL, WITHOUT])
def test_the_claim_goes_back_and_the_same_waits_longer_each_time(settings: Settings) -> None:
    """Spec: beyond:B-28."""
    days, now, generation = Days(settings), timedelta(0), 2
    for minutes in (5, 10, 20, 40, 60, 60):
        assert days.round(stuck(generation=generation, since=NOW + now), after=now) == "resize claim_released"
        assert days.last is not None
        assert amounts_set(days.last) == ["1"]
        due = NOW + now + minutes * MINUTE
        assert days.last.detail == f"cpu of container c refused, tried again from {due.isoformat()} on"
        generation += 1
        early = now + minutes * MINUTE - SECOND
        assert days.round(fine(generation=generation), after=early) == "skip resize_infeasible"
        now += minutes * MINUTE
        assert days.round(fine(generation=generation), after=now) == "resize outside_bounds"
        generation += 1


def test_a_lower_need_and_another_node_are_tried_at_once() -> None:
    """Spec: updater:K-4."""
    days = Days()
    days.round(stuck())
    assert days.round(fine(), after=MINUTE) == "skip resize_infeasible"
    assert days.round(fine(), "3999m/1Gi", after=MINUTE) == "resize outside_bounds"
    days.home = replace(ROOMY, labels={"pool": "new"})
    assert days.round(fine(), after=MINUTE) == "resize outside_bounds"


def test_w16_does_not_end_for_ever() -> None:
    """What upstream remembers for ever is cleared by success (updater:W-16, updater:K-4)."""
    days = Days()
    assert days.round(stuck("2/4Gi"), "2/4Gi") == "resize claim_released"
    assert days.round(fine(), "2/4Gi", MINUTE) == "skip resize_infeasible"
    assert days.round(fine(), "2/3Gi", 2 * MINUTE) == "resize outside_bounds"
    # The node has done it, and what is remembered goes.
    days.round(fine("2/3Gi", 4), "2/3Gi", 3 * MINUTE)
    assert days.memory.infeasible_resizes.by_uid == {}
    assert days.round(fine("2/3Gi", 4), "2100m/3Gi", 4 * MINUTE) == "resize outside_bounds"


def test_a_lower_need_replaces_what_was_refused_without_a_detour() -> None:
    """Spec: beyond:B-28."""
    days = Days()
    assert days.round(stuck(), "3/1Gi") == "resize outside_bounds"
    assert days.last is not None
    assert amounts_set(days.last)[0] == "3"


@pytest.mark.parametrize(
    ("row", "subject", "settings", "expected"),
    [
        # Not wanted any more, but the spec would stay wrong for ever.
        ("resize:6.6", stuck(), EVENKEEL, "resize claim_released"),
        ("updater:D-33", stuck(), replace(EVENKEEL, behaviour=UPSTREAM), "skip too_young"),
        ("resize:6.6", resizing(stuck(), READY, about(INFEASIBLE, 1)), EVENKEEL, "wait resize_pending"),
        ("resize:6.6", replace(stuck(), statuses=()), EVENKEEL, "skip resize_infeasible"),
        ("resize:6.6", fine(), EVENKEEL, "skip too_young"),
    ],
)
def test_what_is_not_called_for_any_more_goes_back_too(
    row: str, subject: Pod, settings: Settings, expected: str
) -> None:
    within = vpa_of(IN_PLACE, recommended("c", "1100m/1Gi", lower="1/1Gi", upper="8/8Gi"), minimum=1)
    scene = Scene(within, (subject,), settings=settings, surroundings=around(ROOMY))
    assert scene.played().said == [f"p0 {expected}"], row


def test_a_restart_loses_nothing_that_the_pod_tells() -> None:
    """Spec: beyond:B-28."""
    known, anew = Days(), Days()
    known.round(stuck())
    for days in (known, anew):
        assert days.round(stuck(), after=MINUTE) == "resize claim_released"
        assert days.round(fine(), after=5 * MINUTE - SECOND) == "skip resize_infeasible"
        assert days.round(fine(), after=5 * MINUTE) == "resize outside_bounds"
    assert known.memory.infeasible_resizes == anew.memory.infeasible_resizes


@pytest.mark.parametrize(
    ("row", "settings", "expected"),
    [
        # Upstream remembers what it recommends, and sends the same once more.
        (
            "updater:D-43",
            replace(EVENKEEL, behaviour=UPSTREAM),
            ["resize outside_bounds", "skip infeasible_remembered"],
        ),
        ("beyond:B-28", EVENKEEL, ["resize claim_released", "resize claim_released"]),
    ],
)
def test_upstream_asks_once_more_and_gives_nothing_back(row: str, settings: Settings, expected: list[str]) -> None:
    days = Days(settings)
    assert [days.round(stuck()), days.round(stuck(), after=MINUTE)] == expected, row


@pytest.mark.parametrize(("row", "marked", "writes"), [("updater:X-5", "true", False), ("updater:X-5", "false", True)])
def test_giving_back_is_one_request_where_the_pod_is_marked_already(row: str, marked: str, *, writes: bool) -> None:
    days = Days()
    assert days.round(annotated(stuck(), vpaInPlaceUpdated=marked)) == "resize claim_released"
    assert days.last is not None
    assert days.last.patches is not None
    assert writes_anything(days.last.patches.annotations) is writes, row


def test_a_node_that_is_full_by_our_reckoning_gets_its_claim_back_too() -> None:
    """Spec: beyond:B-24, beyond:B-28."""
    days = Days(home=node(room="1/8Gi"))
    assert days.round(stuck()) == "resize claim_released"
    assert days.last is not None
    assert days.last.missing == {"cpu": 3 * 10**9}, "beyond:B-41"
    assert days.round(fine(), after=MINUTE) == "skip no_room"


def test_what_fits_is_sent_instead() -> None:
    """Spec: beyond:B-24, beyond:B-28."""
    days = Days(home=node(room="3/8Gi"))
    subject = stuck()
    vpa = vpa_of(IN_PLACE, recommended("c", "4/1Gi", lower="2/1Gi"), minimum=1)
    scene = Scene(vpa, (subject, filling("o", "500m/1Gi")), replicas=1, settings=EVENKEEL)
    played = replace(scene, surroundings=around(days.home)).played()
    assert played.said == ["p0 resize outside_bounds"]
    assert amounts_set(played.decisions[0])[0] == "2500m"


def test_a_pod_that_gets_less_as_soon_as_there_are_tokens_keeps_its_claim() -> None:
    """Spec: beyond:B-24, beyond:B-28."""
    used_up = StormLevels().taking({Bucket(Span.CLUSTER): 20}, StormFlags().limits(1), NOW)
    days = Days(memory=Memory(storms=used_up))
    assert days.round(stuck(), "3/1Gi") == "skip storm_budget"


def test_a_pod_of_which_is_not_told_what_it_was_given_keeps_its_claim() -> None:
    """Spec: beyond:B-28."""
    silent = replace(stuck(), statuses=())
    days = Days()
    assert days.round(silent, "5/1Gi") == "skip resize_infeasible"
    assert days.round(silent, "5/1Gi", 5 * MINUTE) == "resize outside_bounds"


def test_a_claim_that_could_not_be_given_back_is_tried_again_after_its_pause() -> None:
    """Spec: beyond:B-21, beyond:B-28."""
    scene = Scene(wanting("4/1Gi"), (stuck(),), settings=EVENKEEL, surroundings=around(ROOMY))
    played = scene.played(refusing(Action.RESIZE, outcome=Outcome.FORBIDDEN))
    assert played.said == ["p0 resize claim_released"]
    again = replace(scene, memory=played.memory, now=NOW + MINUTE)
    assert again.played().said == ["p0 skip forbidden_by_policy"]
    assert replace(again, now=NOW + 2 * MINUTE).played().said == ["p0 resize claim_released"]


@pytest.mark.parametrize(
    ("row", "minutes", "expected"),
    [
        ("updater:D-48", 4, "p0 skip resize_infeasible"),
        ("updater:D-48", 5, "p0 resize outside_bounds"),
    ],
)
def test_what_the_api_server_calls_too_large_for_the_node_waits_as_well(row: str, minutes: int, expected: str) -> None:
    scene = Scene(wanting("4/1Gi"), (fine(),), settings=EVENKEEL, surroundings=around(ROOMY))
    played = scene.played(refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY))
    assert played.said == ["p0 resize outside_bounds"]
    later = replace(scene, memory=played.memory, now=NOW + minutes * MINUTE)
    assert later.played().said == [expected], row


def test_a_release_needs_no_budget_of_the_group_and_takes_none() -> None:
    """Spec: beyond:B-28, updater:K-2."""
    others = tuple(resizing(on(given(small(f"p{n}", "1/1Gi"), "1/1Gi")), READY) for n in (1, 2))
    pods = tuple(restarting(each) for each in (stuck(), *others))
    scene = Scene(wanting("1/2Gi"), pods, settings=EVENKEEL, surroundings=around(ROOMY))
    refused = replace(scene, vpa=wanting("4/2Gi"))
    assert [text for text in refused.played().said if "claim_released" in text] == ["p0 resize claim_released"]
    # One of three may be disrupted, and a claim that goes back is none.
    assert refused.played().count(Action.RESIZE) == 2


def test_the_budget_counts_where_disruptions_are_not_told_by_what_changes() -> None:
    """Spec: updater:K-2."""
    settings = replace(EVENKEEL, behaviour=replace(EVENKEEL.behaviour, pdbs_are_read_too=False))
    scene = Scene(wanting("3/1Gi"), (stuck(),), replicas=3, settings=settings, surroundings=around(ROOMY))
    assert scene.played().said == ["p0 skip too_few_running"]
    assert replace(scene, replicas=1).played().said == ["p0 resize outside_bounds"]


def test_the_owner_is_told() -> None:
    """Spec: beyond:B-28, beyond:B-24."""
    days = Days()
    for after, reason in ((timedelta(0), "ClaimReleased"), (MINUTE, "ResizeInfeasible")):
        days.round(stuck() if not after else fine(), after=after)
        assert days.last is not None
        vpa = wanting("4/1Gi").ref
        (condition,) = verdicts([days.last], [vpa], [vpa]).holding[vpa]
        assert (condition.type, condition.reason) == ("ResizeBlocked", reason)
        assert "cpu of container c refused" in condition.message
