"""What a kind of case is: how it is drawn, asked and answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from e2e.parity.dice import Dice

Case = dict[str, object]
"""A case or a question as JSON."""

BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When the oracle's time begins."""


def _as_it_is(case: Case, at: datetime) -> Case:  # noqa: ARG001 one of several
    return case


def _nothing_to_read(question: Case, answer: object) -> object:  # noqa: ARG001 one of several
    return answer


def _never(case: Case, ours: object, theirs: object) -> str:  # noqa: ARG001 one of several
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of case.

    Args:
        name: As the oracle knows it.
        draw: Makes a case.
        answer: Our own answer to a question.
        read: Upstream's answer to a question in the form of ours.
        question: A case as it is asked at a moment; most do not depend on it.
        wanted: Why two answers to a case that differ may do so, a reason that docs/parity.md names; empty where they
            may not.
        lasts: How long a case takes, where upstream's code leaves something running, so that all cases share one time;
            None where each has a time of its own.
        says: Answers to one question after which upstream has said all that it says; some of the orders that it goes
            through maps in are rare.
    """

    name: str
    draw: Callable[[Dice], Case]
    answer: Callable[[Case], object]
    read: Callable[[Case, object], object] = _nothing_to_read
    question: Callable[[Case, datetime], Case] = _as_it_is
    wanted: Callable[[Case, object, object], str] = _never
    lasts: Callable[[Case], timedelta] | None = None
    says: int = 400

    def case(self, seed: str, number: int) -> Case:
        """Draw one case; it depends on nothing else."""
        return {"kind": self.name, **self.draw(Dice(f"{seed}/{self.name}/{number}"))}


def dated(value: object, at: datetime) -> object:
    """Put times in place of ages: every object ``{"ago": seconds}`` becomes the moment so long before ``at``."""
    if isinstance(value, dict):
        if value.keys() == {"ago"}:
            return text_of(at - timedelta(seconds=value["ago"]))
        return {key: dated(member, at) for key, member in value.items()}
    return [dated(member, at) for member in value] if isinstance(value, list) else value


def text_of(moment: datetime) -> str:
    """Return a moment as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
