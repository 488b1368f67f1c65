"""What strategies say, put in the place of what vpa-default would (spec: beyond:B-10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.estimator import TARGET, Estimates
from recommender.grouping import Groups

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_DIGITS: Final = 6


def as_strategies_say(groups: Groups, seen: Groups) -> Groups:
    """Return the groups with those resources controlled that strategies recommend, for the VPAs that have one.

    Args:
        groups: As their policies have them.
        seen: The same, with only those resources controlled that vpa-default recommends.
    """
    choice = groups.choice
    if not len(choice.places):
        return seen
    controls_cpu, controls_memory = seen.controls_cpu.copy(), seen.controls_memory.copy()
    controls_cpu[choice.places] = groups.controls_cpu[choice.places] & ~np.isnan(choice.cpu[TARGET])
    controls_memory[choice.places] = groups.controls_memory[choice.places] & ~np.isnan(choice.memory[TARGET])
    return replace(seen, controls_cpu=controls_cpu, controls_memory=controls_memory)


def with_strategies(groups: Groups, estimates: Estimates) -> Estimates:
    """Put in the amounts of strategies; where they recommend none, none is controlled and the amount does not matter.

    Args:
        groups: The groups.
        estimates: What vpa-default has for them; changed.
    """
    choice = groups.choice
    estimates.cpu[:, choice.places] = _rounded_up(choice.cpu * MILLICORES_PER_CORE)
    estimates.memory[:, choice.places] = _rounded_up(choice.memory)
    return estimates


def _rounded_up(values: Floats) -> Integers:
    """Return whole amounts that are no less; what a product is off by counts for nothing."""
    return truncated(np.ceil(np.round(np.nan_to_num(values), _DIGITS)))
