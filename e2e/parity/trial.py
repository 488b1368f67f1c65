"""One case put to both sides, and what came of it."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from enum import Enum
from typing import Final

from e2e.parity.comparison import Difference, first_difference, unexplained
from e2e.parity.kinds import BEGIN, Case, Kind
from e2e.parity.upstream import Reply, Upstream

_MOMENT: Final = BEGIN.replace(year=2026, month=3, day=4, hour=5, minute=6, second=7)
"""When cases whose time does not matter take place for us."""

_AT_A_TIME: Final = 20

_EXCEPTION: Final = "(exception)"
_QUESTION: Final = "(question)"
_ANSWER: Final = "(answer)"
_INDEX: Final = re.compile(r"\[\d+\]")


class Verdict(Enum):
    """How a case came out."""

    SAME = "same"
    DIFFERENT = "different"
    CRASHED = "crashed"
    """Upstream's code crashed, so there is nothing to compare with."""
    UNDECIDED = "undecided"
    """Upstream gives several answers to the same question, and ours is made of them."""
    WANTED = "wanted"
    """The answers differ for a reason that docs/parity.md names."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and what led to it.

    Args:
        difference: Where the answers differ.
        crash: How upstream crashed.
    """

    verdict: Verdict
    difference: Difference | None = None
    crash: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """In place of an answer: ours raised an exception.

    Args:
        kind: Its type.
        text: Its message, and where it comes from.
    """

    kind: str
    text: str


def our_answer(kind: Kind, case: Case) -> object:
    """Return our answer to a case, an exception being one."""
    try:
        return kind.answer(kind.question(case, _MOMENT))
    except Exception as error:  # noqa: BLE001 whatever goes wrong is a difference and is shown as one
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Failed(type(error).__name__, f"{error} ({place.filename.rpartition('/')[2]}:{place.lineno})")


def outcome(kind: Kind, case: Case, ours: object, reply: Reply, upstream: Upstream | None) -> Outcome:
    """Compare the answers to one case.

    Args:
        kind: What kind of case it is.
        case: The case.
        ours: What ``our_answer`` returned.
        reply: Upstream's reply.
        upstream: Asked again where the answers differ, to see whether upstream differs from itself; None to take its
            first word for it.
    """
    if reply.crash and not isinstance(ours, Failed):
        return Outcome(Verdict.CRASHED, crash=reply.crash)
    difference = _difference(kind, case, ours, reply)
    if difference is None:
        return Outcome(Verdict.SAME)
    if difference.path in {_EXCEPTION, _QUESTION, _ANSWER}:
        return Outcome(Verdict.DIFFERENT, difference)
    if kind.wanted(case, ours, reply.answer):
        return Outcome(Verdict.WANTED, difference)
    if upstream is None:
        return Outcome(Verdict.DIFFERENT, difference)
    return _asked_again(kind, case, ours, difference, upstream)


def _difference(kind: Kind, case: Case, ours: object, reply: Reply) -> Difference | None:
    """Return the first difference between two answers."""
    if isinstance(ours, Failed):
        return Difference(_EXCEPTION, f"{ours.kind}: {ours.text}", reply.answer or reply.crash)
    if reply.refusal:
        return Difference(_QUESTION, "drawn", f"refused: {reply.refusal}")
    try:
        theirs = kind.read(kind.question(case, _MOMENT), reply.answer)
    except Exception as error:  # noqa: BLE001 an answer of another form is a difference like any other
        return Difference(_ANSWER, ours, f"not understood, {type(error).__name__} {error}: {reply.answer}")
    return first_difference(ours, theirs)


def tried(kind: Kind, case: Case, upstream: Upstream) -> Outcome:
    """Put one case to both sides and compare."""
    return outcome(kind, case, our_answer(kind, case), upstream.ask(kind, case), upstream)


def still_differs(kind: Kind, case: Case, first: Difference, upstream: Upstream) -> bool:
    """Say whether a smaller case differs in the same field as the one it was made of, and likewise.

    Args:
        kind: What kind of case it is.
        case: The smaller case.
        first: How the larger one differs.
        upstream: Asked once.
    """
    reply = upstream.ask(kind, case)
    if reply.refusal or reply.crash:
        return False
    found = _difference(kind, case, our_answer(kind, case), reply)
    return found is not None and _signature(found) == _signature(first)


def _signature(difference: Difference) -> tuple[str, str]:
    """Return where answers differ, whatever the place in a list, and the kind of an exception."""
    kind = str(difference.ours).partition(":")[0] if difference.path == _EXCEPTION else ""
    return _INDEX.sub("[]", difference.path), kind


def _asked_again(kind: Kind, case: Case, ours: object, found: Difference, upstream: Upstream) -> Outcome:
    """Ask upstream until its answers account for ours, or it has said all that it says."""
    answers: list[object] = []
    left: Difference | None = found
    while len(answers) < kind.says:
        for reply in upstream.receive(upstream.send(kind, [case] * _AT_A_TIME)):
            if reply.crash:
                return Outcome(Verdict.CRASHED, crash=reply.crash)
            answers.append(kind.read(kind.question(case, _MOMENT), reply.answer))
        left = unexplained(ours, answers)
        if left is None:
            return Outcome(Verdict.UNDECIDED, difference=found)
    is_decided = all(first_difference(answers[0], answer) is None for answer in answers)
    return Outcome(Verdict.DIFFERENT, difference=found if is_decided else left)
