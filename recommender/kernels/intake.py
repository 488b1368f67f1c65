"""Which samples count, and what they change (spec: recommender:2.1, recommender:2.2, performance:R-1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recommender.instants import NEVER
from recommender.kernels.columns import Flags, Integers, ReadIntegers


class Samples(NamedTuple):
    """Samples of one resource, in the order in which they are taken in.

    Args:
        containers: int64[n], container rows; one may occur more than once.
        instants: int64[n], nanoseconds since the epoch.
        amounts: int64[n], millicores or bytes.
    """

    containers: ReadIntegers
    instants: ReadIntegers
    amounts: ReadIntegers


class Windows(NamedTuple):
    """The memory windows of containers.

    Args:
        last_memory: int64[containers], instant of the last sample taken in.
        window_end: int64[containers], end of the running window, ``NEVER`` before the first sample.
        peak: int64[containers], bytes, what stands for the window in the histogram.
        memory_peak: int64[containers], bytes, its last peak that was use.
        aggregate: int64[containers], row of each one's aggregate.
        interval: int64[aggregates], nanoseconds of a window.
        do_zeros_stay: Whether a window that began with a use of zero keeps it.
    """

    last_memory: Integers
    window_end: Integers
    peak: Integers
    memory_peak: Integers
    aggregate: ReadIntegers
    interval: ReadIntegers
    do_zeros_stay: bool


class Peaks(NamedTuple):
    """Peaks to add to histograms and to take from them, in this order; two at most for each sample.

    Args:
        rows: int64[n], aggregates.
        peaks: int64[n], bytes.
        instants: int64[n], ends of the windows.
        taken: bool[n], whether the peak is taken away.
    """

    rows: Integers
    peaks: Integers
    instants: Integers
    taken: Flags


class Histories(NamedTuple):
    """How long aggregates have been fed, and by how many samples.

    Args:
        first_sample: int64[aggregates], instant of the first one.
        last_sample: int64[aggregates], instant of the last one.
        sample_count: int64[aggregates].
    """

    first_sample: Integers
    last_sample: Integers
    sample_count: Integers


def accept_cpu(samples: Samples, last_cpu: Integers, accepted: Flags) -> int:
    """Find the CPU samples that count: not negative, and each later than the one before of its container.

    Args:
        samples: The batch.
        last_cpu: int64[containers], instant of each one's last sample; moves on.
        accepted: bool[n], receives whether a sample counts.

    Returns:
        How many do.
    """
    containers, instants, amounts = samples
    count = 0
    for place in range(len(containers)):
        container = np.uint64(containers[place])
        counts = amounts[place] >= 0 and instants[place] > last_cpu[container]
        accepted[place] = counts
        if counts:
            last_cpu[container] = instants[place]
            count += 1
    return count


def count(rows: ReadIntegers, instants: ReadIntegers, histories: Histories) -> None:
    """Let histories grow in length and number of samples.

    Args:
        rows: int64[n], aggregate of each sample.
        instants: int64[n], nanoseconds since the epoch.
        histories: Grow.
    """
    first_sample, last_sample, sample_count = histories
    for place in range(len(rows)):
        row, instant = np.uint64(rows[place]), instants[place]
        first_sample[row] = min(first_sample[row], instant)
        last_sample[row] = max(last_sample[row], instant)
        sample_count[row] += 1


def move_windows(samples: Samples, windows: Windows, accepted: Flags, changes: Peaks) -> int:
    """Take in samples of memory use: not negative, and none older than the one before of its container.

    Args:
        samples: The batch; the container of every sample that counts has its aggregate.
        windows: Move on.
        accepted: bool[n], receives whether a sample counts.
        changes: Receives what is left to be brought to the histograms; it has room for two of each sample.

    Returns:
        How many changes that are.
    """
    last_memory, window_end, peak, memory_peak, aggregate, interval, do_zeros_stay = windows
    rows, peaks, ends, taken = changes
    count = 0
    for place in range(len(samples.containers)):
        container, instant, amount = (
            np.uint64(samples.containers[place]),
            samples.instants[place],
            samples.amounts[place],
        )
        counts = amount >= 0 and instant >= last_memory[container]
        accepted[place] = counts
        if not counts:
            continue
        last_memory[container] = instant
        end, row = window_end[container], aggregate[container]
        if instant >= end:
            begin = instant if end == NEVER else end
            length = interval[np.uint64(row)]
            end = begin + (instant - begin) // length * length + length
            window_end[container] = end
        elif amount > peak[container] and (peak[container] != 0 or not do_zeros_stay):
            rows[count], peaks[count], ends[count], taken[count] = row, peak[container], end, True
            count += 1
        else:
            continue
        peak[container] = memory_peak[container] = amount
        rows[count], peaks[count], ends[count], taken[count] = row, amount, end, False
        count += 1
    return count
