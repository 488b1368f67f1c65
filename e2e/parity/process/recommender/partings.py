"""The first step of the estimation at which two recommendations part, told from the amounts alone.

A percentile is always the end of a bucket, so the whole arithmetic is run over the ends of all buckets: once as it
should be, and once without each of its steps. What upstream wrote tells the bucket; what ours wrote instead is looked
up among the results.

Spec: recommender 4.2, 4.3, 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.resources import CPU
from evenkeel.comparison.retracing import SideSettings
from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS
from recommender.checkpoint import BUCKET_COUNT
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND, bounds, confidence, shares
from recommender.instants import instant
from recommender.postprocess import rounded_up

Integers = NDArray[np.int64]


class Step(Enum):
    """A step from histograms to a recommendation, with its place in the specification."""

    PERCENTILE = "percentile, recommender 4.2 (1)"
    MARGIN = "margin, recommender 4.2 (2)"
    CONFIDENCE = "confidence, recommender 4.2 (3)"
    MINIMUM = "minimum, recommender 4.2 (4)"
    ROUNDING = "rounding, recommender 4.3"
    CAPS = "policy caps, recommender 4.4"
    UNKNOWN = "estimation, recommender 4.2 to 4.4"
    """Upstream's own amount is not what the flags lead to from any use, as with whole cores or humanised memory."""


_LEFT_OUT_IN_TURN: Final = (Step.MARGIN, Step.CONFIDENCE, Step.MINIMUM, Step.ROUNDING)
VECTORS: Final = {"uncappedTarget": TARGET, "target": TARGET, "lowerBound": LOWER_BOUND, "upperBound": UPPER_BOUND}
"""The vectors of a recommendation in the order in which they are looked at, and the row that each is estimated in."""


@dataclass(frozen=True, slots=True)
class History:
    """How much history a container has, as its checkpoint tells.

    Args:
        first: Its first CPU sample; None for none.
        last: Its last CPU sample; None for none.
        samples: How many there were.
    """

    first: datetime | None
    last: datetime | None
    samples: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The way from a percentile to an amount, for one resource of one container.

    Args:
        settings: What the flags say.
        resource: ``cpu`` or ``memory``.
        containers: How many containers of the VPA share the least amounts of a pod, at least 1.
        history: Of the container.
    """

    settings: SideSettings
    resource: str
    containers: int
    history: History

    @property
    def rounding(self) -> int:
        """What amounts are rounded up to multiples of, in millicores or bytes."""
        rendering = self.settings.rendering
        step = rendering.round_cpu_millicores if self.resource == CPU else rendering.round_memory_bytes
        return max(step, 1)

    @property
    def least(self) -> int:
        """The container's share of the least amounts of a pod, in millicores or bytes."""
        found = shares(np.array([self.containers]), self.settings.estimator)
        return int((found.cpu if self.resource == CPU else found.memory)[0])

    def amounts(self, left_out: Step | None = None) -> Integers:
        """Return what the end of each bucket leads to before caps.

        Args:
            left_out: The step that is not done; None to do all.

        Returns:
            int64[3, buckets], target, lower and upper bound in millicores or bytes.
        """
        estimator = self.settings.estimator
        is_cpu = self.resource == CPU
        ends = CPU_BUCKETS.ends * MILLICORES_PER_CORE if is_cpu else MEMORY_BUCKETS.ends
        interval = estimator.confidence_interval_cpu if is_cpu else estimator.confidence_interval_memory
        history = self.history
        sure = confidence(
            np.array([instant(history.first)]), np.array([instant(history.last)]), np.array([history.samples]), interval
        )
        estimated = bounds(
            np.tile(truncated(ends), (3, 1)),
            0.0 if left_out is Step.MARGIN else estimator.margin_fraction,
            np.full(BUCKET_COUNT, np.inf if left_out is Step.CONFIDENCE else sure[0]),
            np.full(BUCKET_COUNT, 0 if left_out is Step.MINIMUM else self.least, dtype=np.int64),
        )
        return estimated if left_out is Step.ROUNDING else rounded_up(estimated, self.rounding)


def first_step_apart(arithmetic: Arithmetic, vector: str, theirs: int, ours: int) -> Step:
    """Return the first step at which two amounts part that come from equal histograms.

    Vectors are to be asked for in the order of ``VECTORS``: that a target differs while the one before caps does not
    is taken for granted.

    Args:
        arithmetic: How both should have come about.
        vector: Which amount it is, of ``VECTORS``.
        theirs: Upstream's, in millicores or bytes.
        ours: Ours, likewise another one.
    """
    if vector == "target":
        return Step.CAPS
    row = VECTORS[vector]
    right = arithmetic.amounts()[row]
    buckets = np.flatnonzero(right == theirs)
    if not len(buckets):
        return Step.UNKNOWN if row == TARGET else Step.CAPS
    if ours in right:
        return Step.PERCENTILE
    for step in _LEFT_OUT_IN_TURN:
        if ours in arithmetic.amounts(step)[row][buckets]:
            return step
    return _nearest(arithmetic, row, theirs, ours)


def _nearest(arithmetic: Arithmetic, row: int, theirs: int, ours: int) -> Step:
    """Return the step that an amount is most like to have been spoilt in, where no step was just left out."""
    if abs(theirs - ours) < arithmetic.rounding:
        return Step.ROUNDING
    # A maximum with the least amount hides whatever was different before.
    if ours < arithmetic.least or theirs <= _rounded_least(arithmetic):
        return Step.MINIMUM
    return Step.MARGIN if row == TARGET else Step.CONFIDENCE


def _rounded_least(arithmetic: Arithmetic) -> int:
    """Return the least amount as a recommendation has it."""
    return int(rounded_up(np.array([arithmetic.least]), arithmetic.rounding)[0])
