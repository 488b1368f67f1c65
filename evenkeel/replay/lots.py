"""Series in lots that are played side by side, wherever they are kept (spec: quality Q-10, beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Protocol

from evenkeel.replay.columns import Reading
from evenkeel.replay.trace import Trace

LOT_STEPS: Final = 1_500_000
"""Steps that are played side by side: more of them save less time than they take memory."""


class Lot(Protocol):
    """Some series; what plays them reads them first, in whatever process that is."""

    @property
    def mark(self) -> str:
        """Text that is another one as soon as any of the series is another one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the series, of which some may turn out to be too short."""

    def read(self) -> Reading:
        """Return the series, and what is wrong with them."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldLot:
    """Series that are in memory.

    Args:
        traces: The series, at least one.
    """

    traces: tuple[Trace, ...]

    @property
    def mark(self) -> str:
        """Digest of all numbers."""
        digest = blake2b(digest_size=16)
        for trace in self.traces:
            digest.update(repr((trace.name, trace.source, trace.step_seconds, len(trace))).encode())
            for column in (trace.times, trace.cpu_cores, trace.memory_bytes):
                digest.update(column.tobytes())
        return digest.hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the series."""
        return tuple(trace.name for trace in self.traces)

    def read(self) -> Reading:
        """Return the series."""
        return Reading(self.traces, ())


@dataclass(frozen=True, slots=True)
class Recordings:
    """All that is to be played.

    Args:
        lots: The series.
        problems: What is wrong, as far as that is known before a lot is read.
    """

    lots: tuple[Lot, ...]
    problems: tuple[str, ...] = ()


def lots(traces: Sequence[Trace], most_steps: int = LOT_STEPS) -> Iterator[Sequence[Trace]]:
    """Yield series in lots of not too many steps, or of one series; together they are all, in order.

    Args:
        traces: The series.
        most_steps: How many steps a lot of several series has at most.
    """
    begin = 0
    for end in ends([len(trace) for trace in traces], most_steps):
        yield traces[begin:end]
        begin = end


def ends(sizes: Sequence[int], most: int = LOT_STEPS) -> Iterator[int]:
    """Yield where each lot ends, so that it has at most so many steps or one series.

    Args:
        sizes: Steps of each series.
        most: Steps of a lot of several series.
    """
    steps = 0
    for place, size in enumerate(sizes):
        if steps and steps + size > most:
            yield place
            steps = 0
        steps += size
    if sizes:
        yield len(sizes)
