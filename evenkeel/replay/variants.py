"""vpa-default with other settings, played beside it: the same histograms and estimator, told something else.

Spec: beyond B-36; recommender 4.4, 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.policy import controlled_values
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ControlledValues
from recommender.amounts import MILLICORES_PER_CORE
from recommender.policy_bounds import PolicyBounds
from recommender.settings import EstimatorSettings, ModelSettings
from recommender.strategies.bank_state import BankState
from recommender.strategies.interface import Bounds, ResourceBounds
from recommender.strategies.vpa import BankStrategy

Floats = NDArray[np.float64]

ANY_CONTAINER: Final = ContainerPolicy("*")
"""A policy that asks for nothing."""


class BoundedState(BankState):
    """Histograms whose recommendations a container policy bounds.

    Args:
        model: How samples become histograms.
        estimator: How histograms become amounts.
        rows: How many rows there are at first.
        policy: Of the container of every row.
    """

    def __init__(self, model: ModelSettings, estimator: EstimatorSettings, rows: int, policy: ContainerPolicy) -> None:
        super().__init__(model, estimator, rows)
        self._bounds = PolicyBounds.of((policy,))

    def recommend_each(self, moments_seconds: Floats) -> Bounds:
        """Return target and bounds of every row at a moment of its own, within minAllowed and maxAllowed."""
        found = super().recommend_each(moments_seconds)
        if not self._bounds.typed.quantities:
            return found
        return Bounds(self._within(found.cpu_cores, CPU), self._within(found.memory_bytes, MEMORY))

    def _within(self, found: ResourceBounds, resource: str) -> ResourceBounds:
        """Return the amounts of one resource within its bounds; the upper one wins."""
        unit = MILLICORES_PER_CORE if resource == CPU else 1
        least, most = (each / unit for each in (self._bounds.lower(resource), self._bounds.upper(resource)))

        def bounded(amounts: Floats) -> Floats:
            within: Floats = np.minimum(np.maximum(amounts, least), most)
            return within

        lower, upper = (None if each is None else bounded(each) for each in (found.lower, found.upper))
        return ResourceBounds(bounded(found.target), lower, upper)


@dataclass(frozen=True, slots=True)
class Variant(BankStrategy):
    """vpa-default with other settings.

    Args:
        policy: What a VerticalPodAutoscaler says of its containers.
        flags: Flags that a recommender needs for the rest, as they are written.
    """

    policy: ContainerPolicy = ANY_CONTAINER
    flags: tuple[str, ...] = ()

    @property
    def limits_stay(self) -> bool:
        """Whether limits stay as they are while requests change."""
        return controlled_values(self.policy) is ControlledValues.REQUESTS_ONLY

    def start(self, rows: int) -> BankState:
        """Return a state of so many rows that have seen nothing."""
        return BoundedState(self.model, self.adjusted(self.estimator), rows, self.policy)
