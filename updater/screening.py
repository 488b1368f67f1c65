"""Which of many containers may be worth a change, looked at in columns before any of them is judged.

Whoever has tens of thousands of containers that stand alone in their pods can leave out those that ``judge`` would turn
down. It is no second judgement: what is let through here, ``judge`` may still refuse.

Spec: updater P-5, P-7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SLACK: Final = 1e-6
"""Share by which a relative difference may be off, for amounts may be rounded before they are judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Requests beside recommendations, both float64[resources, n]; NaN stands for none.

    Args:
        requests: In force.
        targets: Recommended.
        lower: Lower bounds.
        upper: Upper bounds.
    """

    requests: Floats
    targets: Floats
    lower: Floats
    upper: Floats


def may_be_worthwhile(standing: Standing, are_old: Flags, are_quick: Flags, threshold: float) -> Flags:
    """Say of each container whether it may be worth a change.

    Args:
        standing: Requests and recommendations.
        are_old: bool[n], whether the pod has lived long enough to be changed within its bounds.
        are_quick: bool[n], whether it was killed for lack of memory soon after its start, a short while ago.
        threshold: Relative difference from which a pod within its bounds is changed.

    Returns:
        bool[n]; false only where nothing speaks for a change.
    """
    requests, targets = standing.requests, standing.targets
    outside = (requests > standing.upper) | (requests < standing.lower)
    outside |= np.isnan(requests) & ~np.isnan(targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of a number and none the number is the larger one.
        differences = np.fmax(np.abs(targets - requests) / requests, 0.0).sum(axis=0)
    found: Flags = outside.any(axis=0) | are_quick & (differences > 0.0)
    found |= are_old & (differences >= threshold * (1.0 - _SLACK))
    return found
