"""Samples of one resource cut into steps, in each of which a row has those of one second (spec: quality Q-1, Q-2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.rows import run_starts
from recommender.strategies.interface import Usage

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples of one resource, in any order.

    Args:
        rows: int64[n].
        seconds: float64[n], end of each.
        durations: float64[n], seconds that each stands for.
        amounts: float64[n], cores or bytes.
    """

    rows: Integers
    seconds: Floats
    durations: Floats
    amounts: Floats

    def those(self, order: Integers) -> Samples:
        """Return some of them, in this order."""
        return Samples(self.rows[order], self.seconds[order], self.durations[order], self.amounts[order])


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What each of some rows used in one second: one sample for each of its pods.

    Args:
        samples: By ascending rows; ends are whole seconds.
        first: int64[k], place of each row's first sample.
    """

    samples: Samples
    first: Integers

    @property
    def rows(self) -> Integers:
        """The rows, int64[k], ascending and each once."""
        return self.samples.rows[self.first]

    @property
    def seconds(self) -> Floats:
        """End of each row's samples, float64[k]."""
        return self.samples.seconds[self.first]

    @property
    def largest(self) -> Floats:
        """Largest amount of each row, float64[k]."""
        found: Floats = np.maximum.reduceat(self.samples.amounts, self.first)
        return found


def samples_of(usage: Usage) -> tuple[Samples, Samples]:
    """Return the samples of CPU and those of memory."""
    parts = (np.flatnonzero(~np.isnan(amounts)) for amounts in (usage.cpu_cores, usage.memory_bytes))
    of_cpu, of_memory = parts
    return (
        Samples(usage.rows, usage.ends_seconds, usage.durations_seconds, usage.cpu_cores).those(of_cpu),
        Samples(usage.rows, usage.ends_seconds, usage.durations_seconds, usage.memory_bytes).those(of_memory),
    )


def steps(samples: Samples) -> Iterator[Step]:
    """Cut samples into steps, so that those of one row come in the order of time.

    Args:
        samples: In any order; ends are rounded up to whole seconds.
    """
    if not len(samples.rows):
        return
    seconds = np.ceil(samples.seconds)
    found = Samples(samples.rows, seconds, samples.durations, samples.amounts)
    if (samples.rows[1:] > samples.rows[:-1]).all():
        yield Step(found, np.arange(len(seconds)))
        return
    found = found.those(np.lexsort((seconds, samples.rows)))
    starts_row = run_starts(found.rows)
    starts_step = starts_row | run_starts(found.seconds)
    numbers = np.cumsum(starts_step)
    first = np.flatnonzero(starts_row)
    turns: Integers = numbers - np.repeat(numbers[first], np.diff(first, append=len(numbers)))
    by_turn = np.argsort(turns, kind="stable")
    begin = 0
    for end in np.cumsum(np.bincount(turns)).tolist():
        places = by_turn[begin:end]
        yield Step(found.those(places), np.flatnonzero(starts_step[places]))
        begin = end
