"""How good requests were, series by series (spec: quality Q-7 to Q-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE, Course
from evenkeel.replay.steps import Steps
from evenkeel.replay.trace import DAY_SECONDS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEAST_SCORED: Final = (0.010, 1e7)
"""Mean use from which a resource of a series is scored: cores, bytes."""

PRICES: Final = (1.0, 1.0 / 7.0 / 2.0**30)
"""What a core costs in an hour, and a byte of memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Columns over series; the first axis of those of resources is cores, bytes.

    Args:
        days: float64[series], container-days that are scored.
        sampled_seconds: float64[2, series], time with a sample.
        uses: float64[2, series], use integrated over that time, core-seconds and byte-seconds.
        requested: float64[2, series], requests integrated over it, likewise.
        unused: float64[2, series], what of them is above the use, likewise.
        slack: float64[2, series], unused part of requests in shares of the use; NaN where the resource is not scored.
        overrun: float64[2, series], use above requests, likewise.
        overrun_share: float64[2, series], share of the time with use above requests, likewise.
        oom_ratios: Ratios of memory limit to request.
        ooms: int64[ratios, series], OOM events.
        resizes: int64[series].
        increases: int64[series], those of the resizes that give more.
    """

    days: Floats
    sampled_seconds: Floats
    uses: Floats
    requested: Floats
    unused: Floats
    slack: Floats
    overrun: Floats
    overrun_share: Floats
    oom_ratios: tuple[float, ...]
    ooms: Integers
    resizes: Integers
    increases: Integers

    @property
    def are_scored(self) -> Flags:
        """bool[2, series], whether a resource is scored."""
        scored: Flags = ~np.isnan(self.slack)
        return scored

    def costs(self, overrun_weight: float) -> Floats:
        """Return slack and weighted overrun, both resources together by the price of their use.

        Args:
            overrun_weight: How much worse overrun is than slack.

        Returns:
            float64[series]; NaN where no resource is scored.
        """
        scored = self.are_scored
        weights = np.where(scored, self.uses * np.array(PRICES)[:, np.newaxis], 0.0)
        each = np.where(scored, self.slack + overrun_weight * self.overrun, 0.0)
        with np.errstate(invalid="ignore"):
            costs: Floats = (weights * each).sum(axis=0) / weights.sum(axis=0)
        return costs


def joined(parts: Sequence[Scores]) -> Scores:
    """Return the scores of several lots of series as one, in order.

    Args:
        parts: At least one, with the same ratios.
    """
    return Scores(
        np.concatenate([part.days for part in parts]),
        np.concatenate([part.sampled_seconds for part in parts], axis=1),
        np.concatenate([part.uses for part in parts], axis=1),
        np.concatenate([part.requested for part in parts], axis=1),
        np.concatenate([part.unused for part in parts], axis=1),
        np.concatenate([part.slack for part in parts], axis=1),
        np.concatenate([part.overrun for part in parts], axis=1),
        np.concatenate([part.overrun_share for part in parts], axis=1),
        parts[0].oom_ratios,
        np.concatenate([part.ooms for part in parts], axis=1),
        np.concatenate([part.resizes for part in parts]),
        np.concatenate([part.increases for part in parts]),
    )


def score(steps: Steps, course: Course, ratios: tuple[float, ...], ratio: float) -> Scores:
    """Score every series.

    Args:
        steps: What was played: all series at the first ratio, then all at the next one.
        course: What became of it.
        ratios: Ratios of memory limit to request.
        ratio: The one of which requests and resizes are scored; OOM events are of all.
    """
    of_resources = [
        _of_resource(steps, use, course.requests[place], LEAST_SCORED[place])
        for place, use in ((CPU_PLACE, steps.cpu_cores), (MEMORY_PLACE, steps.memory_bytes))
    ]
    count = steps.count // len(ratios)
    at = slice(ratios.index(ratio) * count, (ratios.index(ratio) + 1) * count)
    sampled, uses, requested, unused, slack, overrun, share = np.stack(of_resources, axis=1)[:, :, at]
    return Scores(
        _sums(steps, np.where(steps.are_scored, steps.durations, 0.0))[at] / DAY_SECONDS,
        sampled,
        uses,
        requested,
        unused,
        slack,
        overrun,
        share,
        ratios,
        course.ooms.reshape(len(ratios), count),
        course.resizes[at],
        course.increases[at],
    )


def _of_resource(steps: Steps, use: Floats, request: Floats, least: float) -> Floats:
    """Return float64[7, series] of one resource.

    These are the time with samples, use, requests and what of them is not used, all over that time; then slack, overrun
    and its share of the time.
    """
    counted = steps.are_scored & ~np.isnan(use)
    seconds = np.where(counted, steps.durations, 0.0)
    has_both = counted & ~np.isnan(request)
    above = np.where(has_both, request - use, 0.0)
    time = _sums(steps, seconds)
    total = _sums(steps, np.where(counted, use, 0.0) * seconds)
    unused, lacking = (_sums(steps, np.maximum(part, 0.0) * seconds) for part in (above, -above))
    short = _sums(steps, np.where(above < 0.0, seconds, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.stack((unused / total, lacking / total, short / time))
        scores[:, ~(total / time >= least)] = np.nan
    requested = _sums(steps, np.where(has_both, request, 0.0) * seconds)
    return np.concatenate((np.stack((time, total, requested, unused)), scores))


def _sums(steps: Steps, values: Floats) -> Floats:
    """Return sums over the steps of each series."""
    return np.bincount(steps.rows, values, steps.count).astype(np.float64)
