"""History cut into pieces, each small enough for one answer.

Prometheus refuses more than 11,000 points of a series, and an answer is held in memory whole. So long histories are cut
by time, and large clusters by namespace; a piece that turns out too large all the same is halved.

Spec: recommender 7, performance R-7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from recommender.instants import nanoseconds

MILLISECOND: Final = 10**6
MOST_POINTS: Final = 11_000
"""Points of one series that Prometheus answers at most."""


@dataclass(frozen=True, slots=True)
class Span:
    """Instants at which a query is evaluated.

    Args:
        start: The first, nanoseconds since the epoch.
        step: Time between two, nanoseconds.
        count: Number of them, at least 1.
    """

    start: int
    step: int
    count: int

    @classmethod
    def before(cls, end: int, length: timedelta, step: timedelta) -> Span:
        """Return the span that begins some time before an end and does not go beyond it.

        Args:
            end: Nanoseconds since the epoch; cut to the millisecond, which is all that Prometheus knows.
            length: Time between start and end.
            step: Time between two instants, above zero.
        """
        end -= end % MILLISECOND
        return cls(end - nanoseconds(length), nanoseconds(step), nanoseconds(length) // nanoseconds(step) + 1)

    @property
    def last(self) -> int:
        """The last instant."""
        return self.start + (self.count - 1) * self.step

    def parts(self, most: int) -> Iterator[Span]:
        """Cut into spans of at most so many instants, the oldest first."""
        for done in range(0, self.count, most):
            yield Span(self.start + done * self.step, self.step, min(most, self.count - done))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of history that is asked for at once.

    Args:
        namespaces: The namespaces; empty for all that there are.
        span: The instants.
    """

    namespaces: tuple[str, ...]
    span: Span

    def halves(self) -> tuple[Piece, ...]:
        """Return two smaller pieces, the older one first; none where it cannot be cut any further."""
        if self.span.count > 1:
            return tuple(replace(self, span=part) for part in self.span.parts((self.span.count + 1) // 2))
        middle = (len(self.namespaces) + 1) // 2
        if middle == len(self.namespaces):
            return ()
        return replace(self, namespaces=self.namespaces[:middle]), replace(self, namespaces=self.namespaces[middle:])


@dataclass(frozen=True, slots=True)
class Budget:
    """How large an answer may be expected to be.

    Args:
        points: Points of all series of a resource.
        series: Series of a resource.
    """

    points: int = 500_000
    series: int = 2_000


def cut(span: Span, sizes: Mapping[str, int], budget: Budget) -> Iterator[Piece]:
    """Cut history by namespaces, then by time; the pieces of the same namespaces come in the order of time.

    Args:
        span: All instants.
        sizes: Namespace to the number of series that it is expected to have.
        budget: What each piece is held to.
    """
    for namespaces, series in _batches(sizes, budget.series):
        most = max(1, min(MOST_POINTS, budget.points // max(1, series)))
        for part in span.parts(most):
            yield Piece(namespaces, part)


def _batches(sizes: Mapping[str, int], most: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Put namespaces together that have at most so many series; a larger one stands alone."""
    batch: list[str] = []
    total = 0
    for namespace in sorted(sizes):
        if batch and total + sizes[namespace] > most:
            yield tuple(batch), total
            batch, total = [], 0
        batch.append(namespace)
        total += sizes[namespace]
    if batch:
        yield tuple(batch), total
