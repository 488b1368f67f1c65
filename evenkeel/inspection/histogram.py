"""A stored histogram as bars, and the bars as text.

Spec: beyond:B-34; recommender 1.1, 6.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU
from recommender.amounts import as_quantity
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS, BucketScheme
from recommender.checkpoint import HistogramCheckpoint

_LINES: Final = 16
_WIDTH: Final = 40
_BLOCK: Final = "█"
_MIB: Final = 2**20
_MILLI: Final = 10**6


@dataclass(frozen=True, slots=True)
class Bar:
    """One bucket.

    Args:
        start: Lower edge.
        end: Upper edge, which is what a percentile in the bucket comes to.
        share: Of the whole weight, 0 to 1.
    """

    start: Quantity
    end: Quantity
    share: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """The stored histogram of one resource of one container.

    Args:
        resource: ``cpu`` or ``memory``.
        total_weight: Weight of all samples as of the reference time.
        reference: When a sample counts once; later ones count more, earlier ones less. None for an empty one.
        bars: Buckets from the first to the last that has weight.
    """

    resource: str
    total_weight: float
    reference: datetime | None
    bars: tuple[Bar, ...]


def histogram_of(stored: HistogramCheckpoint | None, resource: str) -> Histogram:
    """Return a stored histogram as bars; what is not stored is empty."""
    weights = stored.bucket_weights if stored else {}
    whole = sum(weights.values())
    if stored is None or not whole:
        return Histogram(resource, 0.0, None, ())
    scheme = CPU_BUCKETS if resource == CPU else MEMORY_BUCKETS
    used = range(min(weights), max(weights) + 1)
    bars = tuple(Bar(*_edges(scheme, bucket, resource), weights.get(bucket, 0) / whole) for bucket in used)
    return Histogram(resource, stored.total_weight, stored.reference, bars)


def _edges(scheme: BucketScheme, bucket: int, resource: str) -> tuple[Quantity, Quantity]:
    """Return the edges of a bucket as whole amounts."""
    edges = (scheme.starts[bucket], scheme.ends[bucket])
    start, end = (as_quantity(int(edge * scheme.amounts_per_unit), resource) for edge in edges)
    return start, end


def drawn(histogram: Histogram, marks: Mapping[str, Quantity]) -> Iterator[str]:
    """Yield the lines of a drawing; neighbouring buckets share a line where there are many.

    Args:
        histogram: What is drawn.
        marks: Amounts that are marked on the line they fall on, by the words that stand there.
    """
    bars = histogram.bars
    if not bars:
        yield "  nothing was seen"
        return
    together = math.ceil(len(bars) / _LINES)
    lines = [_joined(bars[begin : begin + together]) for begin in range(0, len(bars), together)]
    tallest = max(line.share for line in lines)
    spans = [f"{brief(line.start, histogram.resource)} to {brief(line.end, histogram.resource)}" for line in lines]
    width = max(map(len, spans))
    for number, (line, span) in enumerate(zip(lines, spans, strict=True)):
        block = _BLOCK * round(line.share / tallest * _WIDTH)
        is_first, is_last = number == 0, number == len(lines) - 1
        here = [
            f"{name} {brief(amount, histogram.resource)}"
            for name, amount in marks.items()
            if (is_first or amount > line.start) and (is_last or amount <= line.end)
        ]
        mark = f" ← {', '.join(here)}" if here else ""
        yield f"  {span:>{width}} {line.share:6.1%} {block}{mark}".rstrip()


def _joined(bars: tuple[Bar, ...]) -> Bar:
    """Return neighbouring bars as one."""
    return Bar(bars[0].start, bars[-1].end, sum(bar.share for bar in bars))


def brief(amount: Quantity, resource: str) -> str:
    """Return an amount short enough to be read at a glance: whole millicores, or whole mebibytes."""
    if resource == CPU:
        return str(Quantity.of_milli(round(amount.nano / _MILLI)))
    return f"{amount.value() / _MIB:.0f}Mi"
