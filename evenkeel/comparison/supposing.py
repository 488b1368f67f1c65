"""What any use would lead to: the way back from a target to the percentile that it must have come from.

A percentile is always the end of a bucket. So the recommender's arithmetic is run over the ends of all buckets, and a
target is looked up among its results. That tells what no checkpoint holds: samples since it was written, and the peaks
of memory windows that still run.

Spec: beyond:B-35; recommender 1.1, 4.2, 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.retracing import SideSettings, Step
from recommender.amounts import as_quantity, from_quantity
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.checkpoint import BUCKET_COUNT
from recommender.estimator import TARGET, Minimums, amounts, shares
from recommender.grouping import MergedUsage
from recommender.postprocess import rounded_up

Integers = NDArray[np.int64]

SUPPOSED: Final = (Step.SAMPLES, Step.MARGIN, Step.MINIMUM, Step.ROUNDING)
"""The steps that can be gone back over, in order."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """Targets of one resource after each step, if the percentile were the end of one bucket or another.

    Args:
        resource: ``cpu`` or ``memory``.
        targets: By step int64[buckets], millicores or bytes.
    """

    resource: str
    targets: Mapping[Step, Integers]

    def buckets_of(self, uncapped: Quantity | None) -> frozenset[int]:
        """Return the buckets that lead to a target before caps: several below a minimum, none by other flags."""
        if uncapped is None:
            return frozenset()
        amount = from_quantity(uncapped, self.resource)
        return frozenset(np.flatnonzero(self.targets[Step.ROUNDING] == amount).tolist())

    def at(self, step: Step, bucket: int) -> Quantity:
        """Return the target after a step."""
        return as_quantity(int(self.targets[step][bucket]), self.resource)


@dataclass(slots=True)
class Suppositions:
    """What any use would lead to with the flags of one side, worked out when it is first asked for.

    Args:
        settings: The flags.
    """

    settings: SideSettings
    _known: dict[int, Mapping[str, Supposed]] = field(default_factory=dict)

    def of(self, containers: int, resource: str) -> Supposed:
        """Return the targets of one of so many containers that share the least amounts of a pod."""
        if containers not in self._known:
            self._known[containers] = _suppose(self.settings, containers)
        return self._known[containers][resource]


def _suppose(settings: SideSettings, containers: int) -> Mapping[str, Supposed]:
    """Run the arithmetic over the ends of all buckets."""
    estimator, rendering = settings.estimator, settings.rendering
    none = np.zeros(BUCKET_COUNT, dtype=np.int64)
    cpu, memory = (np.tile(scheme.ends, (3, 1)) for scheme in (CPU_BUCKETS, MEMORY_BUCKETS))
    usage = MergedUsage(cpu, memory, none, none, none)
    nothing = Minimums(none, none)
    least = shares(np.full(BUCKET_COUNT, containers, dtype=np.int64), estimator)
    found = {
        Step.SAMPLES: amounts(usage, nothing, replace(estimator, margin_fraction=0.0)),
        Step.MARGIN: amounts(usage, nothing, estimator),
        Step.MINIMUM: amounts(usage, least, estimator),
    }
    of_cpu = {step: estimates.cpu[TARGET] for step, estimates in found.items()}
    of_memory = {step: estimates.memory[TARGET] for step, estimates in found.items()}
    of_cpu[Step.ROUNDING] = rounded_up(of_cpu[Step.MINIMUM], rendering.round_cpu_millicores)
    of_memory[Step.ROUNDING] = rounded_up(of_memory[Step.MINIMUM], rendering.round_memory_bytes)
    return {CPU: Supposed(CPU, of_cpu), MEMORY: Supposed(MEMORY, of_memory)}
