"""Strategies that no recommender can follow: one knows what is to come, one goes by the warm-up and never looks again.

They hold a place in the recordings for every row and are told nothing; of a step they learn which row it belongs to.

Spec: quality Q-13, Q-17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.trace import Trace
from recommender.strategies.interface import Bounds, OomKills, ResourceBounds, Usage

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLOORS: Final = (0.01, 1e7)
"""Least targets of an oracle: cores, bytes."""

STATIC_MARGIN: Final = 1.15


@dataclass(slots=True, eq=False)
class Hindsight:
    """A state whose targets are known from the start, with a row for each series.

    Args:
        paths: float64[2, steps], cores and bytes to request after each step, one series after the other.
        starts: int64[rows], where the path of each row begins.
        is_exact: Whether a request is to be what is said and nothing near it.
    """

    paths: Floats
    starts: Integers
    is_exact: bool
    _passed: Integers = field(init=False)

    def __post_init__(self) -> None:
        self._passed = np.full(len(self.starts), -1)

    def observe(self, usage: Usage) -> None:
        """Step on with the rows that occur."""
        self._passed[usage.rows] += 1

    def observe_ooms(self, kills: OomKills) -> None:
        """Do nothing: what is said does not depend on it."""

    def recommend_each(self, moments_seconds: Floats) -> Bounds:  # noqa: ARG002 a path goes by steps
        """Return what the path of every row says after its last step."""
        cpu, memory = self.paths[:, self.starts + np.maximum(self._passed, 0)]
        if self.is_exact:
            return Bounds(ResourceBounds(cpu, cpu, cpu), ResourceBounds(memory, memory, memory))
        return Bounds(ResourceBounds(cpu), ResourceBounds(memory))


def oracle(traces: Sequence[Trace], interval_seconds: float) -> Hindsight:
    """Return what always requests the most that is used until it can decide again.

    Args:
        traces: The series.
        interval_seconds: From one decision to the next.
    """
    return _hindsight([_foreseen(trace, interval_seconds) for trace in traces], is_exact=True)


def static(traces: Sequence[Trace]) -> Hindsight:
    """Return what requests some more than the most that was used in the warm-up, ever after.

    Args:
        traces: The series.
    """
    return _hindsight([_settled(trace) for trace in traces], is_exact=False)


def _hindsight(paths: Sequence[Floats], *, is_exact: bool) -> Hindsight:
    sizes = [path.shape[1] for path in paths]
    starts = np.cumsum(sizes) - sizes
    return Hindsight(np.concatenate(paths, axis=1), starts, is_exact)


def _uses(trace: Trace) -> Floats:
    return np.stack((trace.cpu_cores, trace.memory_bytes))


def _foreseen(trace: Trace, interval_seconds: float) -> Floats:
    """Return float64[2, steps], the most that is used until a decision after the last one is in force."""
    first = int(np.flatnonzero(~trace.are_scored)[-1])
    decisions = [first]
    while (following := int(np.searchsorted(trace.times, trace.times[decisions[-1]] + interval_seconds))) < len(trace):
        decisions.append(following)
    # What is decided after a step counts from the next one on, up to the step of the next decision.
    begins = np.array([each + 1 for each in decisions if each + 1 < len(trace)])
    uses = np.nan_to_num(_uses(trace), nan=0.0)
    most = np.maximum(np.maximum.reduceat(uses, begins, axis=1), np.array(FLOORS)[:, np.newaxis])
    path = np.full(uses.shape, np.nan)
    path[:, first:] = np.repeat(most, np.diff(np.append(begins - 1, len(trace))), axis=1)
    path[np.isnan(_uses(trace)).all(axis=1)] = np.nan
    return path


def _settled(trace: Trace) -> Floats:
    """Return float64[2, steps], always the same."""
    seen = _uses(trace)[:, ~trace.are_scored]
    most = np.fmax.reduce(seen, axis=1)
    return np.repeat(STATIC_MARGIN * most[:, np.newaxis], len(trace), axis=1)
