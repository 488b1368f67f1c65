"""What nodes have left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import ConditionStatus, Pod, PodCondition, PodPhase
from autoscaling.quantity import NANO
from tests.builders import amounts
from tests.updater.rooms import filling, given, node, on
from tests.updater.situations import (
    DEFERRED,
    EVENKEEL,
    IN_PROGRESS,
    INFEASIBLE,
    UPSTREAM,
    about,
    progressing,
    resizing,
    small,
    waiting,
)
from updater.ledger import Claim, Ledger
from updater.pod_requests import nano
from updater.room import PODS, Rooms, claim_shortfall, in_words, shortfall

NODES = {"node1": node(), "node2": node("node2", "1/1Gi", pods=2)}


def rooms(*pods: Pod) -> Rooms:
    return Rooms.of(NODES, pods)


def test_what_pods_hold_is_taken_off() -> None:
    ended = replace(filling("ended", "1/1Gi"), phase=PodPhase.SUCCEEDED)
    leaving = replace(filling("leaving", "1/1Gi"), is_terminating=True)
    found = rooms(filling("a", "500m/1Gi"), ended, leaving, filling("lost", "1/1Gi", node_name="gone"))
    assert found.free["node1"] == {**nano(amounts("2500m/6Gi")), PODS: 108 * NANO}, "beyond:B-24"
    assert found.free["node2"] == {**nano(amounts("1/1Gi")), PODS: 2 * NANO}
    assert [name for _, name in found.by_free_cpu] == ["node1", "node2"]


def test_what_the_round_takes_is_taken_off_too() -> None:
    ledger = Ledger().after(Claim(rooms={"node1": nano(amounts("1/2Gi"))}))
    left = rooms().left("node1", ledger)
    assert left is not None
    assert (left["cpu"], left["memory"]) == (3 * NANO, nano(amounts("-/6Gi"))["memory"])
    assert rooms().left("gone", ledger) is None


def test_a_node_that_limits_no_pods_takes_any() -> None:
    endless = replace(node(), allocatable=amounts("1/1Gi"))
    assert Rooms.of({"node1": endless}, [filling("a", "-")]).free["node1"][PODS] > 1000 * NANO


@pytest.mark.parametrize(
    ("row", "wanted", "left", "missing"),
    [
        ("beyond:B-24", "1/1Gi", "1/1Gi", "-"),
        ("beyond:B-24", "1001m/1Gi", "1/1Gi", "1m/-"),
        ("beyond:B-24", "2/2Gi", "1/1Gi", "1/1Gi"),
    ],
)
def test_the_shortfall(row: str, wanted: str, left: str, missing: str) -> None:
    found = shortfall(nano(amounts(wanted)), nano(amounts(left)))
    assert found == {name: amount for name, amount in nano(amounts(missing)).items() if amount}, row


def test_what_does_not_grow_lacks_nothing_on_a_full_node() -> None:
    assert shortfall({"cpu": 0, "memory": 5}, {"cpu": -3, "memory": -2}) == {"memory": 7}


def test_words_are_rounded_up() -> None:
    assert in_words({"cpu": 1500 * 10**6 + 1, "memory": 1}) == "1501m cpu and 1Mi memory"
    assert in_words({"memory": 2 * 1024**2 * NANO}) == "2Mi memory"
    assert in_words({PODS: NANO}) == "1 pod"


WAITING = on(given(small("w", "3/2Gi"), "1/2Gi"))


@pytest.mark.parametrize(
    ("row", "subject", "taken", "missing"),
    [
        ("beyond:B-41", resizing(WAITING, DEFERRED), "2/1Gi", "1/-"),
        ("beyond:B-41", resizing(WAITING, DEFERRED), "1/1Gi", "-"),
        # Never more than the pod itself waits for.
        ("beyond:B-41", resizing(WAITING, DEFERRED), "6/1Gi", "2/-"),
        ("beyond:B-41", resizing(WAITING, INFEASIBLE), "2/1Gi", "1/-"),
        ("beyond:B-41", resizing(WAITING, INFEASIBLE), "1/1Gi", "-"),
        ("beyond:B-41", resizing(WAITING, IN_PROGRESS), "2/1Gi", "-"),
        ("beyond:B-41", WAITING, "2/1Gi", "-"),
        ("beyond:B-41", on(resizing(WAITING, DEFERRED), "gone"), "2/1Gi", "-"),
    ],
)
def test_what_a_waiting_pod_lacks(row: str, subject: Pod, taken: str, missing: str) -> None:
    found = claim_shortfall(subject, rooms(subject, filling("other", taken)), UPSTREAM)
    assert found == {name: amount for name, amount in nano(amounts(missing)).items() if amount}, row


FALSE = ConditionStatus.FALSE


@pytest.mark.parametrize(
    ("row", "conditions", "upstream", "evenkeel"),
    [
        ("updater:K-19", (about(DEFERRED, 1),), True, False),
        ("updater:K-19", (about(DEFERRED, 2),), True, True),
        ("updater:K-19", (about(INFEASIBLE, 2),), True, True),
        ("updater:K-19", (progressing(status=FALSE), about(DEFERRED, 2)), False, True),
        ("updater:K-19", (about(waiting("Odd"), 2),), False, False),
    ],
)
def test_only_what_is_said_of_the_present_spec_lacks_room(
    row: str, conditions: tuple[PodCondition, ...], *, upstream: bool, evenkeel: bool
) -> None:
    subject = resizing(replace(WAITING, generation=2, observed_generation=2), *conditions)
    there = rooms(subject, filling("other", "2/1Gi"))
    assert bool(claim_shortfall(subject, there, UPSTREAM)) is upstream, row
    assert bool(claim_shortfall(subject, there, EVENKEEL.behaviour)) is evenkeel, row


def test_what_was_asked_for_after_a_refusal_takes_room_until_the_node_has_looked_at_it() -> None:
    refused, overtaken = (
        resizing(replace(WAITING, generation=generation), about(INFEASIBLE, 1)) for generation in (1, 2)
    )
    assert rooms(refused).free["node1"]["cpu"] == 3 * NANO, "updater:K-19"
    assert rooms(overtaken).free["node1"]["cpu"] == NANO, "updater:K-19"
    # One after the other, as pods that share their containers are reckoned once.
    assert rooms(refused, overtaken).free["node1"]["cpu"] == 0, "updater:K-19"
