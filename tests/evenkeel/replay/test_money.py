"""What requests cost (quality:Q-9, beyond:B-36)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.replay.contest import Contender, contend
from evenkeel.replay.money import RELATIVE_PRICES, Bill, PriceList, bills, money_table, monthly_costs
from tests.evenkeel.replay.series import GI, NAN, trace

PRICES = PriceList("EUR", 0.03, 0.004)
MONTH = 730.0
STATIC = Contender("static")
"""Requests 1.15 times the most of the first two of eight steps."""


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "expected"),
    [
        # By the hour: the request is 2.3 cores, of which 2 or 1 are used.
        ("beyond:B-36 use like the warm-up", [2.0] * 8, [NAN] * 8, (2.3 * 0.03, 2.0 * 0.03, 0.3 * 0.03)),
        ("beyond:B-36 half of it", [2.0] * 2 + [1.0] * 6, [NAN] * 8, (2.3 * 0.03, 1.0 * 0.03, 1.3 * 0.03)),
        ("beyond:B-36 above the request", [2.0] * 2 + [3.0] * 6, [NAN] * 8, (2.3 * 0.03, 3.0 * 0.03, 0.0)),
        ("beyond:B-36 memory", [NAN] * 8, [4 * GI] * 8, (4.6 * 0.004, 4.0 * 0.004, 0.6 * 0.004)),
        ("beyond:B-36 both", [2.0] * 8, [4 * GI] * 8, (0.069 + 0.0184, 0.06 + 0.016, 0.009 + 0.0024)),
        ("beyond:B-36 an empty cell", [2.0] * 4 + [NAN] * 2 + [2.0] * 2, [NAN] * 8, (0.069, 0.06, 0.009)),
        ("beyond:B-36 too little to be scored", [0.002] * 8, [NAN] * 8, (0.000069, 0.00006, 0.000009)),
    ],
)
def test_costs_of_a_month(
    row: str, cpu: list[float], memory: list[float], expected: tuple[float, float, float]
) -> None:
    costs = monthly_costs(contend(STATIC, [trace(cpu, memory)]), PRICES)
    assert (costs.requests[0], costs.use[0], costs.waste[0]) == pytest.approx([MONTH * each for each in expected]), row


def test_relative_prices() -> None:
    """quality:Q-9: a core for an hour costs as much as 7 GiB."""
    assert RELATIVE_PRICES.core_hour == 1.0
    assert RELATIVE_PRICES.gib_hour == pytest.approx(1 / 7)


@given(st.lists(st.floats(0.01, 50.0), min_size=8, max_size=30), st.floats(0.001, 10.0))
def test_what_is_paid_is_use_and_waste_but_for_what_is_lacking(uses: list[float], factor: float) -> None:
    """beyond:B-36: and prices that are higher by a factor cost more by it."""
    scores = contend(STATIC, [trace(uses)])
    costs = monthly_costs(scores, PRICES)
    lacking = scores.overrun[0] * scores.uses[0] / scores.sampled_seconds[0] * PRICES.core_hour * MONTH
    if scores.are_scored[0, 0]:
        assert costs.requests == pytest.approx(costs.use - lacking + costs.waste)
    dearer = monthly_costs(scores, PriceList("EUR", factor * 0.03, factor * 0.004))
    assert dearer.requests == pytest.approx(factor * costs.requests)


def test_bills_by_source() -> None:
    """beyond:B-36: those of the sources add up to that of all series."""
    series = [trace([2.0] * 8, name=name, source=source) for name, source in (("a", "x"), ("b", "y"), ("c", "y"))]
    found = bills(monthly_costs(contend(STATIC, series), PRICES), ["x", "y", "y"])
    assert list(found) == ["all", "x", "y"]
    assert found["all"].requests == pytest.approx(found["x"].requests + found["y"].requests)
    assert found["y"].waste == pytest.approx(2 * found["x"].waste)


def test_the_table_tells_sources_where_there_are_several() -> None:
    """beyond:B-36."""
    one, none = Bill(2000.0, 1500.0, 500.0), Bill(0.0, 0.0, 0.0)
    table = money_table({"static": {"all": one, "x": one}, "oracle": {"all": none, "x": none, "y": one}}, PRICES)
    assert table.title == "Cost of a month in EUR (a core-hour is 0.03, a GiB-hour 0.004)"
    assert table.rows[0] == ("static", "all", "2,000.00", "1,500.00", "500.00", "25.0%")
    assert [row[:2] for row in table.rows] == [("static", "all"), ("oracle", "all"), ("oracle", "x"), ("oracle", "y")]
    assert table.rows[1][-1] == "-"


def test_a_resource_without_samples_costs_nothing() -> None:
    """beyond:B-36."""
    costs = monthly_costs(contend(STATIC, [trace([NAN, NAN, 1.0, 1.0] * 2)]), PRICES)
    assert np.isfinite(costs.requests).all()
