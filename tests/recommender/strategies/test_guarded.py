"""Whatever a strategy of another distribution does stays with it (beyond:B-10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from recommender.strategies.faults import FaultReason
from recommender.strategies.guarded import LARGEST_SAVED, GuardedState
from recommender.strategies.interface import Explanation, JsonObject, OomKills, StrategyState, Usage
from tests.recommender.strategies.plugins import DISTRIBUTION, Failing, Peak, PeakState, plugin

ONE = np.array([1.0])
USAGE = Usage(np.array([0]), ONE, ONE, ONE, ONE)
KILLS = OomKills(np.array([0]), ONE, ONE)
EXCEPTION, OUTPUT, SHAPE = FaultReason.EXCEPTION, FaultReason.OUTPUT, FaultReason.SHAPE


def used(state: GuardedState) -> JsonObject | None:
    """Call all methods once and return what was saved."""
    state.grow(3)
    state.clear(np.array([2]))
    state.observe(USAGE)
    state.observe_ooms(KILLS)
    state.recommend(60.0)
    return state.save(0)


class Endless(dict[str, object]):
    """A JSON object that holds itself."""

    def __init__(self) -> None:
        super().__init__()
        self["again"] = self


def test_a_strategy_that_does_as_it_should() -> None:
    state = GuardedState(plugin(Peak()), 2)
    assert used(state) == {"cpu": 1.0, "memory": 2.0}
    found = state.recommend(60.0)
    assert found is not None
    assert found.cpu[0].tolist()[0] == 1.0
    assert (state.fault, state.faults) == (None, [])


@pytest.mark.parametrize(
    ("row", "method", "result", "reason", "problem"),
    [
        ("beyond:B-10", "start", KeyError("x"), EXCEPTION, "start raised KeyError: 'x'"),
        ("beyond:B-10", "start", None, SHAPE, "what start returned has no method grow"),
        ("beyond:B-10", "grow", ValueError("x"), EXCEPTION, "grow raised ValueError: x"),
        ("beyond:B-10", "clear", IndexError("x"), EXCEPTION, "clear raised IndexError: x"),
        ("beyond:B-10", "observe", ZeroDivisionError("x"), EXCEPTION, "observe raised ZeroDivisionError: x"),
        ("beyond:B-10", "observe", SystemExit(3), EXCEPTION, "observe raised SystemExit: 3"),
        ("beyond:B-10", "observe_ooms", MemoryError(), EXCEPTION, "observe_ooms raised MemoryError:"),
        ("beyond:B-10", "recommend", RuntimeError("x"), EXCEPTION, "recommend raised RuntimeError: x"),
        ("beyond:B-10", "recommend", None, OUTPUT, "recommend returned NoneType, not Bounds"),
        ("beyond:B-10", "save", TypeError("x"), EXCEPTION, "save raised TypeError: x"),
        ("beyond:B-10", "save", None, OUTPUT, "save returned no object of JSON"),
        ("beyond:B-10", "save", [1], OUTPUT, "save returned no object of JSON"),
        ("beyond:B-10", "save", {"a": float("nan")}, OUTPUT, "save returned what is no JSON: ValueError"),
        ("beyond:B-10", "save", {"a": np.int64(1)}, OUTPUT, "save returned what is no JSON: TypeError"),
        ("beyond:B-10", "save", Endless(), OUTPUT, "save returned what is no JSON: ValueError"),
        ("beyond:B-10", "save", {"a": "x" * LARGEST_SAVED}, OUTPUT, f"save returned {LARGEST_SAVED + 9} characters"),
    ],
)
def test_a_failure_puts_it_out_of_service(
    row: str, method: str, result: object, reason: FaultReason, problem: str
) -> None:
    state = GuardedState(plugin(Failing(method, result)), 2)
    assert used(state) is None, row
    assert used(state) is None, row
    (fault,) = state.faults
    assert fault is state.fault
    assert (fault.strategy, fault.distribution, fault.reason) == ("failing", DISTRIBUTION, reason), row
    assert fault.problem.startswith(problem), row
    assert fault.is_lasting


def test_the_largest_state_that_may_be_saved() -> None:
    state = GuardedState(plugin(Failing("save", {"a": "x" * (LARGEST_SAVED - 9)})), 2)
    assert used(state) is not None


def test_a_row_that_cannot_be_restored_starts_anew() -> None:
    strategy = Peak()
    state = GuardedState(plugin(strategy), 2)
    state.restore(1, {"cpu": 3.0})
    assert [fault.reason for fault in state.faults] == [FaultReason.RESTORE]
    assert state.faults[0].problem == "restore raised KeyError: 'memory'"
    assert state.fault is None
    state.restore(1, {"cpu": 3.0, "memory": 5.0})
    assert strategy.states[0].cpu.tolist()[1] == 3.0


def test_what_is_saved_belongs_to_whoever_asked() -> None:
    held: dict[str, object] = {"list": [1]}
    state = GuardedState(plugin(Failing("save", held)), 1)
    saved = state.save(0)
    held["list"] = [2]
    assert saved == {"list": [1]}


def test_impossible_amounts_leave_it_in_service() -> None:
    state = GuardedState(plugin(Peak()), 1)
    fault = state.note_impossible("impossible amounts")
    assert (fault.reason, fault.is_lasting, state.fault, state.faults) == (FaultReason.OUTPUT, False, None, [fault])


@dataclass
class Talking(PeakState):
    """Says something about itself."""

    said: object = None

    def explain(self, row: int) -> Explanation:
        if isinstance(self.said, Exception):
            raise self.said
        return cast("Explanation", self.said)


@dataclass
class Talkative(Peak):
    """A strategy whose states do."""

    said: object = None

    def start(self, rows: int) -> StrategyState:
        return Talking(np.full(rows, np.nan), np.full(rows, np.nan), said=self.said)


def test_a_strategy_may_say_what_its_targets_come_from() -> None:
    said = Explanation("because", "therefore")
    assert GuardedState(plugin(Peak()), 1).explain(0) is None, "beyond:B-10"
    assert GuardedState(plugin(Talkative(said=said)), 1).explain(0) == said, "beyond:B-10"


@pytest.mark.parametrize(
    ("row", "said", "reason", "problem"),
    [
        ("beyond:B-10", KeyError("x"), EXCEPTION, "explain raised KeyError: 'x'"),
        ("beyond:B-10", "because", OUTPUT, "explain returned str, not Explanation"),
    ],
)
def test_one_that_cannot_say_it_is_out_of_service(row: str, said: object, reason: FaultReason, problem: str) -> None:
    state = GuardedState(plugin(Talkative(said=said)), 1)
    assert state.explain(0) is None, row
    assert state.fault is not None
    assert (state.fault.reason, state.fault.problem) == (reason, problem), row
    assert state.explain(0) is None, row
