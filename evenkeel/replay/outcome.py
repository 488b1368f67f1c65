"""All that a replay came to, as reports read it (spec: quality Q-8 to Q-10; beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.figures import values_by_series
from evenkeel.replay.intervals import Difference
from evenkeel.replay.money import RELATIVE_PRICES, BillsByStrategy, PriceList, bills, monthly_costs
from evenkeel.replay.report import ByStrategy
from evenkeel.replay.scores import Scores

Floats = NDArray[np.float64]

TIDY_COLUMNS: Final = ("source", "series", "strategy", "figure", "value")
"""Columns of ``tidy_rows``."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What strategies came to on some series.

    Args:
        names: Name of each series.
        sources: Source of each.
        scores: Of all series, by strategy.
        figures: Over them, by strategy.
        prices: What resources cost.
        against: Strategy that the others are held against; empty for none.
        apart: What they are apart from it.
    """

    names: Sequence[str]
    sources: Sequence[str]
    scores: Mapping[str, Scores]
    figures: ByStrategy
    prices: PriceList = RELATIVE_PRICES
    against: str = ""
    apart: Mapping[str, Sequence[Difference]] = field(default_factory=dict)

    @property
    def days(self) -> float:
        """Container-days that are scored."""
        return float(next(iter(self.scores.values())).days.sum())

    def bills(self) -> BillsByStrategy:
        """Return what requests cost."""
        return {name: bills(monthly_costs(scores, self.prices), self.sources) for name, scores in self.scores.items()}


def tidy_rows(outcome: Outcome) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield a row for each figure of each series with each strategy, as ``TIDY_COLUMNS``; without what is not scored.

    Args:
        outcome: What there is to tell.
    """
    for strategy, scores in outcome.scores.items():
        for figure, values in _values(scores, outcome.prices).items():
            for source, name, value in zip(outcome.sources, outcome.names, values.tolist(), strict=True):
                if value == value:  # noqa: PLR0124 what is no number equals nothing
                    yield source, name, strategy, figure, value


def _values(scores: Scores, prices: PriceList) -> Mapping[str, Floats]:
    """Return figures of each series by name, NaN where there is none."""
    costs = monthly_costs(scores, prices)
    return {
        **values_by_series(scores),
        "monthly_cost_of_requests": costs.requests,
        "monthly_cost_of_use": costs.use,
        "monthly_cost_of_waste": costs.waste,
    }
