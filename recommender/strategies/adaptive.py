"""Of many ways to recommend, those that would have been cheapest so far for each container.

Each way has a trial, of which the cost is kept. The target is the mean of all their targets, in which a cheap one
weighs much and a dear one next to nothing; it is held until another one is worth a change. Until a resource has two
days of history it is upstream's rule that recommends it.

Spec: beyond B-10; quality Q-2, Q-18.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.beginning import Beginning
from recommender.strategies.candidates import Family
from recommender.strategies.holding import Columns, Held
from recommender.strategies.interface import Bounds, Explanation, JsonObject, OomKills, ResourceBounds, Usage
from recommender.strategies.packing import nested, packed, unpacked_amount
from recommender.strategies.recent_maximum import RecentMaximum
from recommender.strategies.steps import Samples, Step, samples_of, steps
from recommender.strategies.trials import CostRule, Trials

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_DAY: Final = 24.0 * 3600
BEGINNING_SECONDS: Final = 2.0 * _DAY
"""History from which on trials are heeded."""

OOM_FACTOR: Final = 1.2
OOM_SECONDS: Final = _DAY

_TOLD: Final = 4
"""Candidates that an explanation names."""


@dataclass(frozen=True, slots=True)
class ContestRule:
    """How one resource is recommended.

    Args:
        family: The targets to choose from.
        costs: What they cost; what is recommended changes by the same rule as the request of a trial.
    """

    family: Family
    costs: CostRule


@dataclass(frozen=True, slots=True)
class AdaptiveStrategy:
    """A strategy that chooses for each container.

    Args:
        name: What ``spec.recommender.strategy`` calls it.
        cpu: How CPU is recommended.
        memory: How memory is.
    """

    name: str
    cpu: ContestRule
    memory: ContestRule

    def start(self, rows: int) -> AdaptiveState:
        """Return a state of so many rows that have seen nothing."""
        return AdaptiveState(self, rows)


class Contest:
    """One resource of all rows: the candidates, their trials, and what is held.

    Args:
        rule: How it is recommended.
        rows: How many rows there are at first.
    """

    def __init__(self, rule: ContestRule, rows: int) -> None:
        self._family, self._costs = rule.family, rule.costs
        self._estimates = rule.family.source(rows)
        self._trials = Trials(rule.costs, len(rule.family), rows)
        self.held = Held(rule.costs.change, rows)
        self._first: Floats = np.full(rows, np.nan)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for part in (self._estimates, self._trials, self.held):
            part.grow(rows)
        self._first = grown(self._first, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for part in (self._estimates, self._trials, self.held):
            part.clear(rows)
        self._first[rows] = np.nan

    def take(self, step: Step, least: Floats) -> None:
        """Take in samples.

        Args:
            step: The samples.
            least: float64[n], what the target of each row is at least, NaN for nothing.
        """
        rows, seconds = step.rows, step.seconds
        self._first[rows] = np.fmin(self._first[rows], seconds)
        targets = self._family.targets(self._estimates.take(step))
        self._trials.take(step, targets)
        mixed = np.fmax((self._trials.weights(rows) * targets).sum(axis=1), least)
        self.held.follow(rows, seconds, mixed)
        old = seconds - self._first[rows] >= BEGINNING_SECONDS
        self.held.begin(rows[old], seconds[old], mixed[old])

    def latest(self, rows: Integers) -> Floats:
        """Return the largest amount of the last step of some rows, float64[n], NaN where nothing was seen."""
        return self._estimates.latest(rows)

    def explain(self, row: int) -> str:
        """Say which candidates weigh most for a row, and what each has cost."""
        if np.isnan(self.held.amounts[row]):
            return f"upstream's rule, until there are {BEGINNING_SECONDS / _DAY:g} days of history"
        weights = self._trials.weights(np.array([row]))[0]
        costs = self._trials.relative_costs(row)
        order = np.argsort(-weights, kind="stable")
        told = [f"{weights[each]:.0%} {self._family.names[each]} (cost {costs[each]:.3g})" for each in order[:_TOLD]]
        rest = (
            f", {weights[order[_TOLD:]].sum():.0%} of {len(order) - _TOLD} others (cost from {costs[order[_TOLD]]:.3g})"
        )
        days = self._costs.half_life_seconds / _DAY
        return ", ".join(told) + rest + f"; costs are shares of the use, and count half after {days:g} days"

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        parts = (("estimates", self._estimates), ("trials", self._trials), ("held", self.held))
        return {**{name: dict(part.save(row)) for name, part in parts}, **packed({"first": self._first[row : row + 1]})}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        first = unpacked_amount(saved, "first")
        self._estimates.restore(row, nested(saved, "estimates"))
        self._trials.restore(row, nested(saved, "trials"))
        self.held.restore(row, nested(saved, "held"))
        self._first[row] = first


class AdaptiveState:
    """The state of such a strategy.

    Args:
        strategy: Its rules.
        rows: How many rows there are at first.
    """

    def __init__(self, strategy: AdaptiveStrategy, rows: int) -> None:
        self._rows = rows
        self._cpu = Contest(strategy.cpu, rows)
        self._memory = Contest(strategy.memory, rows)
        self._oom_needs = RecentMaximum(OOM_SECONDS, rows)
        self._beginning = Beginning(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._rows = rows
        for part in (self._cpu, self._memory, self._oom_needs, self._beginning):
            part.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for part in (self._cpu, self._memory, self._oom_needs, self._beginning):
            part.clear(rows)

    def observe(self, usage: Usage) -> None:
        """Take in samples, and change what is held where that is due."""
        self._beginning.observe(usage)
        of_cpu, of_memory = samples_of(usage)
        for step in steps(of_cpu):
            self._cpu.take(step, np.full(len(step.first), np.nan))
        for step in steps(of_memory):
            needs = self._oom_needs.of_last(step.rows, step.seconds, np.array([OOM_SECONDS]))
            self._memory.take(step, needs[:, 0])
        holds_all = ~np.isnan(self._cpu.held.amounts) & ~np.isnan(self._memory.held.amounts)
        done = np.flatnonzero(self._beginning.is_needed & holds_all)
        if len(done):
            self._beginning.release(done)

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills: what is held of memory is raised at once."""
        self._beginning.observe_ooms(kills)
        needs = OOM_FACTOR * np.fmax(kills.memory_bytes, self._memory.latest(kills.rows))
        for step in steps(Samples(kills.rows, kills.times_seconds, np.zeros(len(needs)), needs)):
            self._oom_needs.take(step)
            self._memory.held.raise_to(step.rows, step.seconds, step.largest)

    def recommend(self, now_seconds: float) -> Bounds:
        """Return what is held of every row, or what upstream's rule says."""
        return self.recommend_each(np.full(self._rows, now_seconds))

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return the same at a moment for each row; what is held already has what kills ask for."""
        cpu, memory = self._beginning.bounds()
        memory = _at_least(memory, self._oom_needs.estimate(moments_seconds))
        return Bounds(_first_known(self._cpu.held.bounds(), cpu), _first_known(self._memory.held.bounds(), memory))

    def explain(self, row: int) -> Explanation:
        """Say what the targets of a row come from."""
        return Explanation(self._cpu.explain(row), self._memory.explain(row))

    def save(self, row: int) -> JsonObject:
        """Return all that was seen of a row."""
        parts = (("cpu", self._cpu), ("memory", self._memory), ("oomNeeds", self._oom_needs))
        beginning = self._beginning.save(row)
        found = {name: dict(part.save(row)) for name, part in parts}
        return found if beginning is None else {**found, "beginning": dict(beginning)}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        self._cpu.restore(row, nested(saved, "cpu"))
        self._memory.restore(row, nested(saved, "memory"))
        self._oom_needs.restore(row, nested(saved, "oomNeeds"))
        self._beginning.restore(row, nested(saved, "beginning") if "beginning" in saved else None)


def _at_least(said: Columns, needs: Floats) -> Columns:
    """Return target and bounds that are no less than needs, NaN for none."""
    target = np.fmax(said.target, needs)
    return Columns(target, np.fmin(said.lower, target), np.fmax(said.upper, target))


def _first_known(first: Columns, second: Columns) -> ResourceBounds:
    """Return the first of two where it has a target, else the second."""
    known = ~np.isnan(first.target)
    columns = ((first.target, second.target), (first.lower, second.lower), (first.upper, second.upper))
    return ResourceBounds(*(np.where(known, one, other) for one, other in columns))
