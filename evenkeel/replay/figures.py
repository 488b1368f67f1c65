"""Scores over many series as the figures that are told (spec: quality Q-8 to Q-10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE
from evenkeel.replay.scores import Scores

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Figures = Mapping[str, float]
"""Figures by name; what there is no series for is left out."""

OVERRUN_WEIGHTS: Final = (3.0, 10.0, 30.0)
MAIN_OVERRUN_WEIGHT: Final = 10.0

_RESOURCES: Final = (("cpu", CPU_PLACE), ("memory", MEMORY_PLACE))


ALL: Final = "all"
"""Name of the figures over all series, beside those over the series of each source."""


def figures_by_source(scores: Scores, sources: Sequence[str]) -> Mapping[str, Figures]:
    """Return the figures over all series, then those over the series of each source.

    Args:
        scores: Of all series.
        sources: Source of each.
    """
    of_each = np.array(sources)
    found = {ALL: figures(scores, np.ones(len(of_each), dtype=np.bool_))}
    return found | {source: figures(scores, of_each == source) for source in sorted(set(sources))}


def figures(scores: Scores, chosen: Flags) -> Figures:
    """Return the figures over some of the series.

    Args:
        scores: Of all series.
        chosen: bool[series], which of them.
    """
    found: dict[str, float] = {}
    for resource, place in _RESOURCES:
        for name, values in (
            ("slack", scores.slack),
            ("overrun", scores.overrun),
            ("overrun_share", scores.overrun_share),
        ):
            found |= _middles(f"{resource}_{name}", values[place, chosen & scores.are_scored[place]])
    killable = chosen & scores.are_scored[MEMORY_PLACE]
    for ratio, events in zip(scores.oom_ratios, scores.ooms, strict=True):
        found |= _rates(f"ooms_{ratio:g}", events[killable], scores.days[killable])
    found |= _middles("resizes", scores.resizes[chosen] / scores.days[chosen])
    if resizes := int(scores.resizes[chosen].sum()):
        found["increase_share"] = float(scores.increases[chosen].sum() / resizes)
    for weight in OVERRUN_WEIGHTS:
        costs = scores.costs(weight)[chosen]
        found |= _middles(f"j{weight:g}", costs[~np.isnan(costs)])
    return found


def _middles(name: str, values: Floats) -> Figures:
    """Return median and mean of a score."""
    if not len(values):
        return {}
    return {f"{name}_median": float(np.median(values)), f"{name}_mean": float(values.mean())}


def _rates(name: str, events: NDArray[np.int64], days: Floats) -> Figures:
    """Return events per container-day: the mean over series, and all events over all days."""
    if not len(events):
        return {}
    return {f"{name}_mean": float((events / days).mean()), f"{name}_pooled": float(events.sum() / days.sum())}
