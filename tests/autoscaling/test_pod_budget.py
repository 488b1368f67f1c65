"""Rises and falls held back by the same share until a pod's sums fit (spec: beyond:B-12, beyond:B-17)."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autoscaling.pod_budget import Budget, Move, Pair, Stage
from autoscaling.pod_totals import Side

REQUESTS, LIMITS = Side.REQUESTS, Side.LIMITS


def move(old: tuple[int, int | None], new: tuple[int, int | None]) -> Move:
    return Move(Pair(*old), Pair(*new))


def together(count: int, fixed: int = 0) -> tuple[Stage, ...]:
    return (Stage(frozenset(range(count)), Pair(fixed, fixed)),)


SETTLED: list[tuple[str, Budget, list[Move], list[tuple[int, int | None]]]] = [
    ("beyond:B-17 room", Budget(together(2), ((REQUESTS, 40),)),
     [move((10, None), (20, None)), move((10, None), (20, None))], [(20, None), (20, None)]),
    ("beyond:B-17 same share", Budget(together(2), ((REQUESTS, 35),)),
     [move((10, None), (20, None)), move((10, None), (30, None))], [(15, None), (20, None)]),
    ("beyond:B-17 no room", Budget(together(2), ((REQUESTS, 20),)),
     [move((10, None), (20, None)), move((10, None), (30, None))], [(10, None), (10, None)]),
    ("beyond:B-17 a fall makes room", Budget(together(2), ((REQUESTS, 20),)),
     [move((10, None), (5, None)), move((10, None), (30, None))], [(5, None), (15, None)]),
    ("beyond:B-17 the rest goes to the first", Budget(together(3), ((REQUESTS, 31),)),
     [move((10, None), (20, None))] * 3, [(11, None), (10, None), (10, None)]),
    ("beyond:B-17 beyond the budget already", Budget(together(1), ((REQUESTS, 5),)), [move((10, None), (20, None))],
     [(10, None)]),
    ("beyond:B-12 limits bind", Budget(together(1), ((LIMITS, 30),)), [move((10, 20), (20, 40))], [(15, 30)]),
    ("beyond:B-12 both bind", Budget(together(1), ((REQUESTS, 12), (LIMITS, 30))), [move((10, 20), (20, 40))],
     [(12, 24)]),
    ("beyond:B-12 a limit for the first time", Budget(together(1), ((REQUESTS, 15), (LIMITS, 20))),
     [move((10, None), (20, 20))], [(15, 20)]),
    ("beyond:B-12 least", Budget(together(2), (), ((REQUESTS, 15),)),
     [move((10, None), (0, None)), move((10, None), (0, None))], [(7, None), (8, None)]),
    ("beyond:B-12 least of limits", Budget(together(1), (), ((LIMITS, 15),)), [move((10, 20), (5, 10))], [(8, 15)]),
    ("beyond:B-12 a rise makes up for a fall", Budget(together(2), (), ((REQUESTS, 20),)),
     [move((10, None), (0, None)), move((10, None), (20, None))], [(0, None), (20, None)]),
    ("beyond:B-16 beside a start", Budget(
        (Stage(frozenset({0, 1})), Stage(frozenset({1}), Pair(50, 50))), ((REQUESTS, 65),)),
     [move((10, None), (20, None)), move((10, None), (30, None))], [(20, None), (15, None)]),
    ("beyond:B-17 another stage is beyond the budget", Budget(
        (Stage(frozenset({0})), Stage(frozenset({1}), Pair(70, 70))), ((REQUESTS, 65),)),
     [move((10, None), (20, None)), move((10, None), (30, None))], [(20, None), (10, None)]),
    ("beyond:B-12 one grain of a limit would take its request along", Budget(together(1), (), ((REQUESTS, 1),)),
     [move((1, 3), (0, 0))], [(1, 3)]),
    ("beyond:B-12 a limit falls where requests may", Budget(together(2), (), ((REQUESTS, 1),)),
     [move((1, 3), (0, 0)), move((1, 1), (1, 1))], [(0, 0), (1, 1)]),
    ("beyond:B-12 more grains than a word counts, up", Budget(together(1), ((REQUESTS, 10**30),)),
     [move((0, None), (10**40, None))], [(10**30, None)]),
    ("beyond:B-12 more grains than a word counts, down", Budget(together(1), (), ((REQUESTS, 10**30),)),
     [move((10**40, None), (0, None))], [(10**30, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("row", "budget", "moves", "expected"), SETTLED)
def test_what_each_container_gets(
    row: str, budget: Budget, moves: list[Move], expected: list[tuple[int, int | None]]
) -> None:
    assert budget.settled(moves, 1) == tuple(Pair(*pair) for pair in expected), row


@st.composite
def pairs(draw: st.DrawFn, unit: int, *, is_limited: bool) -> Pair:
    request = draw(st.integers(0, 60)) * unit
    return Pair(request, request + draw(st.integers(0, 60)) * unit if is_limited else None)


@st.composite
def budgets(draw: st.DrawFn) -> tuple[Budget, list[Move], int]:
    """Draw a pod that is within its budget, what it is to get, and a grain."""
    grain = draw(st.sampled_from([1, 1000]))
    # Nothing but the length of its text bounds what a quantity comes to.
    unit = grain * draw(st.sampled_from([1, 2**70]))
    moves = []
    for _ in range(draw(st.integers(1, 3))):
        is_limited = draw(st.booleans())
        moves.append(Move(*(draw(pairs(unit, is_limited=is_limited)) for _ in range(2))))
    members = st.frozensets(st.integers(0, len(moves) - 1))
    inits = draw(st.lists(st.builds(Stage, members, pairs(unit, is_limited=True)), max_size=2))
    stages = (*inits, Stage(frozenset(range(len(moves)))))
    most, least = [], []
    part = st.sampled_from((0, grain // 3))
    for side in draw(st.lists(st.sampled_from(Side), unique=True)):
        sums = [stage_sum([m.old for m in moves], stage, side) for stage in stages]
        most.append((side, max(sums) + draw(st.integers(0, 30)) * unit + draw(part)))
        least.append((side, max(sums) - draw(st.integers(0, 30)) * unit - draw(part)))
    return Budget(stages, tuple(most), tuple(least) if draw(st.booleans()) else ()), moves, grain


def stage_sum(values: list[Pair], stage: Stage, side: Side) -> int:
    return stage.fixed.on(side) + sum(values[index].on(side) for index in stage.members)


@given(budgets())
def test_nobody_is_left_with_less_than_needed_and_no_sum_is_too_large(drawn: tuple[Budget, list[Move], int]) -> None:
    """Spec: beyond:B-17; where sums may not be too small either, both together may be out of reach."""
    budget, moves, grain = drawn
    values = list(budget.settled(moves, grain))
    for side, most in budget.most if not budget.least else ():
        assert all(stage_sum(values, stage, side) <= most for stage in budget.stages)
    for each, value in zip(moves, values, strict=True):
        assert value.limit is None or value.request <= value.limit
        for side in Side:
            low, high = sorted((each.old.on(side), each.new.on(side)))
            assert low <= value.on(side) <= high


A_REQUEST_THAT_IS_HELD_HOLDS_ITS_LIMIT = (
    Budget((Stage(frozenset(), Pair(1, 1)), *together(2)), ((REQUESTS, 2),), ((REQUESTS, 2),)),
    [move((1, 3), (0, 0)), move((1, 1), (0, 0))],
    1,
)


@given(budgets())
@example(A_REQUEST_THAT_IS_HELD_HOLDS_ITS_LIMIT)
def test_settled_again_nothing_changes(drawn: tuple[Budget, list[Move], int]) -> None:
    """Spec: case:46."""
    budget, moves, grain = drawn
    values = budget.settled(moves, grain)
    again = [Move(value, each.new) for value, each in zip(values, moves, strict=True)]
    assert budget.settled(again, grain) == values


@pytest.mark.parametrize("most", [1500, 10**18])
def test_a_thousand_containers_take_no_thousand_times_as_long(most: int) -> None:
    """Spec: beyond:B-32."""
    moves = [move((1, 2), (10**308, 10**308))] * 1000
    begun = time.process_time()
    settled = Budget(together(1000), ((REQUESTS, most), (LIMITS, 10**310)), ((REQUESTS, 1000),)).settled(moves, 1)
    assert time.process_time() - begun < 10.0
    assert sum(pair.request for pair in settled) <= most
