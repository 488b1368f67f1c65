"""One strategy on recorded use: observe, recommend, change requests, step by step (spec: quality Q-2 to Q-5).

Every series is played once for each ratio of limit to request, all of them side by side as rows of one state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.changes import Kills, are_worthwhile
from evenkeel.replay.steps import Steps
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.strategies.answers import Answer, answer
from recommender.strategies.interface import Bounds, OomKills, StrategyState, Usage
from updater.screening import Standing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

CPU_PLACE: Final = 0
MEMORY_PLACE: Final = 1

_OOM_SPACING_SECONDS: Final = 299.0
"""What lies closer to the event before than this belongs to it: one step of the coarsest traces."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What became of every series; the second axis of arrays is the ratio of limit to request.

    Args:
        ratios: The ratios.
        requests: float64[2, ratios, steps], cores and bytes in force in each of the steps; NaN before the first.
        ooms: int64[ratios, series], OOM events.
        resizes: int64[ratios, series], changes of one or both requests.
        increases: int64[ratios, series], those of them that give more.
    """

    ratios: tuple[float, ...]
    requests: Floats
    ooms: Integers
    resizes: Integers
    increases: Integers


class Player(Protocol):
    """What is played: the state of a strategy, or something else that recommends for each row at its moment."""

    def observe(self, usage: Usage) -> None:
        """Take in samples."""

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills, after the samples of the same time."""

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return what to request of every row from its moment on."""


@dataclass(frozen=True, slots=True)
class InOrder:
    """Plays the state of a strategy that knows of one moment for all rows, for steps in the order of time.

    Args:
        state: The state.
    """

    state: StrategyState

    def observe(self, usage: Usage) -> None:
        """Take in samples."""
        self.state.observe(usage)

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills."""
        self.state.observe_ooms(kills)

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return what to request from the latest moment on."""
        return self.state.recommend(float(moments_seconds.max()))


class _Rows:
    """Where every row stands while the steps go by; row ``ratio * series + s`` is series s at one ratio."""

    def __init__(self, ratios: tuple[float, ...], count: int) -> None:
        self.ratios = np.repeat(np.array(ratios), count)
        rows = len(self.ratios)
        self.requests: Floats = np.full((2, rows), np.nan)
        self.kills = Kills.none(rows)
        self.ooms: Integers = np.zeros(rows, dtype=np.int64)
        self.resizes: Integers = np.zeros(rows, dtype=np.int64)
        self.increases: Integers = np.zeros(rows, dtype=np.int64)

    def kill(self, usage: Usage, are_scored: Flags) -> OomKills | None:
        """Note which rows run out of memory in a step, and return them; None where none does.

        Args:
            usage: Of the step.
            are_scored: bool[n], in which of them it counts.
        """
        rows = usage.rows
        over = are_scored & (usage.memory_bytes > self.ratios[rows] * self.requests[MEMORY_PLACE, rows])
        if not over.any():
            return None
        over &= usage.ends_seconds - self.kills.last[rows] >= _OOM_SPACING_SECONDS
        rows, times = rows[over], usage.ends_seconds[over]
        self.kills.before[rows] = self.kills.last[rows]
        self.kills.last[rows] = times
        self.ooms[rows] += 1
        return OomKills(rows, times, self.requests[MEMORY_PLACE, rows])

    def change(self, said: Answer, rows: Integers, times: Floats, are_first: Flags) -> None:
        """Take over targets where they are the first ones, or where the updater would.

        Args:
            said: What the strategy recommends, for all rows.
            rows: int64[n], rows that may change.
            times: float64[n], seconds.
            are_first: bool[n], whether the warm-up ends here.
        """
        amounts = np.stack((said.cpu[:, rows], said.memory[:, rows]), axis=1)
        standing = Standing(self.requests[:, rows], amounts[TARGET], amounts[LOWER_BOUND], amounts[UPPER_BOUND])
        changing = are_worthwhile(standing, times, self.kills.of(rows))
        changing |= are_first
        if not changing.any():
            return
        rows, were, are = rows[changing], standing.requests[:, changing], standing.targets[:, changing]
        are = np.where(np.isnan(are), were, are)
        self.requests[:, rows] = are
        resized = ~are_first[changing]
        with np.errstate(invalid="ignore"):
            gains = np.nansum((are - were) / were, axis=0)
        self.resizes[rows] += resized
        self.increases[rows] += resized & (gains > 0.0)


def play(steps: Steps, player: Player, ratios: tuple[float, ...]) -> Course:
    """Play a strategy on all steps.

    Args:
        steps: The steps; those of a move are told at once.
        player: Has ``len(ratios)`` times as many rows as there are series, and has seen nothing.
        ratios: Ratios of the memory limit to the request.

    Raises:
        MisshapenError: The strategy returns something else than amounts for every row.
    """
    rows = _Rows(ratios, steps.count)
    offsets = np.arange(len(ratios)) * steps.count
    requests = np.full((2, len(ratios), len(steps)), np.nan)
    moments = np.zeros(len(rows.ratios))
    for move in steps.moves():
        usage = _usage(steps, move, offsets)
        requests[:, :, move] = rows.requests[:, usage.rows].reshape(2, len(ratios), -1)
        are_scored = np.tile(steps.are_scored[move], len(ratios))
        kills = rows.kill(usage, are_scored)
        player.observe(usage)
        if kills is not None:
            player.observe_ooms(kills)
        moments[usage.rows] = usage.ends_seconds
        are_first = np.tile(steps.are_last_unscored[move], len(ratios))
        deciding = are_scored | are_first
        if deciding.any():
            said = answer(player.recommend_each(moments), len(moments))
            rows.change(said, usage.rows[deciding], usage.ends_seconds[deciding], are_first[deciding])
    shape = (len(ratios), steps.count)
    return Course(
        ratios, requests, rows.ooms.reshape(shape), rows.resizes.reshape(shape), rows.increases.reshape(shape)
    )


def _usage(steps: Steps, move: slice, offsets: Integers) -> Usage:
    """Return the samples of a move, once for each ratio."""
    times = len(offsets)
    return Usage(
        (offsets[:, np.newaxis] + steps.rows[move]).ravel(),
        np.tile(steps.times[move], times),
        np.tile(steps.durations[move], times),
        np.tile(steps.cpu_cores[move], times),
        np.tile(steps.memory_bytes[move], times),
    )
