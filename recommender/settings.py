"""What the recommender's arithmetic can be told, with upstream's defaults; the process's configuration builds these.

Spec: recommender 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from autoscaling.resources import ResourceList

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How samples become histograms.

    Args:
        memory_interval: Time for which a container's memory peak is kept as one sample.
        memory_interval_count: Intervals after which an aggregate without new samples is forgotten.
        cpu_half_life: Time in which the weight of a CPU sample halves.
        memory_half_life: Time in which the weight of a memory peak halves.
        oom_bump_up_ratio: Factor on the memory in use when a container is killed for it.
        oom_min_bump_up_bytes: Bytes that are at least added then.
        per_vpa_config: Whether container policies may set interval, count and the two OOM values (recommender 9.2).
        memory_saver: Whether pods that no VPA selects are left out.
        garbage_interval: Time between two collections of aggregates.
        zero_peaks_give_way: Whether more use takes the place of a window's peak of zero (beyond:B-4).
        oom_needs_count: Whether the need that an OOM kill shows counts beside the percentile (beyond:B-5).
        peaks_count_as_use: Whether an aggregate with memory peaks but no CPU sample is kept as others are, and those of
            Jobs that a VPA follows until the next run (beyond:B-19).
    """

    memory_interval: timedelta = _DAY
    memory_interval_count: int = 8
    cpu_half_life: timedelta = _DAY
    memory_half_life: timedelta = _DAY
    oom_bump_up_ratio: float = 1.2
    oom_min_bump_up_bytes: float = 104_857_600.0
    per_vpa_config: bool = False
    memory_saver: bool = False
    garbage_interval: timedelta = timedelta(hours=1)
    zero_peaks_give_way: bool = False
    oom_needs_count: bool = False
    peaks_count_as_use: bool = False


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Shares of the weight that lie below target, lower and upper bound, each 0 to 1."""

    target: float = 0.9
    lower_bound: float = 0.5
    upper_bound: float = 0.95

    def in_order(self) -> tuple[float, float, float]:
        """Return target, lower bound, upper bound."""
        return self.target, self.lower_bound, self.upper_bound


@dataclass(frozen=True, slots=True)
class EstimatorSettings:
    """How histograms become target and bounds.

    Args:
        cpu: Percentiles of CPU use.
        memory: Percentiles of memory peaks.
        margin_fraction: Share that is added to every percentile.
        confidence_interval_cpu: History that counts as a confidence of 1.
        confidence_interval_memory: Likewise.
        pod_minimum_cpu_millicores: Least CPU of a pod, shared out among its containers.
        pod_minimum_memory_mib: Least memory of a pod, likewise.
    """

    cpu: Percentiles = Percentiles()
    memory: Percentiles = Percentiles()
    margin_fraction: float = 0.15
    confidence_interval_cpu: timedelta = _DAY
    confidence_interval_memory: timedelta = _DAY
    pod_minimum_cpu_millicores: float = 25.0
    pod_minimum_memory_mib: float = 250.0


@dataclass(frozen=True, slots=True)
class RenderingSettings:
    """How amounts become the quantities of a recommendation.

    Args:
        round_cpu_millicores: CPU is rounded up to a multiple of this; 0 and less leave it.
        round_memory_bytes: Memory likewise.
        humanize_memory: Whether memory gets two decimals of its largest binary unit (deprecated upstream).
        integer_cpu: Whether annotations of a VPA may ask for whole cores.
        maximum: Upper bounds for what a VPA's own maxAllowed does not name.
    """

    round_cpu_millicores: int = 1
    round_memory_bytes: int = 1
    humanize_memory: bool = False
    integer_cpu: bool = False
    maximum: ResourceList = field(default_factory=dict)
