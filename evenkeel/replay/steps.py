"""Steps of many series as columns, cut into moves in which each series occurs at most once.

Spec: quality Q-1 to Q-3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.trace import Trace

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """All steps of some series, move by move.

    Args:
        count: Number of series.
        starts: int64[moves + 1], where each move begins.
        rows: int64[n], series of each step.
        times: float64[n], seconds.
        durations: float64[n], seconds.
        cpu_cores: float64[n], NaN where there is no sample.
        memory_bytes: float64[n], likewise.
        are_scored: bool[n], whether each lies behind its series' warm-up.
        are_last_unscored: bool[n], whether each is the last one of its series' warm-up.
    """

    count: int
    starts: Integers
    rows: Integers
    times: Floats
    durations: Floats
    cpu_cores: Floats
    memory_bytes: Floats
    are_scored: Flags
    are_last_unscored: Flags

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.rows)

    def moves(self) -> Iterator[slice]:
        """Yield the steps of each move."""
        for begin, end in pairwise(self.starts.tolist()):
            yield slice(begin, end)


def by_time(traces: Sequence[Trace]) -> Steps:
    """Return the steps in the order of time; those of one moment make a move."""
    whole = _whole(traces)
    order = np.argsort(whole.times, kind="stable")
    times = whole.times[order]
    return _cut(whole, order, np.flatnonzero(np.diff(times, prepend=-np.inf)))


def by_number(traces: Sequence[Trace]) -> Steps:
    """Return the first step of every series as a move, then the second ones and so on, whatever their times.

    Series whose times differ by seconds share moves so, of which there are several times fewer.
    """
    whole = _whole(traces)
    numbers = np.concatenate([np.arange(len(trace)) for trace in traces])
    order = np.argsort(numbers, kind="stable")
    return _cut(whole, order, np.flatnonzero(np.diff(numbers[order], prepend=-1)))


def _whole(traces: Sequence[Trace]) -> Steps:
    """Return the steps of one series after the other, as a single move."""
    scored = [trace.are_scored for trace in traces]
    sizes = [len(trace) for trace in traces]
    return Steps(
        len(traces),
        np.array([0, sum(sizes)]),
        np.repeat(np.arange(len(traces)), sizes),
        np.concatenate([trace.times - trace.times[0] for trace in traces]),
        np.concatenate([trace.durations for trace in traces]),
        np.concatenate([trace.cpu_cores for trace in traces]),
        np.concatenate([trace.memory_bytes for trace in traces]),
        np.concatenate(scored),
        np.concatenate([~each & np.append(each[1:], True) for each in scored]),
    )


def _cut(whole: Steps, order: Integers, starts: Integers) -> Steps:
    """Return steps in another order, cut where moves start."""
    return Steps(
        whole.count,
        np.append(starts, len(whole)),
        whole.rows[order],
        whole.times[order],
        whole.durations[order],
        whole.cpu_cores[order],
        whole.memory_bytes[order],
        whole.are_scored[order],
        whole.are_last_unscored[order],
    )
