"""Strategies that are installed, played (beyond:B-10, beyond:B-36)."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.shell.contest import installed_names, play_all
from recommender.strategies.known import OWN_STRATEGIES
from tests.evenkeel.replay.series import trace
from tests.recommender.strategies.plugins import install

SERIES = [trace([1.0, 2.0, 3.0, 4.0] * 3)]

ANOTHER = """
from recommender.strategies.vpa import BankStrategy
STRATEGY = BankStrategy("another")
class Failing:
    name = "failing"
    def start(self, rows):
        raise RuntimeError("no room")
FAILING = Failing()
"""


def test_our_own_and_what_no_one_has() -> None:
    """beyond:B-36."""
    names = installed_names()
    assert names[: len(OWN_STRATEGIES)] == tuple(OWN_STRATEGIES), "beyond:B-10"
    assert names[-len(IN_HINDSIGHT) :] == tuple(IN_HINDSIGHT)
    assert len(set(names)) == len(names)


def test_each_is_yielded_with_its_time() -> None:
    """quality:Q-19."""
    played = {each.name: each for each in play_all(["static", "vpa-min0"], SERIES, 1)}
    assert list(played) == ["static", "vpa-min0"]
    assert all(each.seconds > 0.0 for each in played.values())
    assert played["static"].scores.resizes.tolist() == [0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_lots_are_put_together_in_their_order(jobs: int) -> None:
    """quality:Q-10: in whatever order they are done, each series keeps its place."""
    series = [trace([1.0 + number, 2.0 + number] * 6) for number in range(5)]
    (whole,) = play_all(["static"], series, 1)
    parts = {each.name: each.scores for each in play_all(["oracle", "static"], series, jobs, 24)}
    assert parts["static"].slack[0].tolist() == whole.scores.slack[0].tolist()
    assert parts["oracle"].slack[0].tolist() != whole.scores.slack[0].tolist()
    assert len(parts["oracle"].days) == 5


def test_strategies_of_other_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """beyond:B-10: they are played as the recommender would run them, and one that fails is named."""
    points = {
        "another": "replayed_ones:STRATEGY",
        "failing": "replayed_ones:FAILING",
        "odd": "replayed_ones:BankStrategy",
    }
    install(tmp_path, "others", {"replayed_ones": ANOTHER}, points)
    monkeypatch.syspath_prepend(tmp_path)
    assert {"another", "failing", "odd"} < set(installed_names())
    ours, theirs = play_all(["vpa-default", "another"], SERIES, 1)
    assert ours.scores.slack[0].tolist() == theirs.scores.slack[0].tolist()
    with pytest.raises(ConfigurationError, match="strategy failing: RuntimeError: no room; leave it out"):
        list(play_all(["failing"], SERIES, 1))
    with pytest.raises(ConfigurationError, match="strategy odd: TypeError: its entry point stands for the class"):
        list(play_all(["odd"], SERIES, 1))


def test_a_name_of_nothing() -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match="--strategy a, b: not installed; choose from vpa-default"):
        list(play_all(["b", "static", "a"], SERIES, 1))
