"""A histogram of durations that takes little time to add to, for what is measured several times in each review.

The library's own histogram takes two locks and a search from the first bucket on for each duration. Everything here
happens on one event loop, so nothing has to be locked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

from autoscaling.runtime.go_literals import format_float


class Durations:
    """The durations of one member of a family.

    Args:
        ends: Ends of the buckets, in seconds and rising; what is beyond the last one has a bucket of its own.
    """

    __slots__ = ("_counts", "_ends", "_total")

    def __init__(self, ends: Sequence[float]) -> None:
        self._ends = ends
        self._counts = [0] * (len(ends) + 1)
        self._total = 0.0

    @property
    def up_to(self) -> list[int]:
        """How many there are up to the end of each bucket, the last of them all there are."""
        return list(accumulate(self._counts))

    @property
    def total_seconds(self) -> float:
        """The sum of all."""
        return self._total

    def observe(self, seconds: float) -> None:
        """Add one; the end of a bucket belongs to it."""
        self._counts[bisect_left(self._ends, seconds)] += 1
        self._total += seconds


class DurationFamily(dict[tuple[str, ...], Durations]):
    """A family's members by their values of its labels; one comes into being when it is first asked for.

    Args:
        name: Of the family.
        documentation: Its help text.
        labels: Names of its labels.
        ends: See ``Durations``.
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str], ends: Sequence[float]) -> None:
        super().__init__()
        self.name = name
        self.documentation = documentation
        self.label_names = labels
        self.ends = ends

    def __missing__(self, labels: tuple[str, ...]) -> Durations:
        """Begin with a member."""
        member = self[labels] = Durations(self.ends)
        return member

    def register(self, registry: CollectorRegistry) -> None:
        """Have a registry show the family."""
        registry.register(_Shown(self))


class _Shown(Collector):
    """What a registry sees of a family; registries tell collectors by their hash, which a dictionary has none of."""

    def __init__(self, family: DurationFamily) -> None:
        self._family = family

    def describe(self) -> Iterable[HistogramMetricFamily]:
        """Return the family without its members."""
        family = self._family
        return (HistogramMetricFamily(family.name, family.documentation, labels=family.label_names),)

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """Return the family as it is now."""
        (shown,) = self.describe()
        ends = [format_float(end) for end in (*self._family.ends, inf)]
        for labels, durations in self._family.items():
            shown.add_metric(labels, list(zip(ends, durations.up_to, strict=True)), durations.total_seconds)
        return (shown,)
