"""What a container would use if nothing held it back, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from evenkeel.simulator.api.fields import JsonObject


@dataclass(frozen=True, slots=True)
class Demand:
    """What a container wants at one moment.

    Args:
        cpu_cores: CPU it would use without a limit.
        working_set_bytes: Memory it cannot do without.
        cache_bytes: Page cache it would fill besides, which the kernel takes back under pressure.
    """

    cpu_cores: float = 0.0
    working_set_bytes: int = 0
    cache_bytes: int = 0

    def plus(self, other: Demand) -> Demand:
        """Add two demands."""
        return Demand(
            self.cpu_cores + other.cpu_cores,
            self.working_set_bytes + other.working_set_bytes,
            self.cache_bytes + other.cache_bytes,
        )

    def times(self, factor: float) -> Demand:
        """Scale a demand; bytes become whole."""
        return Demand(self.cpu_cores * factor, round(self.working_set_bytes * factor), round(self.cache_bytes * factor))

    def towards(self, other: Demand, share: float) -> Demand:
        """Go a share, 0 to 1, of the way to another demand."""
        return self.times(1.0 - share).plus(other.times(share))


NOTHING = Demand()
"""An idle container."""


class Usage(Protocol):
    """Demand as a function of time; the same arguments always give the same demand."""

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand.

        Args:
            elapsed: Time since the container's start, or since the simulation's, whichever the function is about.
            replica: Tells the pods of one workload apart; any number.
        """


@dataclass(frozen=True, slots=True)
class Idle:
    """A container that uses nothing."""

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return no demand."""
        del elapsed, replica
        return NOTHING


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Everything a simulated container does by itself.

    Args:
        since_start: Demand by the container's age, such as a start-up spike or a leak.
        since_origin: Demand by the simulation's time, such as a load that comes and goes with the day; added to the
            other. None for none.
        shared: Demand by the simulation's time of all pods that name this behaviour together, such as the requests
            that their Service gets; each that is ready bears an even share of it besides. None for none.
        ready_after: Age at which its readiness probe first passes.
        exits_after: Age at which its process ends by itself; None for never.
        exit_code: With what it ends then.
        stops_within: How long it takes to end when asked to.
        stop_code: With what it ends then.
        pre_stop: How long its preStop hook runs before that.
    """

    since_start: Usage = Idle()
    since_origin: Usage | None = None
    shared: Usage | None = None
    ready_after: timedelta = timedelta(0)
    exits_after: timedelta | None = None
    exit_code: int = 0
    stops_within: timedelta = timedelta(milliseconds=50)
    stop_code: int = 0
    pre_stop: timedelta = timedelta(0)


class DemandSource(Protocol):
    """Whoever knows what the containers of the simulated nodes do."""

    def demand_of(self, pod: JsonObject, container_name: str, started: datetime, now: datetime) -> Demand:
        """Return what a running container wants at a moment."""

    def behaviour_of(self, pod: JsonObject, container_name: str) -> Behaviour:
        """Return what a container does by itself."""
