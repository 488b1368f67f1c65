"""Why history cannot be had."""

from __future__ import annotations

from enum import Enum

from autoscaling.errors import EvenkeelError


class Trouble(Enum):
    """What a failed query says about the next one."""

    TRANSIENT = "transient"
    """The same query may succeed later."""

    TOO_MUCH = "too much"
    """A smaller part of the same query may succeed."""

    FINAL = "final"
    """Somebody has to change something first."""


class HistoryError(EvenkeelError):
    """Prometheus was not asked successfully, or its answer cannot be used.

    Args:
        problem: What was asked, and what is wrong with the answer.
        remedy: What can be done about it.
        trouble: Whether trying again makes sense.
    """

    def __init__(self, problem: str, *, remedy: str, trouble: Trouble = Trouble.FINAL) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy
        self.trouble = trouble
