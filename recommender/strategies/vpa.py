"""The strategies that go by decaying histograms and the estimator: ``vpa-default`` and ``vpa-min0``.

In the recommender process both read the histograms that all samples go into, and need no state of their own: a strategy
here is then nothing but a change of the estimator's settings.

Spec: beyond B-10; quality Q-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from recommender.settings import EstimatorSettings, ModelSettings
from recommender.strategies.bank_state import BankState


@dataclass(frozen=True, slots=True)
class BankStrategy:
    """A strategy by histograms.

    Args:
        name: What ``spec.recommender.strategy`` calls it.
        has_minimum: Whether the least amounts of a pod apply.
        model: How samples become histograms in a state of its own.
        estimator: How histograms become amounts there, before this strategy's own changes.
    """

    name: str
    has_minimum: bool = True
    model: ModelSettings = field(default_factory=ModelSettings)
    estimator: EstimatorSettings = field(default_factory=EstimatorSettings)

    def adjusted(self, settings: EstimatorSettings) -> EstimatorSettings:
        """Return settings as this strategy has them; percentiles stay as they are."""
        if self.has_minimum:
            return settings
        return replace(settings, pod_minimum_cpu_millicores=0.0, pod_minimum_memory_mib=0.0)

    def start(self, rows: int) -> BankState:
        """Return a state of so many rows that have seen nothing."""
        return BankState(self.model, self.adjusted(self.estimator), rows)


VPA_DEFAULT: Final = BankStrategy("vpa-default")
VPA_MIN0: Final = BankStrategy("vpa-min0", has_minimum=False)

BUILT_IN: Final[Mapping[str, BankStrategy]] = {each.name: each for each in (VPA_DEFAULT, VPA_MIN0)}
"""The strategies of this distribution, by name."""
