"""OOM kills of pods that are not known yet, and from before the start (beyond:B-5, case:12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from autoscaling.matching import EVERYTHING
from recommender.checkpoint import ContainerCheckpoint
from recommender.oom import OomOutcome, OomRecord
from recommender.waiting_ooms import ROUNDS_HELD, WaitingOom, missed_kills, settle
from tests.builders import T0
from tests.recommender.scene import MINUTE, SECOND, Scene, of_one_container, pod, vpa

GI = 2**30
KILL = OomRecord("default", "q", "main", T0, GI)
RECORDED, UNKNOWN_POD, UNKNOWN_CONTAINER = (
    OomOutcome.RECORDED,
    OomOutcome.UNKNOWN_POD,
    OomOutcome.UNKNOWN_CONTAINER,
)


@pytest.mark.parametrize(
    ("row", "rounds_held", "appears_in", "outcomes"),
    [
        ("case:12 known", ROUNDS_HELD, 0, [[RECORDED], [], [], []]),
        ("case:12 one round late", ROUNDS_HELD, 1, [[], [RECORDED], [], []]),
        ("case:12 two rounds late", ROUNDS_HELD, 2, [[], [], [RECORDED], []]),
        ("case:12 too late", ROUNDS_HELD, 3, [[], [], [UNKNOWN_POD], []]),
        ("case:12 upstream", 0, 1, [[UNKNOWN_POD], [], [], []]),
        ("case:12 upstream, known", 0, 0, [[RECORDED], [], [], []]),
    ],
)
def test_a_kill_waits_for_its_pod(
    row: str, rounds_held: int, appears_in: int, outcomes: list[list[OomOutcome]]
) -> None:
    one = Scene().follow(vpa())
    waiting: tuple[WaitingOom, ...] = ()
    for number, expected in enumerate(outcomes):
        if number == appears_in:
            one.observe(pod("q"))
        fresh = [KILL] if number == 0 else []
        settled = settle(one.model, waiting, fresh, T0 + number * MINUTE, rounds_held)
        assert settled.outcomes == tuple((KILL, outcome) for outcome in expected), row
        assert len(settled.needs) == expected.count(RECORDED), row
        waiting = settled.waiting
    assert waiting == ()


def test_a_container_that_is_not_known_yet_is_waited_for_as_well() -> None:
    one = of_one_container()
    kill = replace(KILL, pod="p", container="side")
    settled = settle(one.model, (), [kill], T0, ROUNDS_HELD)
    assert (settled.outcomes, settled.waiting) == ((), (WaitingOom(kill, 1),))
    assert settle(one.model, (), [kill], T0, 0).outcomes == ((kill, UNKNOWN_CONTAINER),)
    one.observe(pod("p", "main", "side"))
    assert settle(one.model, settled.waiting, [], T0, ROUNDS_HELD).outcomes == ((kill, RECORDED),)


def test_those_that_waited_come_first_and_known_ones_are_not_held_up() -> None:
    one = of_one_container()
    known, late = replace(KILL, pod="p"), replace(KILL, at=T0 + MINUTE)
    first = settle(one.model, (), [KILL, known], T0, ROUNDS_HELD)
    assert first.outcomes == ((known, RECORDED),)
    one.observe(pod("q"))
    second = settle(one.model, first.waiting, [late], T0, ROUNDS_HELD)
    assert second.outcomes == ((KILL, RECORDED), (late, RECORDED))


def test_a_kill_that_is_too_old_does_not_wait() -> None:
    one = of_one_container()
    one.memory(T0 + 2 * 1440 * MINUTE, 1)
    old = replace(KILL, pod="p")
    settled = settle(one.model, (), [old], T0, ROUNDS_HELD)
    assert (settled.outcomes, settled.waiting) == (((old, OomOutcome.TOO_OLD),), ())


def written(at: datetime | None, vpa_name: str = "v", container: str = "main") -> ContainerCheckpoint:
    return ContainerCheckpoint("default", vpa_name, container, None, None, updated=at)


BOTH = (written(T0 - MINUTE), written(T0 - SECOND, "w"))


@pytest.mark.parametrize(
    ("row", "stored", "pods", "is_missed"),
    [
        ("recommender:13.5 since", (written(T0 - SECOND),), ("q",), True),
        ("recommender:13.5 at that time", (written(T0),), ("q",), False),
        ("recommender:13.5 before", (written(T0 + SECOND),), ("q",), False),
        ("recommender:13.5 no checkpoint", (), ("q",), False),
        ("recommender:13.5 of another container", (written(T0 - SECOND, container="side"),), ("q",), False),
        ("recommender:13.5 no time", (written(None),), ("q",), False),
        ("recommender:13.5 unknown pod", (written(T0 - SECOND),), (), False),
    ],
)
def test_a_kill_from_before_the_start_counts_if_it_came_after_the_checkpoint(
    row: str, stored: tuple[ContainerCheckpoint, ...], pods: tuple[str, ...], is_missed: bool
) -> None:
    one = Scene().follow(vpa()).observe(*map(pod, pods))
    assert missed_kills(one.model, [KILL], stored) == ((WaitingOom(KILL, 0),) if is_missed else ()), row
    assert missed_kills(one.model, [], stored) == ()


@pytest.mark.parametrize(
    ("row", "stored", "is_missed"),
    [
        ("recommender:13.5", BOTH, True),
        ("recommender:13.5", (BOTH[0], written(T0, "w")), False),
        ("recommender:13.5", BOTH[:1], False),
    ],
)
def test_of_two_vpas_neither_may_have_taken_it_in(
    row: str, stored: tuple[ContainerCheckpoint, ...], is_missed: bool
) -> None:
    one = Scene().follow(vpa()).follow(vpa("w"), selector=EVERYTHING).observe(pod("q"))
    assert bool(missed_kills(one.model, [KILL], stored)) is is_missed, row
