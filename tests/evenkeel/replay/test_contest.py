"""Strategies on real traces beside the reference numbers (quality:Q-4, quality:Q-11, quality:Q-17, quality:Q-19)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from evenkeel.replay.contest import Contender, contend
from evenkeel.replay.figures import figures_by_source
from evenkeel.replay.lots import lots
from evenkeel.replay.report import deviations
from evenkeel.replay.shell.trace_files import read_traces
from evenkeel.replay.trace import Trace
from recommender.kernels.suite import Kernels
from recommender.strategies.interface import Bounds, JsonObject, OomKills, ResourceBounds, StrategyState, Usage
from recommender.strategies.shipped import KRR_SIMPLE
from recommender.strategies.vpa import VPA_DEFAULT
from tests.evenkeel.replay.series import Floats, trace

DATA = Path(__file__).parents[2] / "data"
NEZHA = "nezha-pods"
REFERENCE: Mapping[str, Mapping[str, Mapping[str, float]]] = json.loads((DATA / "replay-reference.json").read_text())[
    "figures"
]


@pytest.fixture(scope="module")
def pods() -> Sequence[Trace]:
    return read_traces([DATA / "traces" / f"{NEZHA}.csv.gz"]).traces


@pytest.mark.parametrize(
    "contender", [Contender("vpa-default", VPA_DEFAULT), Contender("krr-simple", KRR_SIMPLE), Contender("oracle")]
)
def test_reference_numbers_of_pods(pods: Sequence[Trace], contender: Contender) -> None:
    """quality:Q-19, of one source; ``make replay-reference`` holds all sources against theirs."""
    scores = contend(contender, pods)
    assert scores.are_scored.sum(axis=1).tolist() == [8, 70]
    found = figures_by_source(scores, [each.source for each in pods])
    compared = deviations({contender.name: {NEZHA: REFERENCE[contender.name][NEZHA]}}, {contender.name: found})
    assert len(compared) == 6
    assert [each for each in compared if each.is_beyond] == []


@dataclass
class LastUse:
    """Recommends what was used last; knows of one moment for all rows, and of no moment before another one."""

    cpu: Floats
    now: float = 0.0

    def grow(self, rows: int) -> None:
        raise NotImplementedError

    def clear(self, rows: object) -> None:
        raise NotImplementedError

    def observe(self, usage: Usage) -> None:
        assert usage.ends_seconds.min() >= self.now
        self.cpu[usage.rows] = usage.cpu_cores

    def observe_ooms(self, kills: OomKills) -> None:
        raise NotImplementedError

    def recommend(self, now_seconds: float) -> Bounds:
        assert now_seconds >= self.now
        self.now = now_seconds
        return Bounds(ResourceBounds(self.cpu.copy()), ResourceBounds(np.full(len(self.cpu), np.nan)))

    def save(self, row: int) -> JsonObject:
        raise NotImplementedError

    def restore(self, row: int, saved: JsonObject) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class LastUses:
    name: str = "last-use"

    def start(self, rows: int) -> StrategyState:
        return LastUse(np.full(rows, np.nan))


def test_a_strategy_that_knows_of_one_moment_is_told_in_the_order_of_time() -> None:
    """beyond:B-10: its targets, which jump by the doubled use, are each in force in the step after."""
    series = [trace([1.0, 2.0] * 8, step=600.0 + number) for number in range(3)]
    scores = contend(Contender("last-use", LastUses()), series)
    assert scores.resizes.tolist() == [12] * 3
    assert scores.overrun_share[0].tolist() == [0.5] * 3


def test_kernels_come_to_the_same() -> None:
    """performance:R-1."""
    random = np.random.default_rng(4)
    series = [trace(random.gamma(2.0, 0.2, 40), random.gamma(9.0, 3e7, 40)) for _ in range(2)]
    contender = Contender("vpa-default", VPA_DEFAULT)
    by_numpy, by_kernels = (contend(contender, series, kernels) for kernels in (None, Kernels()))
    for name in ("slack", "overrun", "ooms", "resizes"):
        np.testing.assert_array_equal(getattr(by_numpy, name), getattr(by_kernels, name))


@pytest.mark.parametrize(
    ("row", "most", "expected"),
    [
        ("performance one lot", 100, [[3, 4, 2, 9]]),
        ("performance as many as fit", 9, [[3, 4, 2], [9]]),
        ("performance a series that is too long goes alone", 5, [[3], [4], [2], [9]]),
    ],
)
def test_many_series_are_played_in_lots(row: str, most: int, expected: list[list[int]]) -> None:
    series = [trace([1.0] * size) for size in (3, 4, 2, 9)]
    assert [[len(each) for each in lot] for lot in lots(series, most)] == expected, row


@pytest.mark.parametrize(("name", "resizes"), [("static", 0), ("oracle", 5), ("oracle-24h", 0)])
def test_what_is_only_played_in_hindsight(name: str, resizes: int) -> None:
    """quality:Q-13, quality:Q-17: hourly steps, each with another use; two of eight warm up."""
    scores = contend(Contender(name), [trace([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])])
    assert scores.resizes.tolist() == [resizes]
