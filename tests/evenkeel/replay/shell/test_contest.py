"""Strategies that are installed, played on lots (beyond:B-10, beyond:B-36)."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.beginnings import Beginnings
from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.lots import HeldLot
from evenkeel.replay.shell.contest import Part, Task, check_names, identity, installed_names, play
from recommender.strategies.known import OWN_STRATEGIES
from tests.evenkeel.replay.series import trace
from tests.evenkeel.replay.test_beginnings import STORED
from tests.recommender.strategies.plugins import install

LOT = HeldLot((trace([1.0, 2.0, 3.0, 4.0] * 3),))

ANOTHER = """
from recommender.strategies.vpa import BankStrategy
STRATEGY = BankStrategy("another")
class Failing:
    name = "failing"
    def start(self, rows):
        raise RuntimeError("no room")
FAILING = Failing()
"""


def played(name: str) -> Part:
    return play(Task(name, 0, LOT))


def test_our_own_and_what_no_one_has() -> None:
    """beyond:B-36."""
    names = installed_names()
    assert names[: len(OWN_STRATEGIES)] == tuple(OWN_STRATEGIES), "beyond:B-10"
    assert names[-len(IN_HINDSIGHT) :] == tuple(IN_HINDSIGHT)
    assert len(set(names)) == len(names)


def test_a_part_tells_of_its_series_and_time() -> None:
    """quality:Q-19."""
    part = played("static")
    assert (part.names, part.sources, part.rows, part.problems) == (("web",), ("s",), 12, ())
    assert part.seconds > 0.0
    assert part.scores is not None
    assert part.scores.resizes.tolist() == [0]


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
    ours, theirs = (played(name).scores for name in ("vpa-default", "another"))
    assert ours is not None
    assert theirs is not None
    assert ours.slack[0].tolist() == theirs.slack[0].tolist()
    with pytest.raises(ConfigurationError, match="strategy failing: RuntimeError: no room; leave it out"):
        played("failing")
    with pytest.raises(ConfigurationError, match="strategy odd: TypeError: its entry point stands for the class"):
        played("odd")
    assert "others 1" in identity(Task("another", 0, LOT))


def test_a_name_of_nothing() -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match="--strategy a, b: not installed; choose from vpa-default"):
        check_names(["b", "static", "a"])


def test_what_tells_tasks_apart() -> None:
    """beyond:B-36: another series, strategy or start is another task; the number of its lot is not."""
    other = HeldLot((trace([1.0, 2.0, 3.0, 5.0] * 3),))
    begun = Beginnings({("shop", "web", "app"): STORED})
    tasks = [Task("static", 0, LOT), Task("oracle", 0, LOT), Task("static", 0, other), Task("static", 0, LOT, begun)]
    assert len({identity(task) for task in tasks}) == 4
    assert identity(Task("static", 7, HeldLot(LOT.traces))) == identity(tasks[0])
