"""Recorded use of one container, and what the protocol makes of its times (spec: quality Q-1, Q-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DAY_SECONDS: Final = 86_400.0
LEAST_MEMORY_BYTES: Final = 4096.0
"""What less memory counts as; hypervisors tell of nothing at all now and then."""

_LONG_SECONDS: Final = 2 * DAY_SECONDS
_SHORT_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One series.

    Args:
        name: Tells it from all others.
        source: Where it comes from; figures are also told by source.
        step_seconds: Its usual spacing.
        times: float64[n], seconds, ascending, n at least 1.
        cpu_cores: float64[n], NaN where there is no sample.
        memory_bytes: float64[n], likewise.
    """

    name: str
    source: str
    step_seconds: float
    times: Floats
    cpu_cores: Floats
    memory_bytes: Floats

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.times)

    @property
    def durations(self) -> Floats:
        """float64[n], seconds that each step stands for: until the next one, at most two steps; the last for one."""
        spaces = np.diff(self.times, append=self.times[-1] + self.step_seconds)
        return np.minimum(spaces, 2.0 * self.step_seconds)

    @property
    def warm_up_seconds(self) -> float:
        """Seconds from the first step in which strategies only observe: a day, or a quarter of less than two."""
        length = float(self.times[-1] - self.times[0]) + self.step_seconds
        return DAY_SECONDS if length >= _LONG_SECONDS else _SHORT_SHARE * length

    @property
    def are_scored(self) -> Flags:
        """bool[n], whether each step lies behind the warm-up."""
        scored: Flags = self.times - self.times[0] >= self.warm_up_seconds
        return scored


def counted_memory(memory_bytes: Floats) -> Floats:
    """Return memory as it counts, float64[n]; NaN stays."""
    return np.maximum(memory_bytes, LEAST_MEMORY_BYTES)


def pool_divisor(cpu_cores: Floats) -> float:
    """Return the power of ten that brings the largest use of a pool of machines into (1, 10] cores.

    Args:
        cpu_cores: float64[n], NaN where there is no sample.

    Returns:
        1.0 where no CPU is used at all.
    """
    largest = float(np.nanmax(cpu_cores, initial=0.0))
    return 10.0 ** (np.ceil(np.log10(largest)) - 1.0) if largest > 0.0 else 1.0
