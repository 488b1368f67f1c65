"""What requests cost, what of it is use and what is not, for a month (spec: quality Q-9; beyond B-36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.inspection.documents import Table
from evenkeel.replay.figures import ALL
from evenkeel.replay.scores import PRICES, Scores

Floats = NDArray[np.float64]

HOURS_PER_MONTH: Final = 730.0
"""A twelfth of a year, as providers count it."""

_HOUR_SECONDS: Final = 3600.0
_GIB_BYTES: Final = 2.0**30


@dataclass(frozen=True, slots=True)
class PriceList:
    """What resources cost.

    Args:
        currency: In which the prices are.
        core_hour: Price of a core for an hour.
        gib_hour: Price of a GiB of memory for an hour.
    """

    currency: str
    core_hour: float
    gib_hour: float

    def __str__(self) -> str:
        """Say the prices in a line."""
        return f"a core-hour is {self.core_hour:.4g}, a GiB-hour {self.gib_hour:.4g}"


RELATIVE_PRICES: Final = PriceList("core-hours", PRICES[0], PRICES[1] * _GIB_BYTES)
"""Prices where none are given: a core for an hour costs one core-hour, and as much as 7 GiB."""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What every series costs in a month like the time that is scored; float64[series], in a currency.

    Args:
        requests: What its requests cost.
        use: What its use would cost, were it requested exactly.
        waste: What that part of its requests costs that is not used. Use above a request costs nothing.
    """

    requests: Floats
    use: Floats
    waste: Floats


@dataclass(frozen=True, slots=True)
class Bill:
    """What some series cost in a month, all together, in a currency; fields as those of ``Costs``."""

    requests: float
    use: float
    waste: float


BillsByStrategy = Mapping[str, Mapping[str, Bill]]
"""Bills by strategy, and there for all series and for those of each source."""


def monthly_costs(scores: Scores, prices: PriceList) -> Costs:
    """Return what every series costs in a month; a resource without samples costs nothing.

    Args:
        scores: Of the series; whether a resource is scored does not matter here.
        prices: The prices.
    """
    month = np.array([prices.core_hour, prices.gib_hour / _GIB_BYTES])[:, np.newaxis] * HOURS_PER_MONTH
    seconds = np.where(scores.sampled_seconds > 0.0, scores.sampled_seconds, np.inf)
    requests, use, waste = (
        (each / seconds * month).sum(axis=0) for each in (scores.requested, scores.uses, scores.unused)
    )
    return Costs(requests, use, waste)


def bills(costs: Costs, sources: Sequence[str]) -> Mapping[str, Bill]:
    """Return what all series cost, then what those of each source do.

    Args:
        costs: Of all series.
        sources: Source of each.
    """
    of_each = np.array(sources)
    chosen = {ALL: np.ones(len(of_each), dtype=np.bool_)}
    chosen |= {source: of_each == source for source in sorted(set(sources) - {ALL})}
    return {
        name: Bill(float(costs.requests[rows].sum()), float(costs.use[rows].sum()), float(costs.waste[rows].sum()))
        for name, rows in chosen.items()
    }


def money_table(found: BillsByStrategy, prices: PriceList) -> Table:
    """Return a row for each strategy and source; for all series alone where there is one source.

    Args:
        found: The bills.
        prices: By which they are.
    """
    return Table(
        f"Cost of a month in {prices.currency} ({prices})",
        ("STRATEGY", "SERIES", "REQUESTS", "USE", "WASTE", "WASTED SHARE"),
        tuple(_rows(found)),
    )


def _rows(found: BillsByStrategy) -> Iterator[tuple[str, ...]]:
    for strategy, by_series in found.items():
        for name, bill in by_series.items():
            if name == ALL or len(by_series) > 2:
                share = f"{bill.waste / bill.requests:.1%}" if bill.requests else "-"
                yield strategy, name, *(f"{each:,.2f}" for each in (bill.requests, bill.use, bill.waste)), share
