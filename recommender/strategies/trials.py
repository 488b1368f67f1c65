"""What several ways to recommend would have cost so far, each with a request that it alone would have set.

A trial is a request that follows the targets of one way as an updater would let it. Of each the cost is kept: what it
left unused, what it lacked, how long it lacked something, how often that would have been a kill, and how often it
changed; the longer ago, the less it counts.

Spec: quality Q-18.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.holding import ChangeRule
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Forms, packed, unpacked
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_EVENT_SECONDS: Final = 299.0
"""A lack so long after the last event is another one (as quality Q-4 counts kills)."""

_DOUBT_SECONDS: Final = 24.0 * 3600
"""After so much history costs are heeded half as sharply as in the end."""

_MOST_DURATIONS: Final = 2.0
"""A sample stands for the time since the one before, but for no more than so many times its own length."""

_COLUMNS: Final = 4
_NUMBERS: Final = 3
_FORMS: Final[Forms] = {"trials": np.float64, "row": np.float64}


@dataclass(frozen=True, slots=True)
class CostRule:
    """What a trial costs, and what it takes to be heeded.

    Costs are amounts times seconds. Those that are none by themselves are told in seconds of the mean use.

    Args:
        change: When its request changes.
        lack: Cost of what is lacking, in times of what as much to spare costs.
        lacking_time: Cost of a second in which something is lacking, in seconds.
        event_seconds: Cost of each event of something lacking.
        change_seconds: Cost of each change.
        half_life_seconds: After which a cost counts half.
        sharpness: How fast a dearer trial loses weight: one of twice the least cost weighs exp(-sharpness) as much,
            once there is a long history.
    """

    change: ChangeRule
    lack: float
    lacking_time: float
    event_seconds: float
    change_seconds: float
    half_life_seconds: float
    sharpness: float


@dataclass(frozen=True, slots=True, eq=False)
class _Shortfall:
    """How a step went for each trial of each row; float64[n, trials], means over the samples of the step.

    Args:
        spare: Amount that was left.
        lack: Amount that was lacking.
        share: Share of the samples that lacked something.
    """

    spare: Floats
    lack: Floats
    share: Floats


class Trials:
    """The trials of each row.

    Args:
        rule: What they cost.
        count: How many there are of a row.
        rows: How many rows there are at first.
    """

    def __init__(self, rule: CostRule, count: int, rows: int) -> None:
        self._rule = rule
        self._count = count
        # Of each trial its request, when that changed, its last event, and what all that costs.
        self._requests, self._changed, self._events, self._costs = np.zeros((_COLUMNS, 0, count))
        # Of each row its last sample, and use and time, fading as costs do; NaN before the first sample.
        self._latest, self._use, self._time = np.zeros((_NUMBERS, 0))
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._requests, self._changed = grown(self._requests, rows, 0), grown(self._changed, rows, 0)
        self._events, self._costs = grown(self._events, rows, 0), grown(self._costs, rows, 0)
        self._use, self._time = grown(self._use, rows, 0), grown(self._time, rows, 0)
        self._latest = grown(self._latest, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for column in (self._requests, self._changed, self._events, self._costs):
            column[rows] = 0.0
        self._use[rows] = self._time[rows] = 0.0
        self._latest[rows] = np.nan

    def take(self, step: Step, targets: Floats) -> None:
        """Count what a step costs each trial, and let requests follow their targets.

        Args:
            step: Samples; requests are those in force until now.
            targets: float64[n, trials], of each row of the step after it.
        """
        rows, rule = step.rows, self._rule
        is_new = np.isnan(self._latest[rows])[:, np.newaxis]
        lengths = self._lengths(step)
        means = self._fade(step, lengths)[:, np.newaxis]
        seconds = step.seconds[:, np.newaxis]
        requests, changed, costs = self._requests[rows], self._changed[rows], self._costs[rows]
        found = _shortfall(step, requests)
        # The first step found no request.
        costs += np.where(is_new, 0.0, lengths[:, np.newaxis]) * (
            found.spare + rule.lack * found.lack + rule.lacking_time * found.share * means
        )
        if rule.event_seconds > 0.0:
            costs += rule.event_seconds * means * self._note_events(step, (found.share > 0.0) & ~is_new)
        due = rule.change.are_due(requests, targets, seconds - changed)
        costs += np.where(due & ~is_new, rule.change_seconds, 0.0) * means
        due |= is_new
        self._requests[rows] = np.where(due, targets, requests)
        self._changed[rows] = np.where(due, seconds, changed)
        self._costs[rows] = costs
        self._latest[rows] = np.fmax(self._latest[rows], step.seconds)

    def _lengths(self, step: Step) -> Floats:
        """Return the seconds that a step stands for in each row."""
        durations, latest = step.samples.durations[step.first], self._latest[step.rows]
        passed = np.minimum(np.maximum(step.seconds - latest, 0.0), _MOST_DURATIONS * durations)
        return np.where(np.isnan(latest), durations, passed)

    def _fade(self, step: Step, lengths: Floats) -> Floats:
        """Let time pass for the rows of a step, and return the mean use of each, the step included."""
        rows = step.rows
        passed = np.nan_to_num(np.maximum(step.seconds - self._latest[rows], 0.0))
        kept = np.exp2(-passed / self._rule.half_life_seconds)
        self._costs[rows] *= kept[:, np.newaxis]
        self._time[rows] = self._time[rows] * kept + lengths
        self._use[rows] = self._use[rows] * kept + lengths * _means(step)
        means: Floats = self._use[rows] / self._time[rows]
        return means

    def _note_events(self, step: Step, lacks: Flags) -> Floats:
        """Return 1 where there is another event, else 0, float64[n, trials]."""
        seconds, last = step.seconds[:, np.newaxis], self._events[step.rows]
        is_another = lacks & (seconds - last >= _EVENT_SECONDS)
        self._events[step.rows] = np.where(is_another, seconds, last)
        return is_another.astype(np.float64)

    def weights(self, rows: Integers) -> Floats:
        """Return how much each trial of some rows is heeded, float64[n, trials], 1 in all for each row."""
        costs, time = self._costs[rows], self._time[rows, np.newaxis]
        sharpness = self._rule.sharpness * time / (time + _DOUBT_SECONDS)
        least = costs.min(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            excess = (costs - least) / np.maximum(least, np.finfo(np.float64).tiny)
            weights: Floats = np.exp(-sharpness * excess)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def relative_costs(self, row: int) -> Floats:
        """Return what each trial of a row has cost, in shares of what was used, float64[trials]; 0 before any use."""
        costs, use = self._costs[row], self._use[row]
        return costs / use if use > 0.0 else np.zeros(len(costs))

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        trials = np.concatenate([self._requests[row], self._changed[row], self._events[row], self._costs[row]])
        return packed({"trials": trials, "row": np.array([self._latest[row], self._use[row], self._time[row]])})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, _FORMS)
        trials, numbers = found["trials"].astype(np.float64), found["row"].astype(np.float64)
        if len(trials) != _COLUMNS * self._count or len(numbers) != _NUMBERS:
            raise ValueError("saved state of a row: there are other numbers of trials")
        # Before the first sample there is no latest one.
        kept = np.append(trials, numbers if numbers[1:].any() else numbers[1:])
        if not np.isfinite(kept).all() or (kept < 0.0).any() or np.isinf(numbers[0]):
            raise ValueError("saved state of a row: a trial has impossible amounts")
        self._requests[row], self._changed[row], self._events[row], self._costs[row] = trials.reshape(_COLUMNS, -1)
        self._latest[row], self._use[row], self._time[row] = numbers


def _means(step: Step) -> Floats:
    """Return the mean amount of each row of a step."""
    amounts: Floats = np.add.reduceat(step.samples.amounts, step.first)
    return amounts / np.diff(step.first, append=len(step.samples.rows))


def _shortfall(step: Step, requests: Floats) -> _Shortfall:
    """Return how a step went with requests, float64[n, trials]."""
    samples = step.samples
    if len(step.first) == len(samples.rows):
        spare = requests - samples.amounts[:, np.newaxis]
        lack = np.maximum(-spare, 0.0)
        return _Shortfall(spare + lack, lack, (lack > 0.0).astype(np.float64))
    sizes = np.diff(step.first, append=len(samples.rows))
    spare = np.repeat(requests, sizes, axis=0) - samples.amounts[:, np.newaxis]
    lack = np.maximum(-spare, 0.0)
    parts = (spare + lack, lack, (lack > 0.0).astype(np.float64))
    return _Shortfall(*(np.add.reduceat(part, step.first, axis=0) / sizes[:, np.newaxis] for part in parts))
