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
"""How much worse than slack overrun is in the costs that are told."""

ALL: Final = "all"
"""Name of the figures over all series, beside those over the series of each source."""

_RESOURCES: Final = (("cpu", CPU_PLACE), ("memory", MEMORY_PLACE))


def figures_by_source(scores: Scores, sources: Sequence[str]) -> Mapping[str, Figures]:
    """Return the figures over all series, then those over the series of each source.

    Args:
        scores: Of all series.
        sources: Source of each.
    """
    of_each = np.array(sources)
    found = {ALL: figures(scores, np.ones(len(of_each), dtype=np.bool_))}
    return found | {source: figures(scores, of_each == source) for source in sorted(set(sources) - {ALL})}


def values_by_series(scores: Scores) -> Mapping[str, Floats]:
    """Return what the figures are taken of: float64[series] by name, NaN where a series has no such score.

    OOM events and resizes are those of a container-day.

    Args:
        scores: Of all series.
    """
    found: dict[str, Floats] = {}
    for resource, place in _RESOURCES:
        found[f"{resource}_slack"] = scores.slack[place]
        found[f"{resource}_overrun"] = scores.overrun[place]
        found[f"{resource}_overrun_share"] = scores.overrun_share[place]
    for ratio, events in zip(scores.oom_ratios, scores.ooms, strict=True):
        found[f"ooms_{ratio:g}"] = np.where(scores.are_scored[MEMORY_PLACE], events / scores.days, np.nan)
    found["resizes"] = scores.resizes / scores.days
    return found | {f"j{weight:g}": scores.costs(weight) for weight in OVERRUN_WEIGHTS}


def figures(scores: Scores, chosen: Flags) -> Figures:
    """Return the figures over some of the series.

    Args:
        scores: Of all series.
        chosen: bool[series], which of them.
    """
    found: dict[str, float] = {}
    for name, values in values_by_series(scores).items():
        told = values[chosen & ~np.isnan(values)]
        if len(told):
            found |= {f"{name}_median": float(np.median(told)), f"{name}_mean": float(told.mean())}
    killable = chosen & scores.are_scored[MEMORY_PLACE]
    if killable.any():
        days = scores.days[killable].sum()
        for ratio, events in zip(scores.oom_ratios, scores.ooms, strict=True):
            found[f"ooms_{ratio:g}_pooled"] = float(events[killable].sum() / days)
    if resizes := int(scores.resizes[chosen].sum()):
        found["increase_share"] = float(scores.increases[chosen].sum() / resizes)
    return found
