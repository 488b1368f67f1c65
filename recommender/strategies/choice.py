"""What strategies other than vpa-default make of some groups of containers (spec: beyond:B-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.vpa import VpaCondition
from recommender.label_sets import TrackedVpa
from recommender.settings import EstimatorSettings

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

Adjustment = Callable[[EstimatorSettings], EstimatorSettings]
"""Returns settings with other least amounts of a pod."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What strategies say, by the places of groups.

    Args:
        adjusted: Other least amounts, each with int64[n], the groups that they are for.
        places: int64[k], groups for which a strategy has amounts of its own.
        cpu: float64[3, k], target, lower and upper bound in cores; NaN where none is recommended.
        memory: float64[3, k], likewise, in bytes.
        conditions: Of the VPAs whose strategy cannot be used.
    """

    adjusted: tuple[tuple[Adjustment, Integers], ...] = ()
    places: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cpu: Floats = field(default_factory=lambda: np.empty((3, 0)))
    memory: Floats = field(default_factory=lambda: np.empty((3, 0)))
    conditions: Mapping[TrackedVpa, VpaCondition] = field(default_factory=dict)


NO_CHOICE: Final = Choice()
"""Everything is vpa-default's."""
