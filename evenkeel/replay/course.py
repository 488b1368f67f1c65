"""One strategy on recorded use: observe, recommend, change requests, step by step (spec: quality Q-2 to Q-5).

All series go side by side as rows of one state; a series that is to be played at two ratios of limit to request is two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.changes import Kills, are_worthwhile
from evenkeel.replay.steps import Steps
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.strategies.answers import Answer, MisshapenError, answer
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
    """What became of every series.

    Args:
        requests: float64[2, steps], cores and bytes in force in each of the steps; NaN before the first.
        limits: float64[steps], bytes, likewise; there is no CPU limit.
        are_killed: bool[steps], where an OOM event begins.
        ooms: int64[series], OOM events.
        resizes: int64[series], changes of one or both requests.
        increases: int64[series], those of them that give more.
    """

    requests: Floats
    limits: Floats
    are_killed: Flags
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
    """Where every series stands while the steps go by."""

    def __init__(self, ratios: Floats, *, limits_stay: bool) -> None:
        self._ratios = ratios
        self._limits_stay = limits_stay
        self.requests: Floats = np.full((2, len(ratios)), np.nan)
        self.limits: Floats = np.full(len(ratios), np.nan)
        self.kills = Kills.none(len(ratios))
        self.ooms, self.resizes, self.increases = np.zeros((3, len(ratios)), dtype=np.int64)

    def kill(self, usage: Usage, are_scored: Flags) -> Flags:
        """Note which rows run out of memory in a step, and say so of each of its samples.

        Args:
            usage: Of the step.
            are_scored: bool[n], in which of them it counts.
        """
        rows = usage.rows
        over: Flags = are_scored & (usage.memory_bytes > self.limits[rows])
        if not over.any():
            return over
        over &= usage.ends_seconds - self.kills.last[rows] >= _OOM_SPACING_SECONDS
        rows = rows[over]
        self.kills.before[rows] = self.kills.last[rows]
        self.kills.last[rows] = usage.ends_seconds[over]
        self.ooms[rows] += 1
        return over

    def change(self, said: Answer, rows: Integers, times: Floats, are_first: Flags) -> None:
        """Take over targets where they are the first ones, or where the updater would.

        Args:
            said: What the strategy recommends, for all rows.
            rows: int64[n], rows that may change.
            times: float64[n], seconds.
            are_first: bool[n], whether the warm-up ends here.
        """
        amounts = np.stack((said.cpu, said.memory), axis=1).take(rows, axis=2)
        if self._limits_stay:
            memory, limits = amounts[:, MEMORY_PLACE], self.limits[rows]
            amounts[:, MEMORY_PLACE] = np.where(memory > limits, limits, memory)
        requests = self.requests.take(rows, axis=1)
        standing = Standing(requests, amounts[TARGET], amounts[LOWER_BOUND], amounts[UPPER_BOUND])
        changing = are_worthwhile(standing, times, self.kills.of(rows))
        changing |= are_first
        if not changing.any():
            return
        rows, were, are = rows[changing], standing.requests[:, changing], standing.targets[:, changing]
        are = np.where(np.isnan(are), were, are)
        self.requests[:, rows] = are
        moving = rows[np.isnan(self.limits[rows])] if self._limits_stay else rows
        self.limits[moving] = self._ratios[moving] * self.requests[MEMORY_PLACE, moving]
        resized = ~are_first[changing]
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.nansum((are - were) / were, axis=0)
        self.resizes[rows] += resized
        self.increases[rows] += resized & (gains > 0.0)


def play(steps: Steps, player: Player, ratios: Floats, *, limits_stay: bool = False) -> Course:
    """Play a strategy on all steps.

    Args:
        steps: The steps; those of a move are told at once.
        player: Has a row for each series, and has seen nothing.
        ratios: float64[series], memory limit in shares of the request.
        limits_stay: Whether limits go by the first requests for ever, and bound the later ones, as RequestsOnly has it.

    Raises:
        MisshapenError: The strategy returns something else than possible amounts for every row.
    """
    rows = _Rows(ratios, limits_stay=limits_stay)
    requests, limits = np.full((2, len(steps)), np.nan), np.full(len(steps), np.nan)
    are_killed = np.zeros(len(steps), dtype=np.bool_)
    moments = np.zeros(steps.count)
    deciding = steps.are_scored | steps.are_last_unscored
    for move in steps.moves():
        usage = Usage(
            steps.rows[move],
            steps.times[move],
            steps.durations[move],
            steps.cpu_cores[move],
            steps.memory_bytes[move],
        )
        requests[:, move] = rows.requests.take(usage.rows, axis=1)
        limits[move] = rows.limits.take(usage.rows)
        over = are_killed[move] = rows.kill(usage, steps.are_scored[move])
        player.observe(usage)
        if over.any():
            killed = usage.rows[over]
            player.observe_ooms(OomKills(killed, usage.ends_seconds[over], rows.requests[MEMORY_PLACE, killed]))
        moments[usage.rows] = usage.ends_seconds
        chosen = deciding[move]
        if chosen.any():
            said = answer(player.recommend_each(moments), len(moments))
            if said.is_impossible.any():
                raise MisshapenError("an amount is negative or infinite, or a target is not within its bounds")
            rows.change(said, usage.rows[chosen], usage.ends_seconds[chosen], steps.are_last_unscored[move][chosen])
    return Course(requests, limits, are_killed, rows.ooms, rows.resizes, rows.increases)
