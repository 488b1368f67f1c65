"""Differences between replicas and from moment to moment, without state: the same key always gives the same number."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import timedelta

from evenkeel.simulator.workloads.demand import Demand, Usage

_MASK = 2**64 - 1
_SCALE = 2**53


def fraction(*key: int | str) -> float:
    """Return a number in [0, 1) that looks random but depends on the key alone."""
    state = 0
    for part in key:
        number = zlib.crc32(part.encode()) if isinstance(part, str) else part
        state = _mixed(state ^ (number & _MASK))
    return (state >> 11) / _SCALE


def between(low: float, high: float, key: tuple[int | str, ...]) -> float:
    """Return such a number between two bounds."""
    return low + (high - low) * fraction(*key)


def _mixed(state: int) -> int:
    """Spread the bits of a 64-bit number (the finaliser of a splitmix generator)."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


@dataclass(frozen=True, slots=True)
class Skewed:
    """Another usage, of which every replica gets a share of its own, at a time of its own.

    Args:
        usage: What is shared out.
        seed: Another seed gives other shares.
        spread: A replica's share lies between ``1 - spread`` and ``1 + spread``.
        delay: A replica is late by up to this.
    """

    usage: Usage
    seed: int = 0
    spread: float = 0.2
    delay: timedelta = timedelta(0)

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the replica's demand."""
        share = between(1.0 - self.spread, 1.0 + self.spread, ("share", self.seed, replica))
        late = self.delay * fraction("delay", self.seed, replica)
        return self.usage.at(elapsed - late, replica).times(share)


@dataclass(frozen=True, slots=True)
class Noisy:
    """Another usage whose CPU trembles; memory stays as it is.

    Args:
        usage: What trembles.
        seed: Another seed gives other noise.
        amplitude: The CPU is multiplied by something between ``1 - amplitude`` and ``1 + amplitude``.
        step: How long one factor holds.
    """

    usage: Usage
    seed: int = 0
    amplitude: float = 0.1
    step: timedelta = timedelta(seconds=5)

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        demand = self.usage.at(elapsed, replica)
        low, high = 1.0 - self.amplitude, 1.0 + self.amplitude
        factor = between(low, high, ("noise", self.seed, replica, elapsed // self.step))
        return Demand(demand.cpu_cores * factor, demand.working_set_bytes, demand.cache_bytes)
