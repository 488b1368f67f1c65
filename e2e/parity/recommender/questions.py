"""A recommender's life as a question, read into types."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from autoscaling.quantity import Quantity
from e2e.parity.kinds import Case
from recommender.settings import EstimatorSettings, ModelSettings, Percentiles, RenderingSettings


class Flags(msgspec.Struct, rename="camel"):
    """A recommender's flags; durations in nanoseconds. What is left out is zero, as for the oracle."""

    name: str = ""
    namespace: str = ""
    ignored: list[str] = []
    memory_saver: bool = False
    per_vpa_config: bool = False
    memory_interval: int = 0
    memory_interval_count: int = 0
    memory_half_life: int = 0
    cpu_half_life: int = 0
    oom_ratio: float = 0.0
    oom_min_bump: float = 0.0
    margin: float = 0.0
    pod_min_cpu_millicores: float = 0.0
    pod_min_memory_mib: float = 0.0
    cpu_percentiles: tuple[float, float, float] = (0.0, 0.0, 0.0)
    memory_percentiles: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cpu_confidence: int = 0
    memory_confidence: int = 0
    round_cpu: int = 0
    round_memory: int = 0
    humanize_memory: bool = False
    integer_cpu: bool = False
    max_allowed: dict[str, str] = {}
    checkpoints_gc_interval: int = 0

    def model(self) -> ModelSettings:
        """Return how samples become histograms."""
        return ModelSettings(
            memory_interval=duration(self.memory_interval),
            memory_interval_count=self.memory_interval_count,
            cpu_half_life=duration(self.cpu_half_life),
            memory_half_life=duration(self.memory_half_life),
            oom_bump_up_ratio=self.oom_ratio,
            oom_min_bump_up_bytes=self.oom_min_bump,
            per_vpa_config=self.per_vpa_config,
            memory_saver=self.memory_saver,
        )

    def estimator(self) -> EstimatorSettings:
        """Return how histograms become amounts."""
        return EstimatorSettings(
            cpu=Percentiles(*self.cpu_percentiles),
            memory=Percentiles(*self.memory_percentiles),
            margin_fraction=self.margin,
            confidence_interval_cpu=duration(self.cpu_confidence),
            confidence_interval_memory=duration(self.memory_confidence),
            pod_minimum_cpu_millicores=self.pod_min_cpu_millicores,
            pod_minimum_memory_mib=self.pod_min_memory_mib,
        )

    def rendering(self) -> RenderingSettings:
        """Return how amounts become quantities; a maximum of zero is none."""
        maximum = {name: Quantity.parse(text) for name, text in self.max_allowed.items()}
        return RenderingSettings(
            round_cpu_millicores=self.round_cpu,
            round_memory_bytes=self.round_memory,
            humanize_memory=self.humanize_memory,
            integer_cpu=self.integer_cpu,
            maximum={name: amount for name, amount in maximum.items() if not amount.is_zero()},
        )


class Gone(msgspec.Struct):
    """An object that is no more."""

    kind: str
    name: str


class Change(msgspec.Struct):
    """An object as it is from now on, or the name of one that is gone."""

    apply: Case | None = None
    delete: Gone | None = None


class Round(msgspec.Struct):
    """What changes before a round, and what is measured for it."""

    after: int = 0
    changes: list[Change] = []
    metrics: list[Case] = []


class RoundsQuestion(msgspec.Struct):
    """A recommender's life."""

    begin: int = 0
    flags: Flags = msgspec.field(default_factory=Flags)
    scales: dict[str, Case] = {}
    first: list[Change] = []
    rounds: list[Round] = []


def duration(nanoseconds: int) -> timedelta:
    """Return nanoseconds as a duration."""
    return timedelta(microseconds=nanoseconds // 1000)
