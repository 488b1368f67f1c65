"""Resizes that the API server refuses as more than the pod's node has, in mode InPlaceOrRecreate.

Kubernetes refuses them from 1.36 on; before, the node calls them infeasible (upstream-1.8.1 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from autoscaling.node import Node
from autoscaling.pod import ConditionStatus, Pod, PodCondition
from tests.builders import recommended
from tests.updater.rooms import around, filling, given, node, on
from tests.updater.situations import (
    EVENKEEL,
    IPOR,
    MINUTE,
    NOW,
    SECOND,
    UPSTREAM,
    Scene,
    refusing,
    resizing,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Outcome
from updater.settings import Settings

READY = PodCondition("Ready", ConditionStatus.TRUE)
# What the updater has seen last: the API server already knows that the pod's node has become smaller.
ROOMY = node(room="40/80Gi")
CROWDED = (node("node2", "4/8Gi"), filling("other", "2/1Gi", node_name="node2"))
WITHOUT = replace(EVENKEEL, behaviour=replace(EVENKEEL.behaviour, free_room=False))
ASKED = "p0 resize outside_bounds"
NO_CAPACITY = refusing(Action.RESIZE, outcome=Outcome.NO_NODE_CAPACITY)


def subject(requests: str = "1/1Gi") -> Pod:
    """Return a pod that has what it asks for, on the node that is thought to be roomy."""
    return resizing(on(given(small("p0", requests), requests)), READY)


@dataclass
class Rounds:
    """Rounds of one VPA one after the other, in which the API server takes no resize.

    Attributes:
        memory: Of the last round.
    """

    settings: Settings = EVENKEEL
    nodes: tuple[Node, ...] = (ROOMY,)
    others: tuple[Pod, ...] = ()
    memory: Memory = field(default_factory=Memory)

    def round(self, after: timedelta = timedelta(0), target: str = "4/1Gi") -> list[str]:
        """Play one round and return what was decided about the pod."""
        scene = Scene(vpa_of(IPOR, recommended("c", target), minimum=1), (subject(), *self.others), replicas=1)
        scene = replace(scene, settings=self.settings, surroundings=around(*self.nodes))
        scene = replace(scene, memory=self.memory, now=NOW + after)
        refusal = refusing(Action.RESIZE, Action.EVICT, outcome=Outcome.NO_NODE_CAPACITY)
        played = scene.played(refusal if self.settings is WITHOUT else NO_CAPACITY)
        self.memory = played.memory
        return [said for said in played.said if said.startswith("p0 ")]


@pytest.mark.parametrize(
    ("row", "nodes", "others", "expected"),
    [
        ("beyond:B-24", (ROOMY,), (), "p0 skip resize_blocked"),
        ("beyond:B-25", (ROOMY, CROWDED[0]), (CROWDED[1],), "p0 skip resize_blocked"),
        ("beyond:B-25", (ROOMY, node("node2", "4/8Gi")), (), "p0 evict resize_failed"),
    ],
)
def test_a_refused_pod_moves_only_where_another_node_can_take_it(
    row: str, nodes: tuple[Node, ...], others: tuple[Pod, ...], expected: str
) -> None:
    assert Rounds(nodes=nodes, others=others).round() == [ASKED, expected], row


@pytest.mark.parametrize("settings", [EVENKEEL, WITHOUT])
def test_the_same_is_asked_for_again_after_a_pause_that_grows(settings: Settings) -> None:
    """Spec: beyond:B-24, beyond:B-28; where the nodes do not count the eviction is tried all the same."""
    last = "p0 evict resize_failed" if settings is WITHOUT else "p0 skip resize_blocked"
    rounds, now = Rounds(settings), timedelta(0)
    for minutes in (5, 10, 20, 40, 60, 60):
        assert rounds.round(now) == [ASKED, last]
        assert rounds.round(now + minutes * MINUTE - SECOND) == [last]
        now += minutes * MINUTE


def test_another_node_and_less_are_tried_at_once() -> None:
    """Spec: beyond:B-28, updater:K-4."""
    rounds = Rounds()
    assert rounds.round() == [ASKED, "p0 skip resize_blocked"]
    assert rounds.round(MINUTE, "3/1Gi") == [ASKED, "p0 skip resize_blocked"]
    assert replace(rounds, nodes=(node(room="20/80Gi"),)).round(2 * MINUTE, "3/1Gi")[0] == ASKED
    assert rounds.round(2 * MINUTE, "3/1Gi") == ["p0 skip resize_blocked"]


def test_a_resize_that_went_through_is_forgotten() -> None:
    """Spec: beyond:B-28."""
    rounds = Rounds()
    rounds.round()
    assert rounds.memory.infeasible_resizes.by_uid.keys() == {subject().uid}
    grown = Scene(vpa_of(IPOR, recommended("c", "4/1Gi"), minimum=1), (subject("4/1Gi"),), settings=EVENKEEL)
    played = replace(grown, surroundings=around(ROOMY), memory=rounds.memory, now=NOW + MINUTE).played()
    assert played.memory.infeasible_resizes.by_uid == {}


@pytest.mark.parametrize("minutes", [0, 1, 60])
def test_upstream_evicts_after_every_refusal(minutes: int) -> None:
    """Spec: updater:D-25; nothing is remembered in this mode (upstream-1.8.1 2.4)."""
    rounds = Rounds(replace(EVENKEEL, behaviour=UPSTREAM))
    rounds.round()
    assert rounds.round(minutes * MINUTE) == [ASKED, "p0 evict resize_refused"]
    assert rounds.memory.infeasible_resizes.by_uid == {}
