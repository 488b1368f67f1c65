"""What containers use, as scenario files say it: a function of time by its name, or a recorded trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.scenarios.syntax import NOTHING, Amount, Duration, Part, cores, whole_bytes
from evenkeel.simulator.workloads import functions
from evenkeel.simulator.workloads.demand import Demand, Usage
from evenkeel.simulator.workloads.traces import load_trace

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Load(Part):
    """What is used at one time."""

    cpu: Amount = NOTHING
    memory: Amount = NOTHING
    cache: Amount = NOTHING

    def demand(self) -> Demand:
        """Return it in cores and bytes."""
        return Demand(cores(self.cpu), whole_bytes(self.memory), whole_bytes(self.cache))


@dataclass(frozen=True, slots=True)
class Constant(Load):
    """Always the same."""

    function: Literal["constant"] = "constant"

    def usage(self, folder: Path) -> Usage:
        """Return the function; a folder is only of interest to what reads files."""
        del folder
        return functions.Constant(self.demand())


@dataclass(frozen=True, slots=True)
class Diurnal(Part):
    """A smooth wave."""

    function: Literal["diurnal"]
    low: Load
    high: Load
    peak_at: Duration = timedelta(hours=14)
    period: Duration = _DAY

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.Diurnal(self.low.demand(), self.high.demand(), self.peak_at, self.period)


@dataclass(frozen=True, slots=True)
class Burst(Part):
    """Short bursts at even distances."""

    function: Literal["burst"]
    base: Load
    peak: Load
    every: Duration
    lasting: Duration
    first: Duration = timedelta(0)
    spread: Duration = timedelta(0)

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        base, peak = self.base.demand(), self.peak.demand()
        return functions.Burst(base, peak, self.every, self.lasting, self.first, self.spread)


@dataclass(frozen=True, slots=True)
class Ramp(Part):
    """Steady growth from one load to another."""

    function: Literal["ramp"]
    first: Load
    last: Load
    over: Duration

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.Ramp(self.first.demand(), self.last.demand(), self.over)


@dataclass(frozen=True, slots=True)
class StartupSpike(Part):
    """A high load at first that fades to a steady one."""

    function: Literal["startup-spike"]
    spike: Load
    steady: Load
    lasting: Duration
    fading: Duration = timedelta(0)

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.StartupSpike(self.spike.demand(), self.steady.demand(), self.lasting, self.fading)


@dataclass(frozen=True, slots=True)
class Heap(Part):
    """A managed heap that doubles when what survives a collection leaves too little room."""

    function: Literal["heap"]
    live: Amount
    initial: Amount
    largest: Amount
    garbage_per_second: Amount
    base: Load = Load()

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.Heap(
            whole_bytes(self.live),
            whole_bytes(self.initial),
            whole_bytes(self.largest),
            whole_bytes(self.garbage_per_second),
            self.base.demand(),
        )


@dataclass(frozen=True, slots=True)
class Batch(Part):
    """Work that is done after a time."""

    function: Literal["batch"]
    working: Load
    lasting: Duration
    idle: Load = Load()

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.Batch(self.working.demand(), self.lasting, self.idle.demand())


@dataclass(frozen=True, slots=True)
class LoadFrom(Load):
    """What is used from a time on."""

    since: Duration = timedelta(0)


@dataclass(frozen=True, slots=True)
class Steps(Part):
    """A load that jumps at given times."""

    function: Literal["steps"]
    steps: tuple[LoadFrom, ...]

    def usage(self, folder: Path) -> Usage:
        """Return the function."""
        del folder
        return functions.Steps(tuple((s.since, s.demand()) for s in sorted(self.steps, key=lambda s: s.since)))


@dataclass(frozen=True, slots=True)
class Trace(Part):
    """A recorded series, whose file lies beside the scenario's or has an absolute path."""

    function: Literal["trace"]
    file: str
    name: str

    def usage(self, folder: Path) -> Usage:
        """Return the trace.

        Raises:
            ConfigurationError: There is no such file or trace.
        """
        path = folder / self.file
        try:
            return load_trace(path, self.name)
        except OSError as error:
            raise ConfigurationError(f"trace {path}: {error.strerror or error}; correct usage.file") from error
        except (KeyError, ValueError) as error:
            raise ConfigurationError(f"trace {path}: no usable series {self.name!r}; correct usage.name") from error


UsageDocument: TypeAlias = Annotated[
    Constant | Diurnal | Burst | Ramp | StartupSpike | Heap | Batch | Steps | Trace, Field(discriminator="function")
]
IDLE = Constant()
"""A container that uses nothing."""
