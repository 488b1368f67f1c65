"""Histograms, memory windows and OOM kills of rows of their own, by the same code that the process runs.

Spec: beyond B-10; quality Q-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import CPU_SAMPLE_WEIGHT, AggregateTable
from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.buckets import CPU_BUCKETS
from recommender.container_table import ContainerTable
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND, amounts, shares
from recommender.grouping import MergedUsage
from recommender.histogram_bank import HistogramBank, WeightChanges
from recommender.instants import LATEST, LATEST_MOMENT, NEVER, SECOND
from recommender.kernels.suite import Kernels
from recommender.memory_peaks import take_memory
from recommender.oom import take_ooms
from recommender.oom_needs import lapse, raised
from recommender.rows import grown
from recommender.samples import SampleColumns, turns
from recommender.settings import EstimatorSettings, ModelSettings
from recommender.strategies.interface import Bounds, JsonObject, OomKills, ResourceBounds, Usage

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SAMPLE_SECONDS: Final = 60.0
"""Time that one sample of the metrics API stands for; others weigh in proportion."""


class _SavedHistogram(msgspec.Struct, frozen=True):
    reference: int
    total: float
    weights: Mapping[int, float]


class _SavedRow(msgspec.Struct, frozen=True):
    cpu: _SavedHistogram
    memory: _SavedHistogram
    first_sample: int
    last_sample: int
    samples: float
    window_end: int
    last_memory: int
    peak: int
    usage_peak: int
    oom_need: int
    oom_need_until: int


class BankState:
    """The state of a strategy by histograms; a row is one container alone in its pod.

    Args:
        model: How samples become histograms.
        estimator: How histograms become amounts.
        rows: How many rows there are at first.
    """

    def __init__(self, model: ModelSettings, estimator: EstimatorSettings, rows: int) -> None:
        self._estimator = estimator
        self._aggregates = AggregateTable(model)
        self._containers = ContainerTable()
        self._samples: Floats = np.zeros(0)
        self.grow(rows)

    def use(self, kernels: Kernels | None) -> None:
        """Work with kernels from now on, or with numpy, with the same results."""
        self._aggregates.use(kernels)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for _ in range(len(self._samples), rows):
            self._containers.create(self._aggregates.create(0))
        self._samples = grown(self._samples, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for row in rows.tolist():
            # What was released last is what is handed out next.
            self._containers.release(row)
            self._aggregates.release(row)
            self._containers.create(self._aggregates.create(0))
        self._samples[rows] = 0.0

    def observe(self, usage: Usage) -> None:
        """Take in samples; one that stands for longer weighs more, of memory its window's peak alone counts."""
        has_cpu, has_memory = ~np.isnan(usage.cpu_cores), ~np.isnan(usage.memory_bytes)
        instants = _instants(usage.ends_seconds)
        shares = usage.durations_seconds / _SAMPLE_SECONDS
        self._aggregates.cpu.apply(
            WeightChanges(
                usage.rows[has_cpu],
                CPU_BUCKETS.bucket_of_values(usage.cpu_cores[has_cpu]),
                CPU_SAMPLE_WEIGHT * shares[has_cpu],
                instants[has_cpu],
            )
        )
        self._count(usage.rows, instants, shares, has_cpu | has_memory)
        samples = SampleColumns(usage.rows[has_memory], instants[has_memory], truncated(usage.memory_bytes[has_memory]))
        take_memory(self._containers, self._aggregates, samples, turns(self._containers, samples.containers))

    def _count(self, rows: Integers, instants: Integers, shares: Floats, counted: Flags) -> None:
        """Let histories grow; a sample of memory alone counts as one of CPU does."""
        rows, instants = rows[counted], instants[counted]
        np.minimum.at(self._aggregates.first_sample, rows, instants)
        np.maximum.at(self._aggregates.last_sample, rows, instants)
        np.add.at(self._samples, rows, shares[counted])

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in kills."""
        samples = SampleColumns(kills.rows, _instants(kills.times_seconds), truncated(kills.memory_bytes))
        take_ooms(self._containers, self._aggregates, samples)

    def recommend(self, now_seconds: float) -> Bounds:
        """Return target and bounds of every row; none of a resource of which nothing was seen."""
        return self.recommend_each(np.full(len(self._samples), now_seconds))

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return target and bounds of every row at a moment of its own."""
        aggregates = self._aggregates
        lapse(aggregates, grown(_instants(moments_seconds), len(aggregates.oom_need_until), NEVER))
        return self.bounds(np.arange(len(self._samples)))

    def bounds(self, rows: Integers) -> Bounds:
        """Return target and bounds of some rows; they change by samples and kills alone, but for needs that lapse.

        Args:
            rows: int64[n].
        """
        aggregates = self._aggregates
        first = aggregates.first_sample[rows]
        usage = MergedUsage(
            aggregates.cpu.percentile(rows, self._estimator.cpu.in_order()),
            aggregates.memory.percentile(rows, self._estimator.memory.in_order()),
            np.where(first == LATEST, NEVER, first),
            aggregates.last_sample[rows],
            self._samples[rows],
        )
        least = shares(np.ones(len(rows), dtype=np.int64), self._estimator)
        found = amounts(raised(usage, aggregates.oom_need[rows]), least, self._estimator)
        return Bounds(
            _bounds(found.cpu / MILLICORES_PER_CORE, aggregates.cpu.is_empty(rows)),
            _bounds(found.memory.astype(np.float64), aggregates.memory.is_empty(rows)),
        )

    def save(self, row: int) -> JsonObject:
        """Return all that was seen of a row, to the last bit."""
        aggregates, containers = self._aggregates, self._containers
        saved = _SavedRow(
            _saved_histogram(aggregates.cpu, row),
            _saved_histogram(aggregates.memory, row),
            int(aggregates.first_sample[row]),
            int(aggregates.last_sample[row]),
            float(self._samples[row]),
            int(containers.window_end[row]),
            int(containers.last_memory[row]),
            int(containers.peak[row]),
            int(containers.memory_peak[row]),
            int(aggregates.oom_need[row]),
            int(aggregates.oom_need_until[row]),
        )
        body: JsonObject = msgspec.to_builtins(saved, str_keys=True)
        return body

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: The form is another one, or a bucket is out of range.
        """
        try:
            found = msgspec.convert(saved, _SavedRow, str_keys=True)
        except msgspec.ValidationError as error:
            raise ValueError(f"saved state of a row: {error}") from error
        aggregates, containers = self._aggregates, self._containers
        _restore_histogram(aggregates.cpu, row, found.cpu)
        _restore_histogram(aggregates.memory, row, found.memory)
        aggregates.first_sample[row], aggregates.last_sample[row] = found.first_sample, found.last_sample
        self._samples[row] = found.samples
        containers.window_end[row], containers.last_memory[row] = found.window_end, found.last_memory
        containers.peak[row], containers.memory_peak[row] = found.peak, found.usage_peak
        aggregates.oom_need[row], aggregates.oom_need_until[row] = found.oom_need, found.oom_need_until


def _instants(seconds: Floats) -> Integers:
    """Return seconds since the epoch as instants, int64[n]."""
    whole = np.floor(seconds)
    return whole.astype(np.int64) * SECOND + np.rint((seconds - whole) * SECOND).astype(np.int64)


def _bounds(values: Floats, is_empty: Flags) -> ResourceBounds:
    values[:, is_empty] = np.nan
    return ResourceBounds(values[TARGET], values[LOWER_BOUND], values[UPPER_BOUND])


def _saved_histogram(bank: HistogramBank, row: int) -> _SavedHistogram:
    filled = np.flatnonzero(bank.weights[row])
    weights = dict(zip(filled.tolist(), bank.weights[row, filled].tolist(), strict=True))
    return _SavedHistogram(int(bank.references[np.array([row])][0]), float(bank.totals[row]), weights)


def _restore_histogram(bank: HistogramBank, row: int, saved: _SavedHistogram) -> None:
    buckets = np.array(list(saved.weights), dtype=np.int64)
    if len(buckets) and not (buckets.min() >= 0 and buckets.max() < bank.scheme.count):
        raise ValueError(f"saved state of a row: a bucket is outside 0 to {bank.scheme.count - 1}")
    if saved.reference > LATEST_MOMENT:
        raise ValueError(f"saved state of a row: reference time {saved.reference} is none of ours")
    bank.weights[row, buckets] = list(saved.weights.values())
    bank.totals[row] = saved.total
    rows = np.array([row], dtype=np.int64)
    bank.references[rows] = np.array([saved.reference], dtype=np.int64)
    bank.find_range(rows)
