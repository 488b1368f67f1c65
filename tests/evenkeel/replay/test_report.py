"""Figures beside a reference, and as tables (quality:Q-19)."""

from __future__ import annotations

import math

import pytest

from evenkeel.replay.intervals import Difference, Interval
from evenkeel.replay.report import deviation_table, deviations, difference_table, figure_tables, verdict
from tests.evenkeel.replay.series import NAN


@pytest.mark.parametrize(
    ("row", "expected", "found", "is_beyond"),
    [
        ("quality:Q-19 the same", 2.0, 2.0, False),
        ("quality:Q-19 one percent", 2.0, 2.0199, False),
        ("quality:Q-19 more", 2.0, 2.021, True),
        ("quality:Q-19 less", 2.0, 1.979, True),
        ("quality:Q-19 zero exactly", 0.0, 0.0, False),
        ("quality:Q-19 nearly zero", 0.0, 1e-9, True),
    ],
)
def test_deviation(row: str, expected: float, found: float, is_beyond: bool) -> None:
    (only,) = deviations({"s": {"all": {"f": expected}}}, {"s": {"all": {"f": found, "g": 7.0}}})
    assert only.is_beyond is is_beyond, row


def test_a_figure_that_is_missing_is_beyond() -> None:
    """quality:Q-19: by strategy, by source, by name."""
    expected = {"a": {"all": {"f": 1.0}}, "b": {"all": {"f": 1.0}, "pools": {"f": 1.0}}}
    found = deviations(expected, {"b": {"all": {"g": 1.0}}})
    assert [each.is_beyond for each in found] == [True, True, True]
    assert all(math.isnan(each.found) for each in found)
    assert verdict(found) == "replay: 3 figures, 3 beyond 1%"
    assert {row[-1] for row in deviation_table(found).rows} == {"no figure"}


def test_tables() -> None:
    """quality:Q-19: one for all series, one for each source; what there is not is a dash."""
    figures = {"all": {"cpu_slack_median": 1.25, "cpu_slack_mean": NAN}, "nezha": {}, "pools": {}}
    whole, nezha, pools = figure_tables({"vpa-default": figures})
    assert (whole.title, nezha.title, pools.title) == ("All series", "nezha", "pools")
    cells = dict(zip(whole.columns, whole.rows[0], strict=True))
    assert (cells["STRATEGY"], cells["CPU SLACK MEDIAN/MEAN"], cells["J10 MEDIAN"]) == ("vpa-default", "1.25 / -", "-")


def test_a_single_source_is_all_series() -> None:
    """quality:Q-19: the same figures are not shown twice."""
    (only,) = figure_tables({"vpa-default": {"all": {"j10_median": 2.0}, "pools": {"j10_median": 2.0}}})
    assert only.title == "All series"


def test_differences() -> None:
    """quality:Q-10: with their signs, as zero is what is looked for."""
    apart = Difference("cpu_slack", 63, Interval(-0.25, -0.5, 0.125), Interval(0.0, -1.0, 12345.6))
    table = difference_table("vpa-default", {"oracle": [apart]})
    assert table.rows == (("oracle", "cpu_slack", "63", "-0.25 [-0.5, +0.125]", "+0 [-1, +1.235e+04]"),)
