"""A strategy of another distribution at work: whatever it does, nobody but its own VPAs sees anything of it.

A method that raises, or an answer of a wrong form, puts the strategy out of service until the recommender restarts:
what its state has become by then cannot be known. Impossible amounts concern one row, and so only its VPA.

Spec: beyond B-10.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.answers import Answer, MisshapenError, answer
from recommender.strategies.faults import Fault, FaultReason, error_text
from recommender.strategies.interface import ExplainedState, Explanation, JsonObject, OomKills, StrategyState, Usage
from recommender.strategies.known import Plugin

Integers = NDArray[np.int64]
T = TypeVar("T")

LARGEST_SAVED: Final = 256 * 1024
"""Characters of JSON that a row may be saved as; an object of the API server holds little more than a million."""

_METHODS: Final = ("grow", "clear", "observe", "observe_ooms", "recommend", "save", "restore")


class GuardedState:
    """The state of a plug-in.

    Args:
        plugin: The strategy.
        rows: How many rows there are at first.

    Attributes:
        fault: Why the strategy is out of service; None while it is not.
        faults: What has failed since this was last emptied.
    """

    def __init__(self, plugin: Plugin, rows: int) -> None:
        self.plugin = plugin
        self.fault: Fault | None = None
        self.faults: list[Fault] = []
        self._rows = rows
        self._state: StrategyState | None = self._guarded("start", lambda: plugin.strategy.start(rows))
        missing = [name for name in _METHODS if not callable(getattr(self._state, name, None))]
        if missing and self.fault is None:
            self._give_up(FaultReason.SHAPE, f"what start returned has no method {missing[0]}")

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._rows = rows
        self._call("grow", lambda state: state.grow(rows))

    def clear(self, rows: Integers) -> None:
        """Let rows be given to other containers."""
        self._call("clear", lambda state: state.clear(rows))

    def observe(self, usage: Usage) -> None:
        """Take in samples."""
        self._call("observe", lambda state: state.observe(usage))

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills."""
        self._call("observe_ooms", lambda state: state.observe_ooms(kills))

    def recommend(self, now_seconds: float) -> Answer | None:
        """Return what the strategy recommends; None when it is out of service."""
        given = self._call("recommend", lambda state: state.recommend(now_seconds))
        if self.fault is not None:
            return None
        try:
            return answer(given, self._rows)
        except MisshapenError as error:
            self._give_up(FaultReason.OUTPUT, str(error))
            return None

    def explain(self, row: int) -> Explanation | None:
        """Return what the strategy's targets of a row come from; None when it does not say, or is out of service."""
        state = self._state
        if not isinstance(state, ExplainedState):
            return None
        found = self._guarded("explain", lambda: state.explain(row))
        if self.fault is None and not isinstance(found, Explanation):
            self._give_up(FaultReason.OUTPUT, f"explain returned {type(found).__name__}, not Explanation")
        return found if self.fault is None else None

    def save(self, row: int) -> JsonObject | None:
        """Return what is to be stored of a row; None when the strategy is out of service."""
        saved = self._call("save", lambda state: state.save(row))
        if self.fault is not None:
            return None
        try:
            text = json.dumps(saved, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            self._give_up(FaultReason.OUTPUT, f"save returned what is no JSON: {error_text(error)}")
            return None
        if not isinstance(saved, dict) or len(text) > LARGEST_SAVED:
            what = f"{len(text)} characters" if isinstance(saved, dict) else "no object"
            self._give_up(FaultReason.OUTPUT, f"save returned {what} of JSON, not an object of at most {LARGEST_SAVED}")
            return None
        # Read back, it is the state's no more, and has only what JSON has.
        return cast("JsonObject", json.loads(text))

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row go on from what was stored; where the strategy cannot read that, the row starts anew."""
        if self._state is None:
            return
        try:
            self._state.restore(row, saved)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
            self._note(FaultReason.RESTORE, f"restore raised {error_text(error)}", is_lasting=False)
            self.clear(np.array([row], dtype=np.int64))

    def note_impossible(self, problem: str) -> Fault:
        """Note an impossible amount."""
        return self._note(FaultReason.OUTPUT, problem, is_lasting=False)

    def _call(self, method: str, action: Callable[[StrategyState], T]) -> T | None:
        """Call a method of the state, if the strategy is in service."""
        state = self._state
        return None if state is None else self._guarded(method, lambda: action(state))

    def _guarded(self, method: str, action: Callable[[], T]) -> T | None:
        try:
            return action()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
            self._give_up(FaultReason.EXCEPTION, f"{method} raised {error_text(error)}")
            return None

    def _give_up(self, reason: FaultReason, problem: str) -> None:
        self.fault, self._state = self._note(reason, problem, is_lasting=True), None

    def _note(self, reason: FaultReason, problem: str, *, is_lasting: bool) -> Fault:
        fault = Fault(self.plugin.name, self.plugin.distribution, reason, problem, is_lasting)
        self.faults.append(fault)
        return fault
