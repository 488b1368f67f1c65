"""Windows, policies and bounds: how fast a recommendation is followed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.controllers.autoscaler_pace import Memory, Noted, Question, settle
from evenkeel.simulator.controllers.autoscaler_spec import Pace, Policy, PolicyType, Rules, Selection, Wish

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NOW = EPOCH + 60 * MINUTE
PODS4, PERCENT100 = Policy(PolicyType.PODS, 4, 15 * SECOND), Policy(PolicyType.PERCENT, 100, 15 * SECOND)
USUAL_UP, USUAL_DOWN = Rules(policies=(PODS4, PERCENT100)), Rules(5 * MINUTE, policies=(PERCENT100,))


def wish(pace: Pace | None = None, least: int = 1, most: int = 100) -> Wish:
    return Wish({}, least, most, (), pace or Pace())


def given_pace(up: Rules = USUAL_UP, down: Rules = USUAL_DOWN) -> Pace:
    return Pace(up, down, is_given=True)


def noted(*pairs: tuple[int, int]) -> tuple[Noted, ...]:
    """What was noted so many seconds ago."""
    return tuple(Noted(NOW - seconds * SECOND, number) for seconds, number in pairs)


Move = tuple[int, int]
"""Present replicas, and what the metrics call for."""

Outcome = tuple[int, str, str]
"""Replicas, why earlier recommendations count, what bounds the number."""

WITHOUT_PACE: list[tuple[str, Move, tuple[Noted, ...], Outcome]] = [
    ("follows upwards at once", (2, 3), (), (3, "", "")),
    ("at most doubles", (10, 30), (), (20, "", "ScaleUpLimit")),
    ("or comes to four", (1, 30), (), (4, "", "ScaleUpLimit")),
    ("down to what was wanted lately", (10, 2), noted((299, 8), (10, 5)), (8, "ScaleDownStabilized", "")),
    ("but not what was wanted earlier", (10, 2), noted((300, 8), (10, 5)), (5, "ScaleDownStabilized", "")),
    ("down at once with nothing against it", (10, 2), noted((600, 8)), (2, "", "")),
    ("back up to what was wanted lately", (3, 3), noted((60, 5)), (5, "ScaleDownStabilized", "")),
    ("not above the most", (60, 99), (), (80, "", "TooManyReplicas")),
    ("nor below the fewest", (10, 1), (), (2, "", "TooFewReplicas")),
    ("exactly the most", (60, 80), (), (80, "", "")),
]


@pytest.mark.parametrize(("row", "move", "earlier", "expected"), WITHOUT_PACE, ids=[row[0] for row in WITHOUT_PACE])
def test_without_a_pace_of_its_own(row: str, move: Move, earlier: tuple[Noted, ...], expected: Outcome) -> None:
    settled = settle(Question(*move, wish(least=2, most=80), NOW), Memory(earlier))
    assert (settled.replicas, settled.held_back, settled.limited) == expected, row


def rules(select: Selection, *policies: Policy, window: timedelta = timedelta(0)) -> Rules:
    return Rules(window, select, policies)


PODS1, PERCENT50 = Policy(PolicyType.PODS, 1, MINUTE), Policy(PolicyType.PERCENT, 50, MINUTE)
USUAL = given_pace()
UP_MIN, UP_HALF = given_pace(rules(Selection.MIN, PODS1, PERCENT50)), given_pace(rules(Selection.MAX, PERCENT50))
NO_UP, NO_DOWN = given_pace(rules(Selection.DISABLED, PODS1)), given_pace(down=rules(Selection.DISABLED, PODS1))
DOWN_ONE, DOWN_ALL = given_pace(down=rules(Selection.MAX, PODS1)), given_pace(down=rules(Selection.MAX, PERCENT100))
DOWN_MAX = given_pace(down=rules(Selection.MAX, PODS1, PERCENT50))
DOWN_MIN = given_pace(down=rules(Selection.MIN, PODS1, PERCENT50))
UP_LATE = given_pace(rules(Selection.MAX, PERCENT100, window=MINUTE))

PACED: list[tuple[str, Pace, Move, Memory, Outcome]] = [
    ("usual: four more", USUAL, (2, 30), Memory(), (6, "", "ScaleUpLimit")),
    ("usual: twice as many", USUAL, (10, 30), Memory(), (20, "", "ScaleUpLimit")),
    ("added in the period", USUAL, (6, 30), Memory(added=noted((14, 4))), (6, "", "ScaleUpLimit")),
    ("added before it", USUAL, (6, 30), Memory(added=noted((15, 4))), (12, "", "ScaleUpLimit")),
    ("given up in the period", USUAL, (2, 30), Memory(removed=noted((1, 8))), (20, "", "ScaleUpLimit")),
    ("the smaller policy", UP_MIN, (10, 30), Memory(), (11, "", "ScaleUpLimit")),
    ("percent round up", UP_HALF, (3, 30), Memory(), (5, "", "ScaleUpLimit")),
    ("growth switched off", NO_UP, (3, 30), Memory(), (3, "", "ScaleUpLimit")),
    ("bounded by the most", USUAL, (60, 99), Memory(), (80, "", "TooManyReplicas")),
    ("shrinks by one", DOWN_ONE, (10, 3), Memory(), (9, "", "ScaleDownLimit")),
    ("by the larger policy", DOWN_MAX, (9, 3), Memory(), (4, "", "ScaleDownLimit")),
    ("by the smaller policy", DOWN_MIN, (9, 3), Memory(), (8, "", "ScaleDownLimit")),
    ("one has gone already", DOWN_ONE, (9, 3), Memory(removed=noted((59, 1))), (9, "", "ScaleDownLimit")),
    ("shrinking switched off", NO_DOWN, (9, 3), Memory(), (9, "", "ScaleDownLimit")),
    ("bounded by the fewest", DOWN_ALL, (9, 1), Memory(), (2, "", "TooFewReplicas")),
    ("within the bounds", USUAL, (3, 5), Memory(), (5, "", "")),
    ("window down", USUAL, (10, 2), Memory(noted((299, 8))), (8, "ScaleDownStabilized", "")),
    ("the window down never makes it grow", USUAL, (3, 3), Memory(noted((60, 5))), (3, "", "")),
    ("window up", UP_LATE, (3, 6), Memory(noted((59, 4))), (4, "ScaleUpStabilized", "")),
    ("window up is over", UP_LATE, (3, 6), Memory(noted((60, 4))), (6, "", "")),
    ("window up never makes it shrink", UP_LATE, (3, 6), Memory(noted((1, 2))), (3, "ScaleUpStabilized", "")),
]


@pytest.mark.parametrize(("row", "pace", "move", "memory", "expected"), PACED, ids=[row[0] for row in PACED])
def test_with_a_pace_of_its_own(row: str, pace: Pace, move: Move, memory: Memory, expected: Outcome) -> None:
    settled = settle(Question(*move, wish(pace, least=2, most=80), NOW), memory)
    assert (settled.replicas, settled.held_back, settled.limited) == expected, row


def test_what_is_called_for_is_remembered_as_it_was_and_forgotten_in_time() -> None:
    settled = settle(Question(10, 2, wish(), NOW), Memory(noted((360, 9), (60, 8))))
    assert settled.memory.recommendations == (*noted((60, 8)), Noted(NOW, 2))


def test_changes_are_remembered_for_policies_only() -> None:
    assert Memory().resized(NOW, 3, wish()) == Memory()
    memory = Memory(added=noted((60, 1)), removed=noted((60, 2)))
    grown = memory.resized(NOW, 3, wish(USUAL))
    assert grown == Memory(added=(Noted(NOW, 3),), removed=memory.removed), "the earlier one is older than any period"
    slow = given_pace(down=rules(Selection.MAX, Policy(PolicyType.PODS, 1, 2 * MINUTE)))
    shrunk = memory.resized(NOW, -3, wish(slow))
    assert shrunk == Memory(added=memory.added, removed=(*memory.removed, Noted(NOW, 3)))


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 40)), min_size=1, max_size=30),
    st.sampled_from([Pace(), given_pace(), given_pace(rules(Selection.MIN, PODS1, PERCENT50))]),
)
def test_replicas_stay_within_bounds_and_never_shrink_below_the_window(
    looks: list[tuple[int, int]], pace: Pace
) -> None:
    """Law: whatever the metrics call for, the number stays within bounds; five minutes of it bound every shrinking."""
    asked = wish(pace, least=3, most=30)
    now, current, memory = NOW, 5, Memory(noted((0, 5)))
    called_for = [(now, 5)]
    for seconds, desired in looks:
        now += seconds * SECOND
        called_for.append((now, desired))
        settled = settle(Question(current, desired, asked, now), memory)
        assert 3 <= settled.replicas <= 30
        recent = max(number for at, number in called_for if at > now - 5 * MINUTE)
        if settled.replicas < current:
            assert settled.replicas >= min(recent, current)
        memory = settled.memory.resized(now, settled.replicas - current, asked)
        current = settled.replicas
