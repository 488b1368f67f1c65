"""A strategy on a lot of series (spec: quality Q-4, Q-11 to Q-17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.course import Course, InOrder, Player, play
from evenkeel.replay.hindsight import oracle, static
from evenkeel.replay.scores import Scores, score
from evenkeel.replay.steps import Steps, by_number, by_time
from evenkeel.replay.trace import DAY_SECONDS, Trace
from recommender.kernels.suite import Kernels
from recommender.strategies.bank_state import BankState
from recommender.strategies.interface import RowwiseState, Strategy

RATIOS: Final = (1.0, 1.5)
"""Ratios of memory limit to request that every series is played with."""

SCORED_RATIO: Final = 1.5
"""The one of which requests and resizes are scored."""

_HOUR_SECONDS: Final = 3600.0

NOTHING_STORED: Final = Beginnings()

IN_HINDSIGHT: Final[Mapping[str, Callable[[Sequence[Trace]], Player]]] = {
    "static": static,
    "oracle": partial(oracle, interval_seconds=_HOUR_SECONDS),
    "oracle-24h": partial(oracle, interval_seconds=DAY_SECONDS),
}
"""What no recommender can follow, by name."""


@dataclass(frozen=True, slots=True)
class Contender:
    """What is played.

    Args:
        name: Its name.
        strategy: The strategy; None for one of ``IN_HINDSIGHT``.
        beginnings: What it begins with if it goes by histograms.
        limits_stay: Whether limits go by the first requests, and requests within them, as RequestsOnly has it.
    """

    name: str
    strategy: Strategy | None = None
    beginnings: Beginnings = NOTHING_STORED
    limits_stay: bool = False


def contend(contender: Contender, traces: Sequence[Trace], kernels: Kernels | None = None) -> Scores:
    """Play a strategy on a lot of series, and score it.

    Args:
        contender: The strategy.
        traces: At least one.
        kernels: What strategies by histograms work with; numpy does where there are none.

    Raises:
        MisshapenError: The strategy returns something else than possible amounts for every row.
    """
    steps, course = run(contender, traces, RATIOS, kernels)
    return score(steps, course, RATIOS, SCORED_RATIO)


def run(
    contender: Contender, traces: Sequence[Trace], ratios: tuple[float, ...], kernels: Kernels | None = None
) -> tuple[Steps, Course]:
    """Play a strategy on a lot of series.

    Args:
        contender: The strategy.
        traces: At least one.
        ratios: Ratios of memory limit to request.
        kernels: What strategies by histograms work with; numpy does where there are none.

    Returns:
        The steps of all series at the first ratio, then of all at the next one, and what became of them.

    Raises:
        MisshapenError: The strategy returns something else than possible amounts for every row.
    """
    rows = [*traces] * len(ratios)
    if contender.strategy is None:
        player, steps = IN_HINDSIGHT[contender.name](rows), by_number(rows)
    else:
        state = contender.strategy.start(len(rows))
        if isinstance(state, BankState):
            state.use(kernels)
            for row, stored in contender.beginnings.rows(rows):
                state.restore(row, stored)
        if isinstance(state, RowwiseState):
            player, steps = state, by_number(rows)
        else:
            player, steps = InOrder(state), by_time(rows)
    return steps, play(steps, player, np.repeat(ratios, len(traces)), limits_stay=contender.limits_stay)
