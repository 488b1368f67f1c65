"""Which samples share a histogram, and the histograms themselves with what is kept beside them.

Samples of all containers of one name in pods that share a key go into one aggregate: a CPU histogram and a histogram of
memory peaks. Upstream's key is the pod's full set of labels. What makes up the key is a function, so that another one
can go by the controllers above a pod, see ``owner_keys``.

Spec: recommender 3.1, 9.2; beyond:B-3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.pod import Pod
from autoscaling.policy import scaling_mode
from autoscaling.quantity import Quantity, within_64_bits
from autoscaling.stated_times import stated_duration
from autoscaling.vpa import ContainerPolicy, ScalingMode, UpdateMode
from recommender.amounts import truncated
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.histogram_bank import HistogramBank, WeightChanges
from recommender.instants import LATEST, NEVER, nanoseconds
from recommender.kernels.columns import readable
from recommender.kernels.intake import Histories
from recommender.kernels.suite import Kernels
from recommender.pair import Pair, in_turn
from recommender.rows import Occurrences, RowPool, chunks, doubled, grown
from recommender.settings import ModelSettings

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CPU_SAMPLE_WEIGHT: Final = 0.1
MEMORY_PEAK_WEIGHT: Final = 1.0
_MOST_INTERVALS: Final = 2**31 - 1

UPDATE_MODES: Final[tuple[UpdateMode | None, ...]] = (None, *UpdateMode)
"""Update mode of each code in ``AggregateTable.update_mode``; code 0 is an unset mode."""

_MODE_CODES: Final = {mode: code for code, mode in enumerate(UPDATE_MODES)}


class Basis(Enum):
    """What a sharing key goes by."""

    LABELS = "labels"
    CONTROLLER = "controller"
    UNSETTLED = "unsettled"
    """The controller, whose own controllers are not known yet; gives way to a key by what is found later."""


@dataclass(frozen=True, slots=True)
class SharingKey:
    """What pods have in common whose containers share histograms.

    Args:
        text: Tells the key from every other one in its namespace.
        labels: What selectors are matched against.
        basis: What it goes by.
    """

    text: str
    labels: Mapping[str, str]
    basis: Basis = Basis.LABELS


KeyFunction = Callable[[Pod], SharingKey]
"""Returns the key of a pod."""


def by_all_labels(pod: Pod) -> SharingKey:
    """Return upstream's key: the pod's full set of labels."""
    return SharingKey(",".join(f"{name}={pod.labels[name]}" for name in sorted(pod.labels)), pod.labels)


class AggregateTable:
    """All aggregates; row r of every array and of both banks belongs to aggregate r. Owned by one task.

    Attributes:
        cpu: Histograms of CPU use in cores.
        memory: Histograms of memory peaks in bytes.
        rows: Which rows are in use.
        first_sample: int64[rows], instant of the first CPU sample, ``LATEST`` before.
        last_sample: int64[rows], instant of the last CPU sample, ``NEVER`` before.
        last_peak: int64[rows], end of the last window that a memory peak was added for, ``NEVER`` before.
        sample_count: int64[rows], CPU samples.
        created: int64[rows], instant of creation.
        interval: int64[rows], nanoseconds for which a memory peak is kept.
        interval_count: int64[rows], intervals until the aggregate expires.
        oom_ratio: float64[rows], factor on memory in use at an OOM kill.
        oom_bump: int64[rows], bytes that are at least added then.
        is_under_vpa: bool[rows].
        is_scaled: bool[rows], whether the policy in force lets the container be scaled.
        update_mode: int8[rows], place in ``UPDATE_MODES``.
        last_cpu: int64[rows], last uncapped CPU target in millicores, 0 for none.
        last_memory: int64[rows], last uncapped memory target in bytes, 0 for none.
        oom_need: int64[rows], largest need in force that an OOM kill showed, in bytes, 0 for none.
        oom_need_until: int64[rows], instant until which it is in force.
        kernels: What goes through the columns of batches; numpy does where there are none.
        both: Does what the histograms of CPU and those of memory need apart from each other.
    """

    def __init__(self, settings: ModelSettings, capacity: int = 64) -> None:
        self.settings = settings
        self._default_interval = nanoseconds(settings.memory_interval)
        self._default_bump = _bytes(settings.oom_min_bump_up_bytes)
        self.rows = RowPool()
        self.cpu = HistogramBank(CPU_BUCKETS, settings.cpu_half_life, capacity)
        self.memory = HistogramBank(MEMORY_BUCKETS, settings.memory_half_life, capacity)
        self.first_sample: Integers = np.zeros(capacity, dtype=np.int64)
        self.last_sample: Integers = np.zeros(capacity, dtype=np.int64)
        self.last_peak: Integers = np.zeros(capacity, dtype=np.int64)
        self.sample_count: Integers = np.zeros(capacity, dtype=np.int64)
        self.created: Integers = np.zeros(capacity, dtype=np.int64)
        self.interval: Integers = np.zeros(capacity, dtype=np.int64)
        self.interval_count: Integers = np.zeros(capacity, dtype=np.int64)
        self.oom_ratio: Floats = np.zeros(capacity)
        self.oom_bump: Integers = np.zeros(capacity, dtype=np.int64)
        self.is_under_vpa: Flags = np.zeros(capacity, dtype=np.bool_)
        self.is_scaled: Flags = np.zeros(capacity, dtype=np.bool_)
        self.update_mode: NDArray[np.int8] = np.zeros(capacity, dtype=np.int8)
        self.last_cpu: Integers = np.zeros(capacity, dtype=np.int64)
        self.last_memory: Integers = np.zeros(capacity, dtype=np.int64)
        self.oom_need: Integers = np.zeros(capacity, dtype=np.int64)
        self.oom_need_until: Integers = np.zeros(capacity, dtype=np.int64)
        self.kernels: Kernels | None = None
        self.both: Pair = in_turn

    def use(self, kernels: Kernels | None, both: Pair = in_turn) -> None:
        """Work with kernels from now on, or with numpy, and at both resources at a time or not, with the same results.

        Args:
            kernels: None for numpy.
            both: A second thread pays where kernels let it run beside the first one.
        """
        self.kernels = self.cpu.kernels = self.memory.kernels = kernels
        self.both = both

    def create(self, now: int) -> int:
        """Return the row of a new, empty aggregate.

        Args:
            now: Instant of creation.
        """
        row = self.rows.take()
        if row >= len(self.created):
            self._grow(row + 1)
        self.first_sample[row], self.last_sample[row] = LATEST, NEVER
        self.last_peak[row] = NEVER
        self.sample_count[row] = 0
        self.created[row] = now
        self.interval[row] = self._default_interval
        self.interval_count[row] = self.settings.memory_interval_count
        self.oom_ratio[row] = self.settings.oom_bump_up_ratio
        self.oom_bump[row] = self._default_bump
        self.oom_need[row] = self.oom_need_until[row] = 0
        self.detach(row)
        return row

    def _grow(self, needed: int) -> None:
        capacity = doubled(len(self.created), needed)
        self.cpu.reserve(capacity)
        self.memory.reserve(capacity)
        self.first_sample = grown(self.first_sample, capacity, 0)
        self.last_sample = grown(self.last_sample, capacity, 0)
        self.last_peak = grown(self.last_peak, capacity, 0)
        self.sample_count = grown(self.sample_count, capacity, 0)
        self.created = grown(self.created, capacity, 0)
        self.interval = grown(self.interval, capacity, 0)
        self.interval_count = grown(self.interval_count, capacity, 0)
        self.oom_ratio = grown(self.oom_ratio, capacity, 0)
        self.oom_bump = grown(self.oom_bump, capacity, 0)
        self.is_under_vpa = grown(self.is_under_vpa, capacity, 0)
        self.is_scaled = grown(self.is_scaled, capacity, 0)
        self.update_mode = grown(self.update_mode, capacity, 0)
        self.last_cpu = grown(self.last_cpu, capacity, 0)
        self.last_memory = grown(self.last_memory, capacity, 0)
        self.oom_need = grown(self.oom_need, capacity, 0)
        self.oom_need_until = grown(self.oom_need_until, capacity, 0)

    def release(self, row: int) -> None:
        """Forget an aggregate."""
        rows = np.array([row], dtype=np.int64)
        self.cpu.clear(rows)
        self.memory.clear(rows)
        self.rows.release(row)

    def detach(self, row: int) -> None:
        """Mark an aggregate as no VPA's; overridden intervals and OOM values stay (recommender 3.2)."""
        self.is_under_vpa[row] = self.is_scaled[row] = False
        self.update_mode[row] = 0
        self.last_cpu[row] = self.last_memory[row] = 0

    def apply_mode(self, row: int, mode: UpdateMode | None) -> None:
        """Note the update mode of the VPA that an aggregate belongs to."""
        self.update_mode[row] = _MODE_CODES[mode]

    def apply_policy(self, row: int, policy: ContainerPolicy | None) -> None:
        """Note what a container policy says; a value that it does not name stays as it is (recommender 9.2)."""
        self.is_scaled[row] = scaling_mode(policy) is not ScalingMode.OFF
        if policy is None or not self.settings.per_vpa_config:
            return
        if policy.oom_bump_up_ratio is not None:
            self.oom_ratio[row] = _thousandths(policy.oom_bump_up_ratio)
        if policy.oom_min_bump_up is not None:
            self.oom_bump[row] = _bytes(_thousandths(policy.oom_min_bump_up))
        if policy.memory_aggregation_interval_seconds is not None:
            self.interval[row] = nanoseconds(stated_duration(policy.memory_aggregation_interval_seconds))
        if policy.memory_aggregation_interval_count is not None:
            self.interval_count[row] = min(policy.memory_aggregation_interval_count, _MOST_INTERVALS)

    def add_cpu(self, rows: Integers, millicores: Integers, instants: Integers) -> None:
        """Add CPU samples, in this order.

        Args:
            rows: int64[n], aggregate of each sample.
            millicores: int64[n].
            instants: int64[n], nanoseconds since the epoch.

        Raises:
            ValueError: A sample has no aggregate.
        """
        _check(rows)
        self.add_cpu_of(Occurrences.of(rows), millicores, instants)

    def add_cpu_of(self, feeding: Occurrences, millicores: Integers, instants: Integers) -> None:
        """Add CPU samples, in this order.

        Args:
            feeding: Aggregate of each sample, at least 0.
            millicores: int64[n].
            instants: int64[n], nanoseconds since the epoch.
        """
        for piece in chunks(len(instants)):
            buckets = CPU_BUCKETS.bucket_of_amounts(millicores[piece])
            weight, when = CPU_SAMPLE_WEIGHT, instants[piece]
            self.cpu.apply(WeightChanges(feeding.rows[piece], buckets, weight, when, distinct=feeding.distinct))
        self.count_samples(feeding, instants)

    def count_samples(self, feeding: Occurrences, instants: Integers) -> None:
        """Let histories grow in length and number of samples.

        Args:
            feeding: Aggregate of each sample, at least 0.
            instants: int64[n], nanoseconds since the epoch.
        """
        rows = feeding.rows
        if self.kernels is not None:
            histories = Histories(self.first_sample, self.last_sample, self.sample_count)
            self.kernels.count(readable(rows), readable(instants), histories)
            return
        # A fetch hardly ever reaches back before a history began: that is told from the aggregates, not the samples.
        if len(rows) and self.first_sample.take(feeding.distinct).max() > instants.min():
            np.minimum.at(self.first_sample, rows, instants)
        np.maximum.at(self.last_sample, rows, instants)
        self.sample_count[feeding.distinct] += feeding.counts

    def change_peaks(self, rows: Integers, peaks: Integers, instants: Integers, taken: Flags) -> None:
        """Add and take memory peaks, in this order.

        Args:
            rows: int64[n], aggregate of each peak.
            peaks: int64[n], bytes.
            instants: int64[n], end of the window of each peak.
            taken: bool[n], whether the peak is taken away.

        Raises:
            ValueError: A peak has no aggregate.
        """
        _check(rows)
        buckets = MEMORY_BUCKETS.bucket_of_amounts(peaks)
        self.memory.apply(WeightChanges(rows, buckets, MEMORY_PEAK_WEIGHT, instants, taken))
        np.maximum.at(self.last_peak, rows, instants)

    def absorb(self, row: int, other: int) -> None:
        """Let an aggregate take over all that another one has seen; the other one is left to be released."""
        rows, others = np.array([row], dtype=np.int64), np.array([other], dtype=np.int64)
        self.cpu.merge(rows, self.cpu, others)
        self.memory.merge(rows, self.memory, others)
        self.first_sample[row] = min(self.first_sample[row], self.first_sample[other])
        for column in (self.last_sample, self.last_peak, self.oom_need, self.oom_need_until):
            column[row] = max(column[row], column[other])
        self.sample_count[row] += self.sample_count[other]
        self.created[row] = min(self.created[row], self.created[other])


def _thousandths(amount: Quantity) -> float:
    """Return an amount as a number, from a whole number of thousandths within 64 bits."""
    return within_64_bits(amount.milli_value()) / 1000.0


def _bytes(amount: float) -> int:
    return int(truncated(np.array([amount]))[0])


def _check(rows: Integers) -> None:
    """Refuse the rows that stand for no aggregate, which numpy would count from the end of the table."""
    if len(rows) and rows.min() < 0:
        raise ValueError(f"sample of aggregate {rows.min()}: resolve the rows of containers anew for every batch")
