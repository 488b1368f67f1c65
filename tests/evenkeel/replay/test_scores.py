"""Scores of one series (quality:Q-7 to quality:Q-10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenkeel.replay.course import Course
from evenkeel.replay.scores import Scores, joined, score
from evenkeel.replay.steps import Steps, by_number
from evenkeel.replay.trace import Trace
from tests.evenkeel.replay.series import DAY, GI, HOUR, NAN, trace


def course(steps: Steps, cpu: float, memory: float = NAN, ooms: int = 0) -> Course:
    """Return a course in which the requests never change."""
    requests = np.broadcast_to(np.array([cpu, memory])[:, np.newaxis], (2, len(steps)))
    counts = np.full(steps.count, 3)
    nowhere = np.zeros(len(steps), dtype=np.bool_)
    return Course(requests, 1.5 * requests[1], nowhere, np.full(steps.count, ooms), counts, counts - 1)


def scored(series: Trace, cpu: float, memory: float = NAN) -> Scores:
    steps = by_number([series])
    return score(steps, course(steps, cpu, memory), (1.5,), 1.5)


def test_slack_and_overrun() -> None:
    """quality:Q-7: hours 2 to 7 are scored, of which one is empty; one is above the request."""
    found = scored(trace([9.0, 9.0, 1.0, 1.0, 1.0, 4.0, NAN, 1.0]), 2.0)
    assert found.slack[0].tolist() == [4.0 / 8.0]
    assert found.overrun[0].tolist() == [2.0 / 8.0]
    assert found.overrun_share[0].tolist() == [1.0 / 5.0]
    assert found.days.tolist() == [6 * HOUR / DAY]
    assert np.isnan(found.slack[1]).all()


def test_time_weighs() -> None:
    """quality:Q-7: a step that stands for two hours counts twice."""
    times = np.array([0.0, 1, 2, 4, 5, 6, 7, 8]) * HOUR
    use = np.array([9.0, 9, 9, 9, 1, 1, 1, 1])
    series = Trace("web", "s", HOUR, times, use, np.full(8, NAN))
    assert scored(series, 10.0).slack[0] == pytest.approx([(4 * 9 + 10 - 9) / (9 + 4)])


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "expected"),
    [
        ("quality:Q-10 both", 0.010, 1e7, [True, True]),
        ("quality:Q-10 too little", 0.00999, 0.999e7, [False, False]),
        ("quality:Q-10 not recorded", 1.0, NAN, [True, False]),
    ],
)
def test_what_is_scored(row: str, cpu: float, memory: float, expected: list[bool]) -> None:
    found = scored(trace([cpu] * 8, [memory] * 8), 1.0, 1e8)
    assert found.are_scored[:, 0].tolist() == expected, row


@pytest.mark.parametrize(
    ("row", "memory", "weight", "cost"),
    [
        # Of CPU one in two is slack, of memory a half is missing: 1 core-hour costs as much as 7 GiB-hours.
        ("quality:Q-9 cpu alone", NAN, 10.0, 0.5),
        ("quality:Q-9 by price", 7 * GI, 10.0, (0.5 + 10 * 0.5) / 2),
        ("quality:Q-9 less memory weighs less", 3.5 * GI, 10.0, (0.5 + 0.5 * 10 * 0.5) / 1.5),
        ("quality:Q-9 overrun weighs", 7 * GI, 30.0, (0.5 + 30 * 0.5) / 2),
    ],
)
def test_costs(row: str, memory: float, weight: float, cost: float) -> None:
    found = scored(trace([1.0] * 8, [memory] * 8), 1.5, memory / 2)
    assert found.costs(weight) == pytest.approx([cost]), row


def test_nothing_scored_has_no_cost() -> None:
    """quality:Q-10."""
    assert np.isnan(scored(trace([0.001] * 8), 1.0).costs(10.0)).all()


def test_one_ratio_is_scored_and_the_kills_of_all_are_counted() -> None:
    """quality:Q-4, quality:Q-8: the rows of the second ratio stand behind those of the first."""
    steps = by_number([trace([1.0] * 8, name=name) for name in ("a", "b") * 2])
    whole = course(steps, 2.0)
    requests = np.where(steps.rows < 2, 9.0, whole.requests)
    counts = np.arange(4)
    changed = replace(whole, requests=requests, ooms=counts, resizes=counts, increases=counts // 2)
    found = score(steps, changed, (1.0, 1.5), 1.5)
    assert found.slack[0].tolist() == [1.0, 1.0]
    assert found.ooms.tolist() == [[0, 1], [2, 3]]
    assert (found.resizes.tolist(), found.increases.tolist()) == ([2, 3], [1, 1])
    assert found.days.tolist() == [6 * HOUR / DAY] * 2


def test_lots_of_series_in_parts() -> None:
    """quality:Q-10: they come to what all at once come to."""
    series = [trace([1.0 + number] * 8, [GI] * 8) for number in range(3)]
    steps = by_number(series)
    whole = score(steps, course(steps, 2.0, GI, 4), (1.5,), 1.5)
    parts = []
    for each in series:
        part = by_number([each])
        parts.append(score(part, course(part, 2.0, GI, 4), (1.5,), 1.5))
    found = joined(parts)
    for name in ("days", "uses", "slack", "overrun", "overrun_share", "ooms", "resizes", "increases"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
