"""The strategies of this distribution that keep states of their own.

What each keeps of a row has a bound, whatever the number of samples.

Spec: beyond B-10; quality Q-12, Q-14, Q-15, Q-16, Q-18.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from recommender.strategies.adaptive import AdaptiveStrategy, ContestRule
from recommender.strategies.candidates import CPU_FAMILY, MEMORY_FAMILY
from recommender.strategies.fading_histogram import Fading
from recommender.strategies.holding import ChangeRule
from recommender.strategies.interface import Strategy
from recommender.strategies.modelled import ModelledStrategy, ResourceRule
from recommender.strategies.recent_maximum import RecentMaximum
from recommender.strategies.recent_percentile import RecentPercentile
from recommender.strategies.recent_samples import RecentSamples, Window
from recommender.strategies.seasonal import Seasonal
from recommender.strategies.trials import CostRule
from recommender.strategies.weekly_peak import WeeklyPeak

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_LEAST_CORES: Final = 0.01
_LEAST_BYTES: Final = 1e7
_MARGIN: Final = 1.15

TWO_WEEKS: Final = Window(seconds=14 * _DAY, cell_seconds=300, room=4096)
"""Room for every sample of two weeks that are five minutes apart."""

KRR_SIMPLE: Final = ModelledStrategy(
    "krr-simple",
    ResourceRule(partial(RecentSamples, TWO_WEEKS, 0.95), 1.0, _LEAST_CORES),
    ResourceRule(partial(RecentMaximum, 14 * _DAY), _MARGIN, 1e8),
)

# What is below the floor with the margin on it need not be told apart.
AUTOPILOT_LIKE: Final = ModelledStrategy(
    "autopilot-like",
    ResourceRule(partial(RecentPercentile, Fading(12 * _HOUR, 0.95, _LEAST_CORES / _MARGIN)), _MARGIN, _LEAST_CORES),
    ResourceRule(partial(RecentPercentile, Fading(48 * _HOUR, 0.98, _LEAST_BYTES / _MARGIN)), _MARGIN, _LEAST_BYTES),
)

WEEKLY_PEAK: Final = ModelledStrategy(
    "weekly-peak",
    ResourceRule(WeeklyPeak, _MARGIN, _LEAST_CORES),
    ResourceRule(partial(RecentMaximum, 7 * _DAY), 1.1, _LEAST_BYTES),
)

SEASONAL_NAIVE: Final = ModelledStrategy(
    "seasonal-naive",
    ResourceRule(partial(Seasonal, 0.95), 1.0, _LEAST_CORES),
    ResourceRule(partial(Seasonal, 0.99), 1.0, _LEAST_BYTES),
)


def _adaptive(name: str, cpu: ChangeRule, memory: ChangeRule) -> AdaptiveStrategy:
    """Return an adaptive strategy by when its requests change; none of its numbers depends on what is recorded."""
    return AdaptiveStrategy(
        name,
        ContestRule(
            CPU_FAMILY,
            CostRule(
                change=cpu,
                lack=4.0,
                lacking_time=12.0,
                event_seconds=0.0,
                change_seconds=0.1 * _HOUR,
                half_life_seconds=5.0 * _DAY,
                sharpness=15.0,
            ),
        ),
        ContestRule(
            MEMORY_FAMILY,
            CostRule(
                change=memory,
                lack=30.0,
                lacking_time=60.0,
                event_seconds=450.0 * _HOUR,
                change_seconds=0.1 * _HOUR,
                half_life_seconds=21.0 * _DAY,
                sharpness=8.0,
            ),
        ),
    )


ADAPTIVE: Final = _adaptive("adaptive", ChangeRule(0.15, 0.2, 1.5 * _HOUR), ChangeRule(0.1, 0.15, 6.0 * _HOUR))

ADAPTIVE_CALM: Final = _adaptive(
    "adaptive-calm", ChangeRule(0.15, 0.25, 4.0 * _HOUR), ChangeRule(0.1, 0.2, 12.0 * _HOUR)
)

SHIPPED: Final[Mapping[str, Strategy]] = {
    each.name: each for each in (KRR_SIMPLE, AUTOPILOT_LIKE, WEEKLY_PEAK, SEASONAL_NAIVE, ADAPTIVE, ADAPTIVE_CALM)
}
"""These strategies, by name."""
