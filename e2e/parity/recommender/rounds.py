"""Whole rounds of a recommender: what it writes, from what it finds (spec: recommender:2 to recommender:6)."""

from __future__ import annotations

from typing import Final

import msgspec

from e2e.parity.kinds import BEGIN, Case, Kind
from e2e.parity.recommender.drawing import draw
from e2e.parity.recommender.questions import RoundsQuestion, duration
from e2e.parity.recommender.world import RoundAnswer, World


def answer(question: Case) -> object:
    """Live a recommender's life."""
    asked = msgspec.convert(question, RoundsQuestion)
    now = BEGIN + duration(asked.begin)
    world = World(asked, now)
    world.change(asked.first)
    world.load_history(now)
    written: list[object] = []
    for each in asked.rounds:
        now += duration(each.after)
        world.change(each.changes)
        written.append(_round(world.run_round(each.metrics, now)))
    return {"rounds": written, "aggregates": world.aggregates(), "quality": world.quality()}


def _round(written: RoundAnswer) -> Case:
    statuses = {name: _without_wording(status) for name, status in written.statuses.items()}
    return {
        "statuses": statuses,
        "checkpoints": written.checkpoints,
        "created": written.created,
        "removed": written.removed,
    }


def read(question: Case, given: object) -> object:  # noqa: ARG001 one of several
    """Return upstream's answer without its wording."""
    assert isinstance(given, dict)
    rounds = [
        {**each, "statuses": {name: _without_wording(status) for name, status in each["statuses"].items()}}
        for each in given["rounds"]
    ]
    return {**given, "rounds": rounds}


def _without_wording(status: object) -> object:
    """Return a status that says of messages only whether there are any: each engine has its own words."""
    assert isinstance(status, dict)
    conditions = [{**c, "message": bool(c.get("message"))} for c in status.get("conditions") or ()]
    return {**status, "conditions": conditions}


ROUNDS: Final = Kind("rounds", draw, answer, read, says=4000)
