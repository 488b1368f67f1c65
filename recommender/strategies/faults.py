"""What is wrong with a strategy that another distribution brings (spec: beyond:B-10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import VpaCondition
from recommender.status import STRATEGY_UNAVAILABLE

_LONGEST_ERROR: Final = 200
"""Characters of an error's text that are shown; a plug-in may put anything there."""


class FaultReason(Enum):
    """In what a strategy failed."""

    IMPORT = "import"
    SHAPE = "shape"
    NAME_TAKEN = "name_taken"
    EXCEPTION = "exception"
    OUTPUT = "output"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure of a strategy.

    Args:
        strategy: Its name.
        distribution: Name and version of the distribution that brings it.
        reason: In what it failed.
        problem: What happened, in words.
        is_lasting: Whether the strategy is out of service until the recommender restarts.
    """

    strategy: str
    distribution: str
    reason: FaultReason
    problem: str
    is_lasting: bool = True

    def condition(self) -> VpaCondition:
        """Return the condition of a VPA that asks for the strategy."""
        way_out = (
            "Correct or remove that distribution and restart the recommender, or choose another strategy"
            if self.is_lasting
            else "Correct that distribution, or choose another strategy"
        )
        message = (
            f"Strategy {self.strategy} of distribution {self.distribution} cannot be used: {self.problem}. "
            f"vpa-default stands in. {way_out}"
        )
        return VpaCondition(STRATEGY_UNAVAILABLE, ConditionStatus.TRUE, "StrategyFailed", message)


def error_text(error: BaseException) -> str:
    """Return an error of foreign code in one short line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[: _LONGEST_ERROR - 1]}…"


def unknown_condition(name: str, known: Iterable[str]) -> VpaCondition:
    """Return the condition of a VPA that asks for a strategy which does not exist.

    Args:
        name: What it asks for.
        known: Names of the strategies that there are.
    """
    message = (
        f"spec.recommender.strategy is {name}, which this recommender does not know; vpa-default stands in. Choose one "
        f"of {', '.join(sorted(known))}, or install the distribution that brings it and restart the recommender"
    )
    return VpaCondition(STRATEGY_UNAVAILABLE, ConditionStatus.TRUE, "UnknownStrategy", message)
