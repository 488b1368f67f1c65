"""How many changes nodes, namespaces and the cluster bear at a time: token buckets that are told the time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

_LEAST_OF_A_CLUSTER = 20
_NODES_PER_CHANGE = 10
_SECONDS = 60.0


class Span(Enum):
    """What shares a bucket."""

    NODE = "node"
    NAMESPACE = "namespace"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket.

    Args:
        name: Of the node or the namespace; empty for the cluster.
    """

    span: Span
    name: str = ""

    def __str__(self) -> str:
        return f"{self.span.value} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class StormLimit:
    """How much goes through one bucket.

    Args:
        burst: Tokens that it holds.
        rate: Tokens per second; 0 or less lets everything through.
    """

    burst: int
    rate: float


@dataclass(frozen=True, slots=True)
class StormLimits:
    """How much goes through the buckets of each span."""

    node: StormLimit
    namespace: StormLimit
    cluster: StormLimit

    def of(self, span: Span) -> StormLimit:
        """Return what holds for the buckets of a span."""
        limits = {Span.NODE: self.node, Span.NAMESPACE: self.namespace, Span.CLUSTER: self.cluster}
        return limits[span]


@dataclass(frozen=True, slots=True)
class StormFlag:
    """What the two flags of a span say.

    Args:
        burst: Changes at once; 0 for as many as suit the size of the cluster.
        per_minute: Further changes per minute; 0 for as many as the burst, less than that for no limit at all.
    """

    burst: int = 0
    per_minute: float = 0.0

    def limit(self, suitable: int) -> StormLimit:
        """Return the limit.

        Args:
            suitable: The burst that suits the size of the cluster.
        """
        burst = self.burst or suitable
        return StormLimit(burst, (self.per_minute or float(burst)) / _SECONDS)


@dataclass(frozen=True, slots=True)
class StormFlags:
    """What the flags say of all three spans (beyond:B-24)."""

    node: StormFlag = StormFlag(burst=10)
    namespace: StormFlag = StormFlag()
    cluster: StormFlag = StormFlag()

    def limits(self, nodes: int) -> StormLimits:
        """Return the limits of a cluster of so many nodes.

        Where flags leave it to the size, the cluster bears one change for every ten nodes, and 20 at least; a namespace
        half of that, so that no single one keeps the others waiting.
        """
        cluster = self.cluster.limit(max(_LEAST_OF_A_CLUSTER, nodes // _NODES_PER_CHANGE))
        return StormLimits(
            node=self.node.limit(_LEAST_OF_A_CLUSTER // 2),
            namespace=self.namespace.limit(max(cluster.burst // 2, 1)),
            cluster=cluster,
        )


@dataclass(frozen=True, slots=True)
class StormLevels:
    """What is missing from the buckets; a bucket of which nothing is missing is full, and so they all begin.

    Args:
        at: When this was true; None before anything was taken.
        missing: Tokens by bucket.
        elsewhere: By span, tokens that are missing from each bucket that is not named.
    """

    at: datetime | None = None
    missing: Mapping[Bucket, float] = field(default_factory=dict)
    elsewhere: Mapping[Span, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, now: datetime) -> StormLevels:
        """Return the levels of which the worst must be thought: no bucket has a token left."""
        return cls(now, elsewhere=dict.fromkeys(Span, float("inf")))

    def tokens(self, bucket: Bucket, limits: StormLimits, now: datetime) -> float:
        """Return what a bucket holds, infinity where its span has no limit."""
        limit = limits.of(bucket.span)
        if limit.rate <= 0:
            return float("inf")
        lacking = self.missing.get(bucket, self.elsewhere.get(bucket.span, 0.0))
        return limit.burst - _left_missing(lacking, limit, self._seconds_until(now))

    def first_short(
        self, buckets: Iterable[Bucket], taken: Mapping[Bucket, int], limits: StormLimits, now: datetime
    ) -> Bucket | None:
        """Return the first bucket that has no token for one more change, None where each has one.

        Args:
            buckets: Those that the change takes a token from.
            taken: Tokens that are taken but not yet missing from these levels.
        """
        return next((b for b in buckets if self.tokens(b, limits, now) - taken.get(b, 0) < 1.0), None)

    def taking(self, taken: Mapping[Bucket, int], limits: StormLimits, now: datetime) -> StormLevels:
        """Return the levels with tokens taken; nothing is ever missing beyond what a bucket holds."""
        levels = self._as_of(limits, now)
        missing = dict(levels.missing)
        for bucket, count in taken.items():
            burst = float(limits.of(bucket.span).burst)
            missing[bucket] = min(missing.get(bucket, levels.elsewhere.get(bucket.span, 0.0)) + count, burst)
        return StormLevels(levels.at, missing, levels.elsewhere)

    def reserving(self, changes: int, limits: StormLimits, now: datetime) -> StormLevels:
        """Return the levels as if so many changes had each taken a token from every bucket there is.

        It is not told yet which buckets they will take from, so whoever goes on from here takes none twice.
        """
        levels = self._as_of(limits, now)
        bursts = {span: float(limits.of(span).burst) for span in Span}
        missing = {b: min(lacking + changes, bursts[b.span]) for b, lacking in levels.missing.items()}
        elsewhere = {span: min(levels.elsewhere.get(span, 0.0) + changes, bursts[span]) for span in Span}
        return StormLevels(levels.at, missing, elsewhere)

    def known_at(self, now: datetime) -> StormLevels:
        """Return levels that somebody with another clock wrote: none of them is from the future."""
        return StormLevels(min(self.at, now), self.missing, self.elsewhere) if self.at is not None else self

    def _as_of(self, limits: StormLimits, now: datetime) -> StormLevels:
        """Return the same levels as they are at a later time, without buckets of which nothing is missing."""
        seconds = self._seconds_until(now)
        elsewhere = {span: _left_missing(lack, limits.of(span), seconds) for span, lack in self.elsewhere.items()}
        elsewhere = {span: lacking for span, lacking in elsewhere.items() if lacking > 0}
        missing = {b: _left_missing(lacking, limits.of(b.span), seconds) for b, lacking in self.missing.items()}
        missing = {b: lacking for b, lacking in missing.items() if lacking > 0 or b.span in elsewhere}
        return StormLevels(now if self.at is None else max(self.at, now), missing, elsewhere)

    def _seconds_until(self, now: datetime) -> float:
        """Return how long the buckets have been filling; a clock that went backwards adds nothing."""
        return max((now - self.at).total_seconds(), 0.0) if self.at is not None else 0.0


def _left_missing(lacking: float, limit: StormLimit, seconds: float) -> float:
    """Return what is still missing from a bucket after it has been filling for a while."""
    if limit.rate <= 0:
        return 0.0
    return max(min(lacking, float(limit.burst)) - limit.rate * seconds, 0.0)
