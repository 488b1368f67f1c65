"""A Prometheus histogram that takes a whole round's values at once.

The client library's own histogram costs a walk through its buckets for each value, and leaves out the sum where bucket
ends are negative. A round of the recommender has a value for each container and some ends are negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from autoscaling.runtime.go_literals import format_float
from recommender.doubling_buckets import Tally
from recommender.rising_buckets import RisingBuckets


class BulkHistogram(Collector):
    """Counts of values per bucket, for each combination of labels.

    Args:
        name: Name of the family.
        documentation: Its help text.
        labels: Names of the labels, in the order in which values are given.
        bounds: Upper ends of the buckets, rising; an end belongs to its bucket.
        registry: Where the family is exposed.

    Attributes:
        buckets: The buckets.
    """

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._family = (name, documentation, tuple(labels))
        self.buckets = RisingBuckets(bounds)
        # How many values lie in a bucket or in one before it, as they are exposed.
        self._counts: dict[tuple[str, ...], NDArray[np.int64]] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        registry.register(self)

    def observe_all(self, labels: tuple[str, ...], values: NDArray[np.float64]) -> None:
        """Count values under one combination of labels.

        Args:
            labels: The labels' values.
            values: float64[n]; none of them counts nothing and creates no series.
        """
        if values.size:
            self.add(labels, self.buckets.tally(values))

    def add(self, labels: tuple[str, ...], tally: Tally) -> None:
        """Take in values that are counted already, by the same buckets.

        Args:
            labels: The labels' values.
            tally: The values; none of them creates no series.
        """
        if tally.counts[-1]:
            self._counts[labels] = self._counts.get(labels, 0) + tally.counts
            self._sums[labels] = self._sums.get(labels, 0.0) + tally.total

    def describe(self) -> Iterator[Metric]:
        """Yield the empty family, so that registering finds clashes of names."""
        name, documentation, labels = self._family
        yield HistogramMetricFamily(name, documentation, labels=labels)

    def collect(self) -> Iterator[Metric]:
        """Yield the family with cumulative counts, sum and count of each combination of labels."""
        name, documentation, labels = self._family
        family = HistogramMetricFamily(name, documentation, labels=labels)
        ends = [*map(format_float, self.buckets.ends), "+Inf"]
        for values, counts in self._counts.items():
            named = dict(zip(labels, values, strict=True))
            for end, count in zip(ends, counts.tolist(), strict=True):
                family.add_sample(f"{name}_bucket", {**named, "le": end}, count)
            family.add_sample(f"{name}_sum", named, self._sums[values])
            family.add_sample(f"{name}_count", named, int(counts[-1]))
        yield family
