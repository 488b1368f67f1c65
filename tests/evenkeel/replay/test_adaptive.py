"""What choosing for each series comes to on recorded use (quality:Q-20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evenkeel.replay.contest import Contender, contend
from evenkeel.replay.figures import ALL, figures_by_source
from evenkeel.replay.shell.trace_files import read_traces
from evenkeel.replay.trace import Trace
from recommender.strategies.interface import Strategy
from recommender.strategies.shipped import ADAPTIVE, ADAPTIVE_CALM
from recommender.strategies.vpa import VPA_MIN0

TRACES = Path(__file__).parents[2] / "data" / "traces"
STEPS = 1200
"""Of each series, four days and a bit: enough to tell, and no more than a few seconds."""


@pytest.fixture(scope="module")
def pools() -> Sequence[Trace]:
    return [
        replace(
            each,
            times=each.times[:STEPS],
            cpu_cores=each.cpu_cores[:STEPS],
            memory_bytes=each.memory_bytes[:STEPS],
        )
        for each in read_traces([TRACES / "cloudcluster-pools.csv.gz"]).traces
    ]


def figures(strategy: Strategy, traces: Sequence[Trace]) -> Mapping[str, float]:
    """Return the figures over all series."""
    scores = contend(Contender(strategy.name, strategy), traces)
    return figures_by_source(scores, [each.source for each in traces])[ALL]


def test_it_leaves_less_and_lacks_less_and_pays_with_resizes(pools: Sequence[Trace]) -> None:
    """quality:Q-20, on one source and for CPU; docs/strategies.md has the figures of all."""
    other, mine, calm = (figures(each, pools) for each in (VPA_MIN0, ADAPTIVE, ADAPTIVE_CALM))
    for figure in ("cpu_slack_mean", "cpu_overrun_mean", "cpu_overrun_share_mean"):
        assert mine[figure] < other[figure], figure
        assert calm[figure] < other[figure], figure
    for each in (mine, calm):
        assert each["ooms_1_pooled"] <= other["ooms_1_pooled"]
    extra, calm_extra = (each["resizes_mean"] - other["resizes_mean"] for each in (mine, calm))
    assert 0.0 < calm_extra <= 2.0 / 3.0 * extra
