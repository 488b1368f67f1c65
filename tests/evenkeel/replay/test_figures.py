"""Scores over many series (quality:Q-8 to quality:Q-10)."""

from __future__ import annotations

import numpy as np
import pytest

from evenkeel.replay.figures import ALL, figures_by_source
from evenkeel.replay.scores import Scores
from tests.evenkeel.replay.series import NAN

SCORES = Scores(
    days=np.array([1.0, 2.0, 10.0]),
    sampled_seconds=np.full((2, 3), 3600.0),
    uses=np.array([[3600.0, 3600.0, 3600.0], [0.0, 0.0, 0.0]]),
    requested=np.zeros((2, 3)),
    unused=np.zeros((2, 3)),
    slack=np.array([[0.1, 0.2, 0.9], [0.5, NAN, 1.5]]),
    overrun=np.array([[0.0, 0.1, 0.2], [0.0, NAN, 0.0]]),
    overrun_share=np.array([[0.0, 0.0, 0.3], [0.0, NAN, 0.0]]),
    oom_ratios=(1.0, 1.5),
    ooms=np.array([[2, 50, 5], [0, 0, 1]]),
    resizes=np.array([3, 4, 0]),
    increases=np.array([1, 1, 0]),
)


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ("quality:Q-10", "cpu_slack_median", 0.2),
        ("quality:Q-10", "cpu_slack_mean", 0.4),
        ("quality:Q-10", "cpu_overrun_mean", 0.1),
        ("quality:Q-10", "cpu_overrun_share_mean", 0.1),
        ("quality:Q-10 scored ones alone", "memory_slack_mean", 1.0),
        ("quality:Q-8 where memory is scored", "ooms_1_mean", (2 / 1 + 5 / 10) / 2),
        ("quality:Q-8", "ooms_1_pooled", 7 / 11),
        ("quality:Q-8", "ooms_1.5_pooled", 1 / 11),
        ("quality:Q-10 all series", "resizes_mean", (3 + 2 + 0) / 3),
        ("quality:Q-8", "increase_share", 2 / 7),
        ("quality:Q-9", "j10_median", 1.2),
        ("quality:Q-9", "j3_mean", (0.1 + 0.5 + 1.5) / 3),
    ],
)
def test_figures(row: str, name: str, value: float) -> None:
    assert figures_by_source(SCORES, ["a", "a", "b"])[ALL][name] == pytest.approx(value), row


def test_sources() -> None:
    """quality:Q-19: a source of which nothing is scored has no figure of it."""
    found = figures_by_source(SCORES, ["a", "b", "a"])
    assert list(found) == [ALL, "a", "b"]
    assert found["b"]["cpu_slack_mean"] == 0.2
    assert "memory_slack_mean" not in found["b"]
    assert "ooms_1_mean" not in found["b"]
    assert found["b"]["resizes_mean"] == 2.0
